// Redaction: content goes for good; skeleton, digest and chain stay, and a list says what was done.
import { FIRST_CHAIN, digestOf, redactionChain, toHex } from "../../core/envelope.ts";
import type { EventOf } from "../../core/events.ts";
import { nodeHasher } from "../node-hasher.ts";
import { openText, sealText } from "../seal.ts";
import { StoreError, type Envelope, type RedactParams } from "../store.ts";
import { eventTombstone, itemTombstone } from "../tombstone.ts";
import type { Connection } from "./connection.ts";
import { keyDigest, type Erasure } from "../erasures.ts";
import { readEnvelopes, type LogOf } from "./log.ts";
import { blankSnapshots } from "./snapshots.ts";
import { changeTask, requireTask, type Guarded } from "./tasks.ts";

/** What the list of redactions and the log hold of a redacted event. */
interface Tombstone {
  readonly seq: number;
  readonly eventDigest: Uint8Array;
  readonly digest: Uint8Array;
  readonly body: string;
}

const unique = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

/** The events to redact that are not redacted yet. Codes: `not_found`. */
const eventsFor = (connection: Connection, row: Guarded, seqs: readonly number[]): Envelope[] =>
  unique(seqs).flatMap((seq) => {
    const [event] = readEnvelopes(connection, row, { after: seq - 1, through: seq });
    if (event === undefined) throw new StoreError("not_found", `task ${row.id} has no event ${String(seq)}`);
    return event.salt === null ? [] : [event];
  });

/** The untaken items to redact that still hold content, as their skeletons. */
const itemsFor = (connection: Connection, row: Guarded, seqs: readonly number[]): { seq: number; body: string }[] =>
  unique(seqs).flatMap((seq) => {
    const sql = "SELECT body FROM inbox WHERE task = ? AND seq = ? AND body IS NOT NULL";
    const found = connection.get<{ body: Uint8Array }>(sql, row.task, seq);
    if (found === undefined) return [];
    const entry = { seq, body: openText(connection.seal, row.id, found.body) };
    const body = itemTombstone(row.id, entry);
    return body === entry.body ? [] : [{ seq, body }];
  });

/** Adds an entry, the `n`-th, to the task's list of redactions. */
export const insertRedaction = (
  connection: Connection,
  log: LogOf,
  entry: Tombstone & { readonly n: number; readonly chain: Uint8Array },
): void => {
  const { n, seq, eventDigest, digest, chain } = entry;
  connection.run(
    "INSERT INTO redactions (task, n, seq, eventDigest, digest, chain, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ...[log.task, n, seq, eventDigest, digest, chain, sealText(connection.seal, log.id, entry.body)],
  );
};

const lastRedactionChain = (connection: Connection, row: Guarded): Uint8Array => {
  const sql = "SELECT chain FROM redactions WHERE task = ? AND n = ?";
  return connection.get<{ chain: Uint8Array }>(sql, row.task, row.redactions)?.chain ?? FIRST_CHAIN;
};

const redactEvents = (connection: Connection, row: Guarded, tombstones: readonly Tombstone[]): void => {
  let n = row.redactions;
  let chain = lastRedactionChain(connection, row);
  for (const tombstone of tombstones) {
    n += 1;
    chain = redactionChain(nodeHasher, chain, { n, seq: tombstone.seq, digest: tombstone.digest });
    insertRedaction(connection, row, { ...tombstone, n, chain });
    const blank = "UPDATE events SET salt = NULL, body = x'' WHERE task = ? AND seq = ?";
    connection.run(blank, row.task, tombstone.seq);
  }
  changeTask(connection, row.task, { redactions: n });
};

/** The task, and every task that folds it through `historyFrom`, at any distance. */
const foldersOf = (connection: Connection, row: Guarded): number[] =>
  connection
    .all<{ task: number }>(
      `WITH RECURSIVE folders (task, id) AS (
         VALUES (?, ?)
         UNION SELECT tasks.task, tasks.id FROM tasks JOIN folders ON tasks.historyFrom = folders.id
       ) SELECT task FROM folders`,
      row.task,
      row.id,
    )
    .map(({ task }) => task);

/** The keys of the items that an event took: a backup from before that still has them in its inbox. */
const keysTaken = (connection: Connection, row: Guarded, seq: number): string[] => {
  const [{ type, body } = { type: "", body: "" }] = readEnvelopes(connection, row, { after: seq - 1, through: seq });
  if (type !== "InputTaken") return [];
  return (JSON.parse(body) as EventOf<"InputTaken">).items.map(({ key }) => key);
};

const erasureOf = (
  connection: Connection,
  row: Guarded,
  tombstones: readonly Tombstone[],
  items: readonly { readonly seq: number }[],
): Erasure => {
  const untaken = items.map(({ seq }) => {
    const sql = "SELECT key FROM inbox WHERE task = ? AND seq = ?";
    return connection.get<{ key: string }>(sql, row.task, seq)?.key ?? "";
  });
  const keys = [...untaken, ...tombstones.flatMap(({ seq }) => keysTaken(connection, row, seq))];
  return {
    redacted: row.id,
    events: tombstones.map(({ seq, eventDigest }) => [seq, toHex(eventDigest)]),
    items: keys.map((key) => keyDigest(row.id, key)),
  };
};

/** Codes: `not_found`, `forgotten`, `newer_version`, `damaged`. */
export const redact = (connection: Connection, params: RedactParams): { readonly revision: number } => {
  const row = requireTask(connection, params.taskId);
  const tombstones = eventsFor(connection, row, params.seqs).map((event) => ({
    seq: event.seq,
    eventDigest: digestOf(nodeHasher, event.salt ?? new Uint8Array(0), event.body),
    ...eventTombstone(row.id, event),
  }));
  const items = itemsFor(connection, row, params.items ?? []);
  if (tombstones.length === 0 && items.length === 0) return { revision: row.revision };

  connection.erasures?.note([erasureOf(connection, row, tombstones, items)]);
  redactEvents(connection, row, tombstones);
  for (const { seq, body } of items) {
    const sealed = sealText(connection.seal, row.id, body);
    connection.run("UPDATE inbox SET body = ? WHERE task = ? AND seq = ?", sealed, row.task, seq);
  }
  connection.run("UPDATE secrets SET secret = ? WHERE task = ?", params.secret, row.task);
  connection.run("UPDATE inbox SET hash = NULL WHERE task = ?", row.task);
  for (const task of foldersOf(connection, row)) {
    connection.run("UPDATE tasks SET revision = revision + 1 WHERE task = ?", task);
    blankSnapshots(connection, task);
  }
  return { revision: row.revision + 1 };
};
