// Events as rows, read back in order. Of a redacted event the row holds the skeleton, and the list of redactions its digest.
import { digestOf } from "../../core/envelope.ts";
import { nodeHasher } from "../node-hasher.ts";
import type { Envelope, Redaction } from "../store.ts";
import type { Connection, Session } from "./connection.ts";
import { bodyText } from "./inbox.ts";
import { isUntranslatable } from "./refusal.ts";
import { refuseAbsent, requireTask } from "./tasks.ts";
import { encodeText } from "./text.ts";

/** The names of event types by code, for the codes given. A code that has lost its name is shown as it is. */
export const namesOf = async (
  connection: Connection,
  session: Session,
  codes: readonly number[],
): Promise<(code: number) => string> => {
  const { typeNames } = connection;
  if (codes.some((code) => !typeNames.has(code))) {
    const rows = await session.rows<{ type: number; name: string }>("SELECT type, name FROM perdure.types");
    for (const { type, name } of rows) typeNames.set(type, name);
  }
  return (code) => typeNames.get(code) ?? `#${String(code)}`;
};

/** `after` exclusive, `through` inclusive. */
export interface Range {
  readonly after?: number | undefined;
  readonly through?: number | undefined;
  readonly limit?: number | undefined;
}

/** The column `body` as text, or (sealed) in base64. `plain` is the statement's parameter for it. */
export const bodyColumn = (plain: string): string =>
  `CASE WHEN ${plain}::boolean THEN convert_from(body, 'UTF8') ELSE encode(body, 'base64') END`;

/** The first row is the task's: its type is 1 when it has ended. */
export const ENVELOPES = `WITH t AS MATERIALIZED (SELECT task, is_over FROM perdure.tasks WHERE id = $1)
  SELECT 0 AS seq, 0 AS at, is_over::integer AS type, NULL AS salt, NULL AS chain, NULL AS digest, NULL AS body FROM t
  UNION ALL SELECT seq, at, type, salt, chain,
    CASE WHEN salt IS NULL THEN (SELECT event_digest FROM perdure.redactions r WHERE r.task = e.task AND r.seq = e.seq) END,
    ${bodyColumn("$5")}
  FROM (SELECT e.* FROM t JOIN perdure.events e ON e.task = t.task WHERE seq > $2::bigint AND seq <= $3::bigint
    ORDER BY seq LIMIT $4::bigint) e ORDER BY seq`;

type EnvelopeTuple = [number, number, number, Uint8Array | null, Uint8Array, Uint8Array | null, string];

/** Entries in order, and whether the task has ended, as of one moment. Codes: `not_found`, `forgotten`. */
export const readLog = async (
  connection: Connection,
  session: Session,
  { taskId, after = 0, through = Number.MAX_SAFE_INTEGER, limit = Number.MAX_SAFE_INTEGER }: Range & { taskId: string },
  plain = connection.plain,
): Promise<{ readonly entries: Envelope[]; readonly ended: boolean }> => {
  const bounds = [after, through, limit];
  const [task, ...tuples] = await session.tuples<EnvelopeTuple>(ENVELOPES, encodeText(taskId), ...bounds, plain);
  if (task === undefined) return refuseAbsent(connection, session, taskId);
  const nameOf = await namesOf(
    connection,
    session,
    tuples.map((tuple) => tuple[2]),
  );
  const entries = tuples.map(([seq, at, code, salt, chain, digest, given]) => {
    const body = bodyText(connection, taskId, given, plain);
    // A tombstone that nobody recorded has no digest; its chain will not follow from an empty one.
    const kept = salt === null ? (digest ?? new Uint8Array(32)) : digestOf(nodeHasher, salt, body);
    return { seq, at, type: nameOf(code), body, salt, chain, digest: kept };
  });
  return { entries, ended: task[2] === 1 };
};

/** Codes: `not_found`, `forgotten`. */
export const read = async (
  connection: Connection,
  params: Range & { readonly taskId: string },
): Promise<Envelope[]> => {
  try {
    return (await readLog(connection, connection, params)).entries;
  } catch (error) {
    // A bundle may have brought a body that is no text for Postgres.
    if (!isUntranslatable(error)) throw error;
    return (await readLog(connection, connection, params, false)).entries;
  }
};

export const readRedactions = async (
  connection: Connection,
  session: Session,
  taskId: string,
): Promise<Redaction[]> => {
  const { task } = await requireTask(connection, session, taskId);
  return session.rows<Redaction>(
    "SELECT n, seq, digest, chain FROM perdure.redactions WHERE task = $1 ORDER BY n",
    task,
  );
};
