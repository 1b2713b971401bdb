// Events as rows: added at the end of a task's log, read back in order. Of a redacted event the skeleton is read.
import { digestOf } from "../../core/envelope.ts";
import { nodeHasher } from "../node-hasher.ts";
import { openText, sealText } from "../seal.ts";
import type { Entry, Envelope, Redaction } from "../store.ts";
import type { Connection } from "./connection.ts";
import { requireTask, type Guarded } from "./tasks.ts";

interface TypeRow {
  readonly type: number;
  readonly name: string;
}

/** Gives each event type a code. The ten have one; a bundle may bring one that is new here. */
export const knowTypes = (connection: Connection, names: Iterable<string>): void => {
  for (const name of new Set(names)) {
    connection.run("INSERT INTO types (name) VALUES (?) ON CONFLICT (name) DO NOTHING", name);
  }
};

/** The names of event types by code. A code that has lost its name is shown as it is: `check` will report it. */
const typeNames = (connection: Connection): ((code: number) => string) => {
  const rows = connection.all<TypeRow>("SELECT type, name FROM types");
  const names = new Map(rows.map(({ type, name }) => [type, name]));
  return (code) => names.get(code) ?? `#${String(code)}`;
};

/** The task that a log belongs to, by its key in the tables and by its id, which content is sealed for. */
export type LogOf = Pick<Guarded, "task" | "id">;

const INSERT = `INSERT INTO events (task, seq, at, type, salt, chain, body)
  VALUES (?, ?, ?, (SELECT type FROM types WHERE name = ?), ?, ?, ?)`;

/** What is stored of an event. One without a salt is redacted: its body is in its redaction. */
type NewEntry = Pick<Envelope, "seq" | "type" | "body" | "salt" | "chain">;

export const insertEvent = (connection: Connection, log: LogOf, at: number, entry: NewEntry): void => {
  const { seq, type, salt, chain } = entry;
  const body = salt === null ? new Uint8Array(0) : sealText(connection.seal, log.id, entry.body);
  connection.run(INSERT, log.task, seq, at, type, salt, chain, body);
};

/** `after` exclusive, `through` inclusive. */
export interface Range {
  readonly after?: number | undefined;
  readonly through?: number | undefined;
  readonly limit?: number | undefined;
}

const bounds = ({ after = 0, through = Number.MAX_SAFE_INTEGER, limit = -1 }: Range): [number, number, number] => [
  after,
  through,
  limit,
];

interface Skeleton {
  readonly seq: number;
  readonly body: string;
  readonly eventDigest: Uint8Array;
}

/** Gives the skeletons of the task's redacted events by seq. They are read when the first is asked for. */
const skeletonsOf = (connection: Connection, log: LogOf): ((seq: number) => Skeleton | undefined) => {
  let known: ReadonlyMap<number, Skeleton> | undefined;
  const readAll = (): ReadonlyMap<number, Skeleton> => {
    const rows = connection.all<{ seq: number; body: Uint8Array; eventDigest: Uint8Array }>(
      "SELECT seq, body, eventDigest FROM redactions WHERE task = ?",
      log.task,
    );
    return new Map(rows.map((row) => [row.seq, { ...row, body: openText(connection.seal, log.id, row.body) }]));
  };
  return (seq) => (known ??= readAll()).get(seq);
};

const WHERE = "FROM events WHERE task = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?";
const ENTRIES = `SELECT seq, at, type, body, salt IS NULL ${WHERE}`;
const ENVELOPES = `SELECT seq, at, type, body, salt, chain ${WHERE}`;

export const readEntries = (connection: Connection, log: LogOf, range: Range): Entry[] => {
  const nameOf = typeNames(connection);
  const skeletonAt = skeletonsOf(connection, log);
  return connection
    .tuples<[number, number, number, Uint8Array, number]>(ENTRIES, log.task, ...bounds(range))
    .map(([seq, at, code, body, isBlank]) => {
      const text = isBlank === 1 ? (skeletonAt(seq)?.body ?? "") : openText(connection.seal, log.id, body);
      return { seq, at, type: nameOf(code), body: text };
    });
};

export const readEnvelopes = (connection: Connection, log: LogOf, range: Range): Envelope[] => {
  const nameOf = typeNames(connection);
  const skeletonAt = skeletonsOf(connection, log);
  return connection
    .tuples<[number, number, number, Uint8Array, Uint8Array | null, Uint8Array]>(ENVELOPES, log.task, ...bounds(range))
    .map(([seq, at, code, sealed, salt, chain]) => {
      const place = { seq, at, type: nameOf(code), salt, chain };
      if (salt === null) {
        const skeleton = skeletonAt(seq);
        // A tombstone that nobody recorded has no skeleton; its chain will not follow from an empty digest.
        return { ...place, body: skeleton?.body ?? "", digest: skeleton?.eventDigest ?? new Uint8Array(32) };
      }
      const body = openText(connection.seal, log.id, sealed);
      return { ...place, body, digest: digestOf(nodeHasher, salt, body) };
    });
};

/** Codes: `not_found`, `forgotten`. */
export const read = (connection: Connection, params: Range & { readonly taskId: string }): Envelope[] =>
  readEnvelopes(connection, requireTask(connection, params.taskId), params);

export const readRedactions = (connection: Connection, taskId: string): Redaction[] => {
  const { task } = requireTask(connection, taskId);
  const sql = "SELECT n, seq, digest, chain FROM redactions WHERE task = ? ORDER BY n";
  return connection.all<Redaction>(sql, task).map((row) => ({ ...row }));
};
