// Redaction: content goes; skeleton, digest and chain stay, and a list says what was done. What a row held before stays on
// the server's pages until they are vacuumed and written over (decision 0020).
import { FIRST_CHAIN, digestOf, redactionChain, toHex } from "../../core/envelope.ts";
import type { EventOf } from "../../core/events.ts";
import { keyDigest, type Redacted } from "../erasures.ts";
import { nodeHasher } from "../node-hasher.ts";
import { sealText } from "../seal.ts";
import { StoreError, type Envelope, type RedactParams } from "../store.ts";
import { eventTombstone, itemTombstone } from "../tombstone.ts";
import type { Connection, Session } from "./connection.ts";
import { note } from "./erasures.ts";
import { bodyText } from "./inbox.ts";
import { bodyColumn, readLog } from "./log.ts";
import { lockTask, type Guarded } from "./tasks.ts";
import { encodeText } from "./text.ts";

/** What the list of redactions and the log hold of a redacted event. */
interface Tombstone {
  readonly seq: number;
  readonly eventDigest: Uint8Array;
  readonly digest: Uint8Array;
  readonly body: string;
}

const unique = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

/** The events to redact that are not redacted yet. Codes: `not_found`. */
const eventsFor = async (
  connection: Connection,
  session: Session,
  row: Guarded,
  seqs: readonly number[],
): Promise<Envelope[]> => {
  const found: Envelope[] = [];
  for (const seq of unique(seqs)) {
    const log = await readLog(connection, session, { taskId: row.id, after: seq - 1, through: seq }, false);
    const [event] = log.entries;
    if (event === undefined) throw new StoreError("not_found", `task ${row.id} has no event ${String(seq)}`);
    if (event.salt !== null) found.push(event);
  }
  return found;
};

/** The untaken items to redact that still hold content, as their skeletons. */
const itemsFor = async (
  connection: Connection,
  session: Session,
  row: Guarded,
  seqs: readonly number[],
): Promise<{ seq: number; key: string; body: string }[]> => {
  if (seqs.length === 0) return [];
  const items = await session.rows<{ seq: number; key: string; body: string }>(
    `SELECT seq, key, ${bodyColumn("$3")} AS body FROM perdure.inbox
     WHERE task = $1 AND seq = ANY ($2::integer[]) AND body IS NOT NULL ORDER BY seq`,
    ...[row.task, unique(seqs), connection.plain],
  );
  return items.flatMap(({ seq, key, body: given }) => {
    const entry = { seq, body: bodyText(connection, row.id, given) };
    const body = itemTombstone(row.id, entry);
    return body === entry.body ? [] : [{ seq, key, body }];
  });
};

/** Adds an entry, the `n`-th, to the task's list of redactions. */
export const insertRedaction = async (
  session: Session,
  task: number,
  entry: Omit<Tombstone, "body"> & { readonly n: number; readonly chain: Uint8Array },
): Promise<void> => {
  const { n, seq, eventDigest, digest, chain } = entry;
  await session.rows(
    "INSERT INTO perdure.redactions (task, n, seq, event_digest, digest, chain) VALUES ($1, $2, $3, $4, $5, $6)",
    ...[task, n, seq, Buffer.from(eventDigest), Buffer.from(digest), Buffer.from(chain)],
  );
};

const redactEvents = async (
  connection: Connection,
  session: Session,
  row: Guarded,
  tombstones: readonly Tombstone[],
): Promise<void> => {
  let n = row.redactions;
  const last = "SELECT chain FROM perdure.redactions WHERE task = $1 AND n = $2";
  let chain = (await session.first<{ chain: Uint8Array }>(last, row.task, n))?.chain ?? FIRST_CHAIN;
  for (const tombstone of tombstones) {
    n += 1;
    chain = redactionChain(nodeHasher, chain, { n, seq: tombstone.seq, digest: tombstone.digest });
    await insertRedaction(session, row.task, { ...tombstone, n, chain });
    const blank = "UPDATE perdure.events SET salt = NULL, body = $3 WHERE task = $1 AND seq = $2";
    await session.rows(blank, row.task, tombstone.seq, Buffer.from(sealText(connection.seal, row.id, tombstone.body)));
  }
  await session.rows("UPDATE perdure.tasks SET redactions = $2 WHERE task = $1", row.task, n);
};

const FOLDERS = `WITH RECURSIVE folders AS (
    SELECT $1::text COLLATE "C" AS id
    UNION SELECT t.id FROM perdure.tasks t JOIN folders f ON t.history_from = f.id
  ) SELECT id FROM folders`;

/**
 * Locks the task and every task that folds it through `historyFrom`, at any distance. A fork's creation locks its source for
 * share: one that is not seen yet is waited for, and seen the next time.
 */
const lockFolders = async (connection: Connection, session: Session, taskId: string): Promise<Guarded> => {
  for (let known = [encodeText(taskId)]; ;) {
    await session.rows("SELECT FROM perdure.tasks WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE", known);
    const found = await session.rows<{ id: string }>(FOLDERS, encodeText(taskId));
    if (found.length === known.length) return lockTask(connection, session, taskId);
    known = found.map(({ id }) => encodeText(id));
  }
};

const raiseRevisions = async (session: Session, taskId: string): Promise<void> => {
  const ids = `SELECT id FROM (${FOLDERS}) all_folders`;
  await session.rows(
    `DELETE FROM perdure.snapshots WHERE task IN (SELECT task FROM perdure.tasks WHERE id IN (${ids}))`,
    encodeText(taskId),
  );
  await session.rows(`UPDATE perdure.tasks SET revision = revision + 1 WHERE id IN (${ids})`, encodeText(taskId));
};

const VACUUMED = ["events", "inbox", "snapshots", "secrets"];

/** Frees what held the words. Best effort: a user who may not, or a reader that stays, leaves it to autovacuum. */
export const vacuum = async (connection: Connection): Promise<void> => {
  const names = VACUUMED.map((table) => `perdure.${table}`).join(", ");
  await connection.rows(`VACUUM (SKIP_LOCKED) ${names}`).catch(() => undefined);
};

/** The keys of the items that an event took: a backup from before that still has them in its inbox. */
const keysTaken = ({ type, body }: Envelope): string[] =>
  type === "InputTaken" ? (JSON.parse(body) as EventOf<"InputTaken">).items.map(({ key }) => key) : [];

/** What a redaction did, for the journal; null where there was nothing to redact. */
export interface Redaction {
  readonly erasure: Redacted | null;
  /** The task's now. */
  readonly revision: number;
}

/** Redacts in the session's transaction. Codes: `not_found`, `forgotten`, `newer_version`, `damaged`. */
export const redactIn = async (connection: Connection, session: Session, params: RedactParams): Promise<Redaction> => {
  const row = await lockFolders(connection, session, params.taskId);
  const events = await eventsFor(connection, session, row, params.seqs);
  const tombstones = events.map((event) => ({
    seq: event.seq,
    eventDigest: digestOf(nodeHasher, event.salt ?? new Uint8Array(0), event.body),
    ...eventTombstone(row.id, event),
  }));
  const items = await itemsFor(connection, session, row, params.items ?? []);
  if (tombstones.length === 0 && items.length === 0) return { erasure: null, revision: row.revision };

  await redactEvents(connection, session, row, tombstones);
  for (const { seq, body } of items) {
    const sealed = Buffer.from(sealText(connection.seal, row.id, body));
    await session.rows("UPDATE perdure.inbox SET body = $3 WHERE task = $1 AND seq = $2", row.task, seq, sealed);
  }
  await session.rows("UPDATE perdure.secrets SET secret = $2 WHERE task = $1", row.task, Buffer.from(params.secret));
  await session.rows("UPDATE perdure.inbox SET hash = NULL WHERE task = $1 AND hash IS NOT NULL", row.task);
  await raiseRevisions(session, params.taskId);
  const keys = [...items.map(({ key }) => key), ...events.flatMap(keysTaken)];
  const erasure = {
    redacted: params.taskId,
    events: tombstones.map(({ seq, eventDigest }): [number, string] => [seq, toHex(eventDigest)]),
    items: keys.map((key) => keyDigest(params.taskId, key)),
  };
  return { erasure, revision: row.revision + 1 };
};

/** Codes: `not_found`, `forgotten`, `newer_version`, `damaged`. */
export const redact = async (connection: Connection, params: RedactParams): Promise<{ readonly revision: number }> => {
  const { erasure, revision } = await connection.write(async (session) => {
    const made = await redactIn(connection, session, params);
    if (made.erasure !== null) await note(session, [made.erasure]);
    return made;
  });
  if (erasure !== null) await vacuum(connection);
  return { revision };
};
