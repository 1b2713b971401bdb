// Claims: who may append to a task, for how long, and which task is next.
import { openText } from "../seal.ts";
import { StoreError, type Claim, type ClaimParams, type Held, type InboxEntry, type ReleaseParams } from "../store.ts";
import { checkInboxSeen, openInbox, readyFrom } from "./inbox.ts";
import { chainAfter } from "./log.ts";
import { restoredFrom } from "./restore.ts";
import { readSnapshot } from "./snapshots.ts";
import { findTask, nowOf, type Lease, type State, type StoredTask } from "./state.ts";

const leaseFrom = (state: State, worker: string, leaseMs: number): Lease => ({
  over: false,
  worker,
  boot: state.clock.boot,
  until: state.clock.monotonic() + leaseMs,
  wallUntil: nowOf(state) + leaseMs,
});

/** How long a lease still runs (ms); 0 or less when it has run out, by as much. */
const leftOf = (state: State, lease: Lease): number =>
  lease.boot === state.clock.boot ? lease.until - state.clock.monotonic() : lease.wallUntil - nowOf(state);

/** The worker whose lease runs. */
export const holderOf = (state: State, task: StoredTask): string | null =>
  task.lease !== null && leftOf(state, task.lease) > 0 ? task.lease.worker : null;

export const heldOf = (task: StoredTask): Held | null => {
  const newest = [...task.holds.values()].at(-1);
  if (newest === undefined) return null;
  const { until: _, ...held } = newest;
  return held;
};

/** The task, held under this fence. Codes: `not_found`, `forgotten`, `not_owner`. */
export const findOwned = (state: State, taskId: string, fence: number): StoredTask & { lease: Lease } => {
  const task = findTask(state, taskId);
  if (task.lease === null || task.fence !== fence) {
    throw new StoreError("not_owner", `fence ${String(fence)} no longer holds task ${taskId}`);
  }
  return task as StoredTask & { lease: Lease };
};

/** Makes the tasks whose lease ran out ready, where they have something to do. Their holders may still come back. */
const endLapsed = (state: State, now: number): void => {
  for (const task of state.tasks.values()) {
    if (task.lease === null || task.lease.over || leftOf(state, task.lease) > 0) continue;
    task.previousEndedAt = now + leftOf(state, task.lease);
    task.lease.over = true;
    task.readyAt = readyFrom(task, now);
  }
};

const mayServe = (state: State, task: StoredTask, { offers, build, queues }: ClaimParams): boolean =>
  (task.readyAt ?? Infinity) <= nowOf(state) &&
  task.columns.requires.every((needed) => offers.includes(needed)) &&
  (queues === undefined || queues.includes(task.columns.queue)) &&
  (task.holds.get(build)?.until ?? -Infinity) <= nowOf(state);

/** The task to claim: the highest priority first, then what has been ready longest. */
const pick = (state: State, params: ClaimParams): StoredTask | undefined =>
  [...state.tasks.values()]
    .filter((task) => (params.taskId === undefined || task.taskId === params.taskId) && mayServe(state, task, params))
    .sort((a, b) => b.columns.priority - a.columns.priority || (a.readyAt ?? 0) - (b.readyAt ?? 0))[0];

const load = (state: State, task: StoredTask, versions: ClaimParams["snapshotVersions"]) => {
  const { taskId, columns, events } = task;
  const version = Object.hasOwn(versions, columns.agent) ? versions[columns.agent] : undefined;
  const snapshot = version === undefined ? null : readSnapshot(state, task, version);
  const entries = events.slice(snapshot?.seq ?? 0).map(({ seq, at, type, content }) => {
    return { seq, at, type, body: openText(state.seal, taskId, content) };
  });
  return { snapshot, entries, inbox: openInbox(state, task) };
};

export const claim = (state: State, params: ClaimParams): Claim | null => {
  const now = nowOf(state);
  endLapsed(state, now);
  const task = pick(state, params);
  if (task === undefined) return null;
  task.lease = leaseFrom(state, params.worker, params.leaseMs);
  task.readyAt = null;
  task.fence += 1;
  task.attempts += 1;
  const { taskId, fence, revision, attempts, previousEndedAt } = task;
  const holds = task.holds.get(params.build)?.count ?? 0;
  return {
    taskId,
    fence,
    epoch: state.epoch,
    restoredFrom: restoredFrom(state, task),
    revision,
    attempts,
    holds,
    previousEndedAt,
    now,
    agent: task.columns.agent,
    secret: task.secret.slice(),
    lastSeq: task.events.length,
    chain: chainAfter(task.events),
    ...load(state, task, params.snapshotVersions),
  };
};

export const readInbox = (state: State, taskId: string, fence: number): InboxEntry[] =>
  openInbox(state, findOwned(state, taskId, fence));

export const renew = (state: State, params: { taskId: string; fence: number; leaseMs: number }): void => {
  const task = findOwned(state, params.taskId, params.fence);
  task.lease = leaseFrom(state, task.lease.worker, params.leaseMs);
  task.readyAt = null;
};

export const release = (state: State, params: ReleaseParams): void => {
  const task: StoredTask = findOwned(state, params.taskId, params.fence);
  const now = nowOf(state);
  if (params.kind === "parked") checkInboxSeen(state, task, params.inboxSeen);
  if (params.kind === "held") {
    const { reason, build, retryAfterMs } = params;
    const count = (task.holds.get(build)?.count ?? 0) + 1;
    task.holds.delete(build);
    task.holds.set(build, { reason, build, at: now, count, until: now + retryAfterMs });
  } else {
    task.holds.clear();
  }
  task.lease = null;
  task.attempts = 0;
  task.previousEndedAt = now;
  task.readyAt = readyFrom(task, now);
};

export const letGo = (state: State, taskId: string): void => findTask(state, taskId).holds.clear();
