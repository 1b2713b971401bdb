// Claims: who may append to a task, for how long, and which task is next.
import { openText } from "../seal.ts";
import { byCodePoint } from "../code-points.ts";
import {
  StoreError,
  type Claim,
  type ClaimParams,
  type Held,
  type InboxEntry,
  type ReleaseParams,
  type Serving,
  type Store,
} from "../store.ts";
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
  const newest = [...task.holds.values()].findLast(({ count }) => count > 0);
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

const mayServe = (state: State, task: StoredTask, { offers, build, queues }: Serving): boolean =>
  (task.readyAt ?? Infinity) <= nowOf(state) &&
  task.columns.requires.every((needed) => offers.includes(needed)) &&
  (queues === undefined || queues.includes(task.columns.queue)) &&
  (task.holds.get(build)?.until ?? -Infinity) <= nowOf(state);

/** How many tasks of each principal are under a lease. */
const leasedOf = (state: State): Map<string, number> => {
  const leased = new Map<string, number>();
  for (const { lease, columns } of state.tasks.values()) {
    if (lease?.over === false) leased.set(columns.owner, (leased.get(columns.owner) ?? 0) + 1);
  }
  return leased;
};

/** The task to claim: by priority, by whose principal is to be served next, and by how long it has been ready. */
const pick = (state: State, params: ClaimParams): StoredTask | undefined => {
  const { taskId, served } = params;
  const leased = leasedOf(state);
  const isPast = ({ columns: { priority, owner } }: StoredTask): boolean => {
    const last = served?.[priority];
    return last !== undefined && byCodePoint(owner, last) <= 0;
  };
  return [...state.tasks.values()]
    .filter((task) => (taskId === undefined || task.taskId === taskId) && mayServe(state, task, params))
    .sort(
      (a, b) =>
        b.columns.priority - a.columns.priority ||
        (leased.get(a.columns.owner) ?? 0) - (leased.get(b.columns.owner) ?? 0) ||
        Number(isPast(a)) - Number(isPast(b)) ||
        byCodePoint(a.columns.owner, b.columns.owner) ||
        (a.readyAt ?? 0) - (b.readyAt ?? 0),
    )[0];
};

export const readySince = (state: State, params: Serving): number | null => {
  const since = [...state.tasks.values()]
    .filter((task) => mayServe(state, task, params))
    .map(({ readyAt }) => readyAt ?? Infinity);
  return since.length === 0 ? null : Math.min(...since);
};

const load = (state: State, task: StoredTask, versions: ClaimParams["snapshotVersions"]) => {
  const { taskId, columns, events } = task;
  const version = Object.hasOwn(versions, columns.agent) ? versions[columns.agent] : undefined;
  const snapshot = version === undefined ? null : readSnapshot(state, task, version);
  const entries = events.slice(snapshot?.seq ?? 0).map(({ seq, at, type, content }) => {
    return { seq, at, type, body: openText(state.seal, taskId, content) };
  });
  const inbox = openInbox(state, task);
  return { snapshot, entries, inbox, inboxSeq: task.inboxSeq };
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
    served: { priority: task.columns.priority, principal: task.columns.owner },
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

/** A back-off without a hold has the count 0. */
export const letLapse = (state: State, params: Parameters<Store["letLapse"]>[0]): void => {
  const { taskId, fence, attempts, build, backOffMs } = params;
  const task = findOwned(state, taskId, fence);
  const now = nowOf(state);
  task.attempts = attempts - 1;
  const held = task.holds.get(build) ?? { reason: "", build, at: now, count: 0 };
  task.holds.set(build, { ...held, until: now + backOffMs });
};

export const letGo = (state: State, taskId: string): void => findTask(state, taskId).holds.clear();
