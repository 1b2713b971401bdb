// Claims: which task is next, who may append to it, and for how long. Leases are measured on the machine's monotonic
// clock; where a lease was given under another boot, by the store's clock.
import type { Claim, ClaimParams, ReleaseParams } from "../store.ts";
import { requireSeen } from "./append.ts";
import type { Connection } from "./connection.ts";
import { epochOf, restoredFrom } from "./epochs.ts";
import { dropHolds, hold, holdsOf, isHeld } from "./holds.ts";
import { isTimerDue, moveDueTimers, untaken } from "./inbox.ts";
import { serves } from "./lanes.ts";
import { readEntries } from "./log.ts";
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

interface Candidate {
  readonly task: number;
  readonly priority: number;
  readonly readyAt: number;
}

const READY = "FROM tasks INDEXED BY tasksReady WHERE readyAt IS NOT NULL";

/** The lanes in which some task is ready or has a time to be. */
function* lanes(connection: Connection): Generator<number> {
  for (let lane = -1; ;) {
    const next = connection.get<{ lane: number }>(`SELECT lane ${READY} AND lane > ? ORDER BY lane LIMIT 1`, lane);
    if (next === undefined) return;
    lane = next.lane;
    yield lane;
  }
}

const FIRST_DUE = `SELECT task, priority, readyAt ${READY} AND lane = ? AND priority = ? AND readyAt <= ?
    AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.task = tasks.task AND build = ? AND until > ?)
  ORDER BY readyAt, task LIMIT 1`;

/** The task of a lane to claim first: of the highest priority that has one due, and not below `least`. */
const firstDue = (
  connection: Connection,
  { lane, build, least }: { readonly lane: number; readonly build: string; readonly least: number },
  now: number,
): Candidate | undefined => {
  const below = `SELECT priority ${READY} AND lane = ? AND priority < ? ORDER BY priority DESC LIMIT 1`;
  for (let priority = Infinity; ;) {
    const next = connection.get<{ priority: number }>(below, lane, priority);
    if (next === undefined || next.priority < least) return undefined;
    ({ priority } = next);
    const found = connection.get<Candidate>(FIRST_DUE, lane, priority, now, build, now);
    if (found !== undefined) return found;
  }
};

const isBefore = (a: Candidate, b: Candidate | undefined): boolean =>
  b === undefined || a.priority > b.priority || (a.priority === b.priority && a.readyAt < b.readyAt);

/** Whatever is next for this worker. Index look-ups alone: parked tasks, and tasks of others, cost nothing. */
const nextTask = (connection: Connection, params: ClaimParams, now: number): number | undefined => {
  let first: Candidate | undefined;
  for (const lane of lanes(connection)) {
    if (!serves(connection, lane, params)) continue;
    const least = first?.priority ?? -Infinity;
    const found = firstDue(connection, { lane, build: params.build, least }, now);
    if (found !== undefined && isBefore(found, first)) first = found;
  }
  return first?.task;
};

/** The named task, if it is ready, can be served here, and this build did not set it aside. */
const namedTask = (connection: Connection, params: ClaimParams & { taskId: string }, now: number) => {
  const row = findTask(connection, params.taskId);
  if (row === undefined || row.readyAt === null || row.readyAt > now) return undefined;
  if (!serves(connection, row.lane, params)) return undefined;
  return isHeld(connection, row.task, params.build, now) ? undefined : row.task;
};

const pick = (connection: Connection, params: ClaimParams, now: number): number | undefined => {
  const { taskId } = params;
  if (taskId === undefined) return nextTask(connection, params, now);
  return namedTask(connection, { ...params, taskId }, now);
};

/** What makes a claim worth a write: an idle poll must not keep other writers out. */
export interface Prospect {
  /** Leases have run out. */
  readonly lapsed: boolean;
  readonly task: number | undefined;
}

export const seek = (connection: Connection, params: ClaimParams, now: number): Prospect | null => {
  const lapsed = hasLapsed(connection, now);
  const task = pick(connection, params, now);
  return lapsed || task !== undefined ? { lapsed, task } : null;
};

const leaseFrom = (connection: Connection, leaseMs: number, now: number) => {
  const { monotonic, boot } = connection.clock.machine;
  return { leaseUntil: monotonic + leaseMs, leaseBoot: boot, leaseEndsAt: now + leaseMs, readyAt: null };
};

export type Taken = Pick<Claim, "taskId" | "fence" | "attempts" | "previousEndedAt" | "now">;

const TAKE = `UPDATE tasks SET claimedBy = :worker, leaseUntil = :leaseUntil, leaseBoot = :leaseBoot,
    leaseEndsAt = :leaseEndsAt, readyAt = :readyAt, fence = fence + 1, attempts = attempts + 1
  WHERE task = :task AND readyAt <= :now RETURNING id AS taskId, fence, attempts, previousEndedAt, nextTimerAt`;

type TakenRow = Omit<Taken, "now"> & Pick<Guarded, "nextTimerAt">;

/** Undefined when the task is not ready any more. */
const takeReady = (
  connection: Connection,
  { worker, leaseMs }: ClaimParams,
  task: number | undefined,
  now: number,
): TakenRow | undefined =>
  task === undefined
    ? undefined
    : connection.get<TakenRow>(TAKE, { ...leaseFrom(connection, leaseMs, now), worker, task, now });

/** Takes a task: raises its fence, counts the attempt, moves due timers in. Nothing is loaded yet. */
export const take = (
  connection: Connection,
  params: ClaimParams,
  { lapsed, task }: Prospect,
  now: number,
): Taken | null => {
  if (lapsed) endLapsed(connection, now);
  // What was found a moment ago is taken if it is still ready, and nothing can have come before it.
  const found = lapsed ? undefined : takeReady(connection, params, task, now);
  const row = found ?? takeReady(connection, params, pick(connection, params, now), now);
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
    restoredFrom: restoredFrom(connection, row.epoch),
    holds: holdsOf(connection, row.task, params.build),
    secret: secretOf(connection, row.task),
    entries: readEntries(connection, row, { after: snapshot?.seq }),
    inbox: untaken(connection, row),
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

/** Codes: `not_found`, `forgotten`. */
export const letGo = (connection: Connection, taskId: string): void => {
  dropHolds(connection, requireTask(connection, taskId).task);
};
