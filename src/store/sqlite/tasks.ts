// Tasks' rows: found for guards, shown, listed, changed.
import type { SQLInputValue } from "node:sqlite";
import { toHex } from "../../core/envelope.ts";
import type { TaskColumns } from "../../core/project.ts";
import { StoreError, type Held, type ListParams, type TaskRow } from "../store.ts";
import type { Connection } from "./connection.ts";
import { RESTORED_FROM } from "./epochs.ts";
import { laneOf } from "./lanes.ts";

/** What guards and counters need of a task's row. */
export interface Guarded {
  readonly task: number;
  readonly id: string;
  readonly agent: string;
  readonly status: TaskRow["status"];
  readonly lane: number;
  readonly owner: string;
  readonly priority: number;
  readonly updatedAt: number;
  readonly epoch: number;
  readonly lastSeq: number;
  readonly head: Uint8Array;
  readonly revision: number;
  readonly redactions: number;
  readonly inboxSeq: number;
  readonly inboxTaken: number;
  readonly nextTimerAt: number | null;
  readonly fence: number;
  readonly claimedBy: string | null;
  readonly leaseUntil: number | null;
  readonly readyAt: number | null;
}

const GUARDED = `SELECT task, id, agent, owner, status, lane, priority, updatedAt, epoch, lastSeq, head, revision, redactions,
  inboxSeq, inboxTaken, nextTimerAt, fence, claimedBy, leaseUntil, readyAt FROM tasks WHERE id = ? AND status <> 'gone'`;

export const findTask = (connection: Connection, taskId: string): Guarded | undefined =>
  connection.get<Guarded>(GUARDED, taskId);

export const isForgotten = (connection: Connection, taskId: string): boolean =>
  connection.get("SELECT 1 FROM forgotten WHERE id = ?", taskId) !== undefined;

export const isPruned = (connection: Connection, taskId: string): boolean =>
  connection.get("SELECT 1 FROM pruned WHERE id = ?", taskId) !== undefined;

/** Codes: `not_found`, `forgotten`. */
export const requireTask = (connection: Connection, taskId: string): Guarded => {
  const row = findTask(connection, taskId);
  if (row !== undefined) return row;
  if (isForgotten(connection, taskId)) throw new StoreError("forgotten", `task ${taskId} was forgotten`);
  const told = isPruned(connection, taskId) ? `task ${taskId} was pruned from` : `there is no task ${taskId} in`;
  throw new StoreError("not_found", `${told} ${connection.name}`);
};

/** The task, whose newest claim has this fence and was not given back. Codes: `not_found`, `forgotten`, `not_owner`. */
export const requireHolder = (connection: Connection, taskId: string, fence: number): Guarded => {
  const row = requireTask(connection, taskId);
  if (row.fence === fence && row.claimedBy !== null) return row;
  const told = row.claimedBy === null ? "was given back" : `has fence ${String(row.fence)} now`;
  throw new StoreError("not_owner", `task ${taskId} ${told}; a claim with fence ${String(fence)} holds it no more`);
};

/** From when on an unleased task may be claimed; null when something must come first. */
export const readyFrom = (
  row: Pick<Guarded, "status" | "inboxSeq" | "inboxTaken" | "nextTimerAt">,
  now: number,
): number | null => {
  if (row.status === "ended") return null;
  return row.status !== "waiting" || row.inboxSeq > row.inboxTaken ? now : row.nextTimerAt;
};

export type Changes = Record<string, SQLInputValue>;

/** Sets columns of a task's row; what is not named stays. The names come from this folder, never from a caller. */
export const changeTask = (connection: Connection, task: number, changes: Changes): void => {
  const names = Object.keys(changes);
  const set = names.map((name) => `${name} = ?`).join(", ");
  connection.run(`UPDATE tasks SET ${set} WHERE task = ?`, ...Object.values(changes), task);
};

/** Of `changes`, those that change something. What stays as it is is not written: an indexed column costs a page of its own. */
export const newValues = (connection: Connection, task: number, changes: Changes): Changes => {
  const names = Object.keys(changes);
  if (names.length === 0) return changes;
  const row = connection.get<Changes>(`SELECT ${names.join(", ")} FROM tasks WHERE task = ?`, task);
  return Object.fromEntries(Object.entries(changes).filter(([name, value]) => row?.[name] !== value));
};

/** The row's columns as the table has them. `lane` is the task's lane so far, where it has one. */
export const columnChanges = (connection: Connection, columns: Partial<TaskColumns>, lane: number | null): Changes => {
  const { origin, requires, queue, ...plain } = columns;
  const changes: Changes = { ...plain };
  if (origin !== undefined) Object.assign(changes, { ...origin, private: origin.private ? 1 : 0 });
  if (requires !== undefined || queue !== undefined) changes["lane"] = laneOf(connection, lane, { requires, queue });
  return changes;
};

interface Shown extends Omit<TaskRow, "taskId" | "origin" | "head" | "requires" | "claimedBy" | "held"> {
  readonly task: number;
  readonly id: string;
  readonly frontEnd: string;
  readonly place: string;
  readonly conversation: string;
  readonly private: number;
  readonly head: Uint8Array;
  readonly requires: string;
  readonly holder: string | null;
  readonly build: string | null;
  readonly why: string;
  readonly heldAt: number;
  readonly count: number;
}

const shownFrom = (tasks: string): string => `SELECT tasks.*, queue, requires, build, holds.reason AS why,
    holds.at AS heldAt, count, iif(status = 'ended', NULL, ${RESTORED_FROM}) AS restoredFrom,
    CASE WHEN iif(leaseBoot = :boot, leaseUntil > :monotonic, leaseEndsAt > :now) THEN claimedBy END AS holder
  FROM ${tasks} JOIN lanes USING (lane)
  LEFT JOIN holds ON hold = (SELECT max(hold) FROM holds WHERE holds.task = tasks.task AND count > 0)`;

const heldOf = ({ build, why, heldAt, count }: Shown): Held | null =>
  build === null ? null : { reason: why, build, at: heldAt, count };

const shown = (row: Shown): TaskRow => ({
  taskId: row.id,
  agent: row.agent,
  owner: row.owner,
  origin: {
    frontEnd: row.frontEnd,
    place: row.place,
    conversation: row.conversation,
    private: row.private === 1,
  },
  parent: row.parent,
  root: row.root,
  mode: row.mode,
  status: row.status,
  waitingOn: row.waitingOn,
  outcome: row.outcome,
  reason: row.reason,
  requires: JSON.parse(row.requires) as string[],
  queue: row.queue,
  priority: row.priority,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  lastSeq: row.lastSeq,
  head: toHex(row.head),
  revision: row.revision,
  redactions: row.redactions,
  inboxSeq: row.inboxSeq,
  inboxTaken: row.inboxTaken,
  fence: row.fence,
  claimedBy: row.holder,
  held: heldOf(row),
  nextTimerAt: row.nextTimerAt,
  restoredFrom: row.restoredFrom,
});

/** The row, or null. */
export const getTask = (connection: Connection, taskId: string, now: number): TaskRow | null => {
  const row = connection.get<Shown>(`${shownFrom("tasks")} WHERE id = :id AND status <> 'gone'`, {
    ...connection.clock.machine,
    now,
    id: taskId,
  });
  return row === undefined ? null : shown(row);
};

/** Every code point sorts before it. */
const LAST = "\u{10ffff}";

export const listTasks = (connection: Connection, params: ListParams, now: number): TaskRow[] => {
  const { owner, place, parent, status, idPrefix, updatedBefore, after, limit } = params;
  const given = { owner, place, parent, status };
  const conditions = Object.entries(given).filter(([, value]) => value !== undefined);
  const where = conditions.map(([name]) => `tasks.${name} = :${name}`);
  const values: Record<string, SQLInputValue> = Object.fromEntries(conditions) as Record<string, string>;
  if (idPrefix !== undefined) {
    where.push("id >= :prefix AND id < :beyond");
    Object.assign(values, { prefix: idPrefix, beyond: idPrefix + LAST });
  }
  if (status === undefined) where.push("status <> 'gone'");
  if (updatedBefore !== undefined) {
    where.push("updatedAt < :updatedBefore");
    values["updatedBefore"] = updatedBefore;
  }
  if (after !== undefined) {
    where.push("tasks.task < (SELECT task FROM tasks WHERE id = :after)");
    values["after"] = after;
  }
  const filter = `WHERE ${where.join(" AND ")}`;
  // Few tasks are open, however many there are, and SQLite cannot know that.
  const from = status === undefined || status === "ended" ? "tasks" : "tasks INDEXED BY tasksByStatus";
  const sql = `${shownFrom(from)} ${filter} ORDER BY tasks.task DESC LIMIT :limit`;
  return connection.all<Shown>(sql, { ...connection.clock.machine, now, ...values, limit }).map(shown);
};

/** Codes: `not_found`, `forgotten`. */
export const getSecret = (connection: Connection, taskId: string): Uint8Array =>
  secretOf(connection, requireTask(connection, taskId).task);

export const secretOf = (connection: Connection, task: number): Uint8Array => {
  const row = connection.get<{ secret: Uint8Array }>("SELECT secret FROM secrets WHERE task = ?", task);
  if (row === undefined) throw new StoreError("damaged", `${connection.name}: a task has lost its secret`);
  return row.secret;
};
