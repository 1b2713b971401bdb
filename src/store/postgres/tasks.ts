// Tasks' rows: shown and listed, locked for what takes several statements, and told apart from what is not there.
import { toHex } from "../../core/envelope.ts";
import { StoreError, type Held, type ListParams, type StoreCode, type TaskRow } from "../store.ts";
import type { Connection, Session } from "./connection.ts";
import { accepted } from "./refuse.ts";
import { decodeText, encodeText } from "./text.ts";

/** What work of several statements needs of a task's row. */
export interface Guarded {
  readonly task: number;
  readonly id: string;
  readonly status: TaskRow["status"];
  readonly revision: number;
  readonly redactions: number;
  readonly inbox_taken: number;
}

const ABSENCE = "SELECT perdure.absence($1::text) AS code";

/** What to say of a task that has no row: `not_found` or `forgotten`. */
export const refuseAbsent = async (connection: Connection, session: Session, taskId: string): Promise<never> => {
  accepted(await session.first<{ code: StoreCode }>(ABSENCE, encodeText(taskId)), taskId, connection.name);
  throw new Error(`${connection.name}: nothing was said of the absence of task ${taskId}`);
};

const GUARDED = "SELECT task, id, status, revision, redactions, inbox_taken FROM perdure.tasks WHERE id = $1";

export const findTask = (session: Session, taskId: string): Promise<Guarded | undefined> =>
  session.first<Guarded>(GUARDED, encodeText(taskId));

/** Codes: `not_found`, `forgotten`. */
export const requireTask = async (connection: Connection, session: Session, taskId: string): Promise<Guarded> =>
  (await findTask(session, taskId)) ?? refuseAbsent(connection, session, taskId);

/** The task, locked until the transaction ends. Codes: `not_found`, `forgotten`. */
export const lockTask = async (connection: Connection, session: Session, taskId: string): Promise<Guarded> =>
  (await session.first<Guarded>(`${GUARDED} FOR NO KEY UPDATE`, encodeText(taskId))) ??
  refuseAbsent(connection, session, taskId);

interface Shown {
  readonly id: string;
  readonly agent: string;
  readonly owner: string;
  readonly front_end: string;
  readonly place: string;
  readonly conversation: string;
  readonly private: boolean;
  readonly parent: string | null;
  readonly root: string;
  readonly mode: TaskRow["mode"];
  readonly status: TaskRow["status"];
  readonly waiting_on: TaskRow["waitingOn"];
  readonly outcome: TaskRow["outcome"];
  readonly reason: string | null;
  readonly requires: readonly string[];
  readonly queue: string;
  readonly priority: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly last_seq: number;
  readonly head: Uint8Array;
  readonly revision: number;
  readonly redactions: number;
  readonly inbox_seq: number;
  readonly inbox_taken: number;
  readonly fence: number;
  readonly holder: string | null;
  readonly next_timer_at: number | null;
  readonly build: string | null;
  readonly why: string;
  readonly held_at: number;
  readonly count: number;
  readonly restored: number | null;
}

/** `$1` is `p_clock`. */
const SHOWN = `SELECT t.*, l.queue, array_to_json(l.requires) AS requires, h.build, h.reason AS why, h.at AS held_at, h.count,
    CASE WHEN NOT t.is_over THEN least(t.bundle_at, (SELECT min(backup_at) FROM perdure.restores r
      WHERE r.epoch > t.epoch)) END AS restored,
    CASE WHEN t.lease_until > coalesce(($1::bigint[])[2], perdure.clock_ms()) THEN t.claimed_by END AS holder
  FROM perdure.tasks t JOIN perdure.lanes l ON l.lane = t.lane
  LEFT JOIN LATERAL (SELECT build, reason, at, count FROM perdure.holds WHERE holds.task = t.task AND count > 0
    ORDER BY hold DESC LIMIT 1) h ON true`;

const heldOf = ({ build, why, held_at: at, count }: Shown): Held | null =>
  build === null ? null : { reason: why, build, at, count };

const shown = (row: Shown): TaskRow => ({
  taskId: row.id,
  agent: row.agent,
  owner: row.owner,
  origin: { frontEnd: row.front_end, place: row.place, conversation: row.conversation, private: row.private },
  parent: row.parent,
  root: row.root,
  mode: row.mode,
  status: row.status,
  waitingOn: row.waiting_on,
  outcome: row.outcome,
  reason: row.reason,
  requires: row.requires.map(decodeText),
  queue: row.queue,
  priority: row.priority,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastSeq: row.last_seq,
  head: toHex(row.head),
  revision: row.revision,
  redactions: row.redactions,
  inboxSeq: row.inbox_seq,
  inboxTaken: row.inbox_taken,
  fence: row.fence,
  claimedBy: row.holder,
  held: heldOf(row),
  nextTimerAt: row.next_timer_at,
  restoredFrom: row.restored,
});

/** The row, or null. */
export const getTask = async (connection: Connection, session: Session, taskId: string): Promise<TaskRow | null> => {
  const row = await session.first<Shown>(`${SHOWN} WHERE t.id = $2`, connection.clock, encodeText(taskId));
  return row === undefined ? null : shown(row);
};

/** Every code point sorts before it. */
const LAST = "\u{10ffff}";

export const listTasks = async (connection: Connection, params: ListParams): Promise<TaskRow[]> => {
  const { owner, place, parent, status, idPrefix, updatedBefore, after, limit } = params;
  const values: unknown[] = [connection.clock, limit];
  const bind = (value: string): string => `$${String(values.push(encodeText(value)))}`;
  const where = Object.entries({ owner, place, parent, status }).flatMap(([name, value]) =>
    value === undefined ? [] : [`t.${name} = ${bind(value)}`],
  );
  // Few tasks are open, however many there are.
  if (status !== undefined && status !== "ended") where.push("NOT t.is_over");
  if (idPrefix !== undefined) where.push(`t.id >= ${bind(idPrefix)} AND t.id < ${bind(idPrefix + LAST)}`);
  if (updatedBefore !== undefined) where.push(`t.updated_at < $${String(values.push(updatedBefore))}`);
  if (after !== undefined) where.push(`t.task < (SELECT task FROM perdure.tasks WHERE id = ${bind(after)})`);
  const filter = where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`;
  const rows = await connection.rows<Shown>(`${SHOWN} ${filter} ORDER BY t.task DESC LIMIT $2`, ...values);
  return rows.map(shown);
};

const SECRET = `SELECT t.task, secret FROM perdure.tasks t LEFT JOIN perdure.secrets s ON s.task = t.task WHERE id = $1`;

/** Codes: `not_found`, `forgotten`, `damaged`. */
export const getSecret = async (connection: Connection, taskId: string): Promise<Uint8Array> => {
  const row = await connection.first<{ secret: Uint8Array | null }>(SECRET, encodeText(taskId));
  if (row === undefined) return refuseAbsent(connection, connection, taskId);
  if (row.secret === null) throw new StoreError("damaged", `task ${taskId} of ${connection.name} has lost its secret`);
  return row.secret;
};
