// The append: guards, events, and everything that goes with them, in one transaction.
import { checkDrafts } from "../drafts.ts";
import { StoreError, type AppendParams, type AppendReceipt } from "../store.ts";
import type { Connection } from "./connection.ts";
import { createTask } from "./creation.ts";
import { useDefinitions } from "./definitions.ts";
import { blankTaken, deliver, isTimerDue, nextTimer } from "./inbox.ts";
import { insertEvent } from "./log.ts";
import { deleteTimers, writeRows } from "./projections.ts";
import { blankSnapshots } from "./snapshots.ts";
import {
  changeTask,
  columnChanges,
  newValues,
  readyFrom,
  requireHolder,
  requireTask,
  type Changes,
  type Guarded,
} from "./tasks.ts";

/** The guards, in the documented order. */
const guard = (connection: Connection, params: AppendParams, now: number): Guarded => {
  const { taskId, fence, revision, inboxSeen, taken = 0 } = params;
  const row = requireHolder(connection, taskId, fence);
  if (row.status === "ended") throw new StoreError("ended", `task ${taskId} has ended`);
  checkDrafts(taskId, params.drafts, row.lastSeq);
  if (taken > row.inboxSeq) {
    const told = `the inbox of task ${taskId} ends at ${String(row.inboxSeq)}; ${String(taken)} cannot be taken`;
    throw new StoreError("conflict", told);
  }
  if (row.revision !== revision) {
    throw new StoreError("redacted", `task ${taskId} has revision ${String(row.revision)} now; fold it again`);
  }
  if (inboxSeen !== undefined) requireSeen(row, Math.max(inboxSeen, taken), now);
  return row;
};

/** Codes: `inbox_moved`. */
export const requireSeen = (row: Guarded, seen: number, now: number): void => {
  if (row.inboxSeq > Math.max(seen, row.inboxTaken)) {
    throw new StoreError("inbox_moved", `task ${row.id} has an untaken item after inbox seq ${String(seen)}`);
  }
  if (isTimerDue(row, now)) throw new StoreError("inbox_moved", `a timer of task ${row.id} is due`);
};

/** Events, and what they change in other tables of the same task. */
const writeLog = (connection: Connection, row: Guarded, params: AppendParams, at: number): void => {
  for (const draft of params.drafts) insertEvent(connection, row, at, draft);
  writeRows(connection, row.task, params.rows);
  if (endsTask(params)) {
    deleteTimers(connection, row.task);
    blankSnapshots(connection, row.task);
  }
  if (params.taken !== undefined) blankTaken(connection, row, params.taken);
  if (params.definitions !== undefined) useDefinitions(connection, row.task, params.definitions);
};

const endsTask = ({ drafts }: AppendParams): boolean => drafts.some((draft) => draft.type === "TaskEnded");

/** What the append changes in the task's row, once its log and rows are written. */
const changesOf = (connection: Connection, row: Guarded, params: AppendParams, at: number): Changes => {
  const { drafts, columns, taken = 0 } = params;
  const last = drafts.at(-1);
  if (last === undefined) throw new Error("an append without drafts passed its guard");
  const changes: Changes = { lastSeq: last.seq, head: last.chain, updatedAt: at };
  if (params.epoch !== undefined) Object.assign(changes, { epoch: params.epoch, bundleAt: null });
  if (taken > row.inboxTaken) changes["inboxTaken"] = taken;
  const timersChanged = endsTask(params) || params.rows.some(({ table }) => table === "timers");
  if (timersChanged) changes["nextTimerAt"] = nextTimer(connection, row.task);
  Object.assign(changes, newValues(connection, row.task, columnChanges(connection, columns, row.lane)));
  if (endsTask(params)) changes["status"] = "ended";
  if (row.leaseUntil === null) changes["readyAt"] = readyFrom({ ...row, ...(changes as Partial<Guarded>) }, at);
  return changes;
};

/** Codes: those of `Store.append`. */
export const append = (connection: Connection, params: AppendParams, now: number): AppendReceipt => {
  const row = guard(connection, params, now);
  const at = Math.max(now, row.updatedAt);
  writeLog(connection, row, params, at);
  const changes = changesOf(connection, row, params, at);
  changeTask(connection, row.task, changes);
  for (const child of params.children ?? []) createTask(connection, child, now);
  for (const post of params.posts ?? []) deliver(connection, post, now);
  const posted = params.posts?.some((post) => post.taskId === row.id) === true;
  const { inboxSeq } = posted ? requireTask(connection, row.id) : row;
  const { lastSeq = row.lastSeq, nextTimerAt = row.nextTimerAt } = changes as Partial<Guarded>;
  return { lastSeq, at, inboxSeq, timerDue: isTimerDue({ nextTimerAt }, now) };
};
