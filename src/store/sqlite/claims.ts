// Claims: who may append to a task, and for how long. Leases are measured on the machine's monotonic
// clock; where a lease was given under another boot, by the store's clock.
import type { Claim, ClaimParams, ReleaseParams, Store } from "../store.ts";
import { requireSeen } from "./append.ts";
import type { Connection } from "./connection.ts";
import { epochOf, restoredFrom } from "./epochs.ts";
import { backOff, dropHolds, hold, holdsOf } from "./holds.ts";
import { isTimerDue, moveDueTimers, untaken } from "./inbox.ts";
import { readEntries } from "./log.ts";
import { nextTask, type Candidate } from "./next-task.ts";
import { snapshotOf } from "./snapshots.ts";
import { changeTask, findTask, readyFrom, requireHolder, requireTask, secretOf, type Guarded } from "./tasks.ts";

const LAPSED = `leaseUntil IS NOT NULL AND iif(leaseBoot = :boot, leaseUntil <= :monotonic, leaseEndsAt <= :now)`;

const hasLapsed = (connection: Connection, now: number): boolean => {
  const sql = `SELECT 1 FROM tasks INDEXED BY tasksLeased WHERE ${LAPSED} LIMIT 1`;
  return connection.get(sql, { ...connection.clock.machine, now }) !== undefined;
};

/** Makes the tasks whose lease ran out ready, where they have something to do. Their holders may still come back. */
const endLapsed = (connection: Connection, now: number): void => {
  connection.run(
    `UPDATE tasks INDEXED BY tasksLeased SET
       previousEndedAt = iif(leaseBoot = :boot, :now - (:monotonic - leaseUntil), leaseEndsAt),
       readyAt = CASE
         WHEN status = 'ended' THEN NULL
         WHEN status <> 'waiting' OR inboxSeq > inboxTaken THEN :now
         ELSE nextTimerAt
       END,
       leaseUntil = NULL, leaseBoot = NULL, leaseEndsAt = NULL
     WHERE ${LAPSED}`,
    { ...connection.clock.machine, now },
  );
};

/** What makes a claim worth a write: an idle poll must not keep other writers out. */
export interface Prospect {
  /** Leases have run out. */
  readonly lapsed: boolean;
  readonly next: Candidate | undefined;
}

export const seek = (connection: Connection, params: ClaimParams, now: number): Prospect | null => {
  const lapsed = hasLapsed(connection, now);
  const next = nextTask(connection, params, now);
  return lapsed || next !== undefined ? { lapsed, next } : null;
};

const leaseFrom = (connection: Connection, leaseMs: number, now: number) => {
  const { monotonic, boot } = connection.clock.machine;
  return { leaseUntil: monotonic + leaseMs, leaseBoot: boot, leaseEndsAt: now + leaseMs, readyAt: null };
};

export type Taken = Pick<Claim, "taskId" | "fence" | "attempts" | "previousEndedAt" | "now" | "served">;

const TAKE = `UPDATE tasks SET claimedBy = :worker, leaseUntil = :leaseUntil, leaseBoot = :leaseBoot,
    leaseEndsAt = :leaseEndsAt, readyAt = :readyAt, fence = fence + 1, attempts = attempts + 1
  WHERE task = :task AND readyAt <= :now RETURNING id AS taskId, fence, attempts, previousEndedAt, nextTimerAt`;

type TakenRow = Omit<Taken, "now"> & Pick<Guarded, "nextTimerAt">;

/** Undefined when the task is not ready any more. */
const takeReady = (
  connection: Connection,
  { worker, leaseMs }: ClaimParams,
  next: Candidate | undefined,
  now: number,
): TakenRow | undefined => {
  if (next === undefined) return undefined;
  const { task, priority, principal } = next;
  const taken = { ...leaseFrom(connection, leaseMs, now), worker, task, now };
  const row = connection.get<Omit<TakenRow, "served">>(TAKE, taken);
  return row === undefined ? undefined : { ...row, served: { priority, principal } };
};

/** Takes a task: raises its fence, counts the attempt, moves due timers in. Nothing is loaded yet. */
export const take = (
  connection: Connection,
  params: ClaimParams,
  { lapsed, next }: Prospect,
  now: number,
): Taken | null => {
  if (lapsed) endLapsed(connection, now);
  // What was found a moment ago is taken if it is still ready, and nothing can have come before it.
  const found = lapsed ? undefined : takeReady(connection, params, next, now);
  const row = found ?? takeReady(connection, params, nextTask(connection, params, now), now);
  if (row === undefined) return null;
  const { nextTimerAt, ...taken } = row;
  if (isTimerDue({ nextTimerAt }, now)) moveDueTimers(connection, requireTask(connection, taken.taskId), now);
  return { ...taken, now };
};

/** Loads what was taken; null when the task is gone since. */
export const load = (connection: Connection, taken: Taken, params: ClaimParams): Claim | null => {
  const row = findTask(connection, taken.taskId);
  if (row === undefined) return null;
  const { agent, revision, lastSeq, head } = row;
  const version = Object.hasOwn(params.snapshotVersions, agent) ? params.snapshotVersions[agent] : undefined;
  const snapshot = version === undefined ? null : snapshotOf(connection, row, version);
  return {
    ...taken,
    ...{ agent, revision, lastSeq, chain: head, snapshot },
    epoch: epochOf(connection),
    restoredFrom: restoredFrom(connection, row.task),
    holds: holdsOf(connection, row.task, params.build),
    secret: secretOf(connection, row.task),
    entries: readEntries(connection, row, { after: snapshot?.seq }),
    inbox: untaken(connection, row),
    inboxSeq: row.inboxSeq,
  };
};

/** Codes: `not_owner`, `not_found`, `forgotten`. */
export const renew = (
  connection: Connection,
  params: { readonly taskId: string; readonly fence: number; readonly leaseMs: number },
  now: number,
): void => {
  const { task } = requireHolder(connection, params.taskId, params.fence);
  changeTask(connection, task, leaseFrom(connection, params.leaseMs, now));
};

/** Codes: `not_owner`, `inbox_moved`, `not_found`, `forgotten`. */
export const release = (connection: Connection, params: ReleaseParams, now: number): void => {
  const row = requireHolder(connection, params.taskId, params.fence);
  if (params.kind === "parked") requireSeen(row, params.inboxSeen, now);
  if (params.kind === "held") hold(connection, row.task, params, now);
  else dropHolds(connection, row.task);
  const over = { claimedBy: null, leaseUntil: null, leaseBoot: null, leaseEndsAt: null };
  changeTask(connection, row.task, {
    ...over,
    attempts: 0,
    previousEndedAt: now,
    readyAt: readyFrom(row, now),
  });
};

/** Codes: `not_owner`, `not_found`, `forgotten`. */
export const letLapse = (connection: Connection, params: Parameters<Store["letLapse"]>[0], now: number): void => {
  const { task } = requireHolder(connection, params.taskId, params.fence);
  changeTask(connection, task, { attempts: params.attempts - 1 });
  backOff(connection, task, params.build, now, params.backOffMs);
};

/** Codes: `not_found`, `forgotten`. */
export const letGo = (connection: Connection, taskId: string): void => {
  dropHolds(connection, requireTask(connection, taskId).task);
};
