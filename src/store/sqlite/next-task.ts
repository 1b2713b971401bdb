// Which task a claim takes: the highest priority, then the principal that is to be served next, then the longest ready.
// Index look-ups alone, and no more of them than it says here: parked tasks, and tasks of others, cost nothing.
import { byCodePoint } from "../code-points.ts";
import type { ClaimParams, Serving } from "../store.ts";
import type { Connection } from "./connection.ts";
import { isHeld } from "./holds.ts";
import { serves } from "./lanes.ts";
import { findTask } from "./tasks.ts";

/** With fewer ready tasks of one lane and priority, all of them are looked at. */
const FEW = 16;
/** With more, so many principals at the most. */
const PRINCIPALS = 64;

/** A task that may be claimed, and what the claim tells of it (see Claim.served). */
export interface Candidate {
  readonly task: number;
  readonly priority: number;
  readonly principal: string;
}

interface Ready {
  readonly task: number;
  readonly owner: string;
  readonly readyAt: number;
}

interface Found extends Ready, Candidate {}

const IS_READY = "readyAt IS NOT NULL AND lane = :lane";
const BY_AGE = `FROM tasks INDEXED BY tasksReady WHERE ${IS_READY}`;
const BY_OWNER = `FROM tasks INDEXED BY tasksReadyByOwner WHERE ${IS_READY} AND priority = :priority`;
const IS_DUE = `readyAt <= :now
  AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.task = tasks.task AND build = :build AND until > :now)`;

/** Oldest first. */
export const READY_BY_AGE = `SELECT task, owner, readyAt ${BY_AGE} AND priority = :priority AND ${IS_DUE}
  ORDER BY readyAt, owner, task LIMIT :limit`;
/** The first principal after `after` that has a task which is ready, or has a time to be. */
export const NEXT_OWNER = `SELECT owner ${BY_OWNER} AND owner > :after ORDER BY owner LIMIT 1`;
export const READY_OF_OWNER = `SELECT task, owner, readyAt ${BY_OWNER} AND owner = :owner AND ${IS_DUE}
  ORDER BY readyAt, task LIMIT 1`;
export const LEASED = `SELECT owner, count(*) AS n FROM tasks INDEXED BY tasksLeased WHERE leaseUntil IS NOT NULL
  GROUP BY owner`;

/** The lanes that a worker serves, of those in which some task is ready or has a time to be. */
function* servedLanes(connection: Connection, params: Serving): Generator<number> {
  const next =
    "SELECT lane FROM tasks INDEXED BY tasksReady WHERE readyAt IS NOT NULL AND lane > ? ORDER BY lane LIMIT 1";
  for (let lane = -1; ;) {
    const found = connection.get<{ lane: number }>(next, lane);
    if (found === undefined) return;
    ({ lane } = found);
    if (serves(connection, lane, params)) yield lane;
  }
}

/** The priorities of a lane's tasks, highest first. */
function* priorities(connection: Connection, lane: number): Generator<number> {
  const next = `SELECT priority ${BY_AGE} AND priority < :below ORDER BY priority DESC LIMIT 1`;
  for (let below = Infinity; ;) {
    const found = connection.get<{ priority: number }>(next, { lane, below });
    if (found === undefined) return;
    below = found.priority;
    yield below;
  }
}

/** One claim's look. */
class Look {
  readonly #connection: Connection;
  readonly #params: ClaimParams;
  readonly #now: number;
  #leased: ReadonlyMap<string, number> | undefined;

  constructor(connection: Connection, params: ClaimParams, now: number) {
    this.#connection = connection;
    this.#params = params;
    this.#now = now;
  }

  next(): Candidate | undefined {
    let first: Found | undefined;
    for (const lane of servedLanes(this.#connection, this.#params)) {
      const found = this.#nextOf(lane, first?.priority ?? -Infinity);
      if (found !== undefined && (first === undefined || this.#isBefore(found, first))) first = found;
    }
    return first;
  }

  /** The task of a lane to claim first: of the highest priority that has one due, and not below `least`. */
  #nextOf(lane: number, least: number): Found | undefined {
    for (const priority of priorities(this.#connection, lane)) {
      if (priority < least) return undefined;
      const oldest = this.#connection.all<Ready>(READY_BY_AGE, { ...this.#due(lane, priority), limit: FEW });
      const [first, ...rest] = oldest.map((ready): Found => ({ ...ready, priority, principal: ready.owner }));
      if (first === undefined) continue;
      if (oldest.length === FEW) return this.#walk(lane, first);
      return rest.reduce((best, each) => (this.#isBefore(each, best) ? each : best), first);
    }
    return undefined;
  }

  /** From principal to principal, beginning after the one served last, to the first that has nothing under a lease. */
  #walk(lane: number, oldest: Found): Found {
    const { priority } = oldest;
    const last = this.#last(priority);
    let [best, after, around]: [Found | undefined, string, boolean] = [undefined, last ?? "", last === undefined];
    for (let seen = 0; seen < PRINCIPALS; seen += 1) {
      let owner = this.#ownerAfter(lane, priority, after);
      if (owner === undefined && !around) {
        around = true;
        owner = this.#ownerAfter(lane, priority, "");
      }
      if (owner === undefined || (around && last !== undefined && byCodePoint(owner, last) > 0)) break;
      after = owner;
      const ready = this.#connection.get<Ready>(READY_OF_OWNER, { ...this.#due(lane, priority), owner });
      if (ready === undefined) continue;
      const found = { ...ready, priority, principal: owner };
      if (this.#leasedOf(owner) === 0) return found;
      if (best === undefined || this.#isBefore(found, best)) best = found;
    }
    // Where the principals that come next only have timers that are not due, the next claim goes on behind them.
    return best ?? { ...oldest, principal: after };
  }

  #ownerAfter(lane: number, priority: number, after: string): string | undefined {
    return this.#connection.get<{ owner: string }>(NEXT_OWNER, { lane, priority, after })?.owner;
  }

  #isBefore(a: Found, b: Found): boolean {
    if (a.priority !== b.priority) return a.priority > b.priority;
    if (a.owner === b.owner) return a.readyAt < b.readyAt;
    const more = this.#leasedOf(a.owner) - this.#leasedOf(b.owner);
    if (more !== 0) return more < 0;
    const last = this.#last(a.priority);
    const isPast = ({ owner }: Found): boolean => last !== undefined && byCodePoint(owner, last) <= 0;
    return isPast(a) === isPast(b) ? byCodePoint(a.owner, b.owner) < 0 : isPast(b);
  }

  #last(priority: number): string | undefined {
    return this.#params.served?.[priority];
  }

  #leasedOf(owner: string): number {
    this.#leased ??= new Map(
      this.#connection.all<{ owner: string; n: number }>(LEASED).map((each) => [each.owner, each.n]),
    );
    return this.#leased.get(owner) ?? 0;
  }

  #due(lane: number, priority: number) {
    return { lane, priority, now: this.#now, build: this.#params.build };
  }
}

/** The named task, if it is ready, can be served here, and this build did not set it aside. */
const namedTask = (
  connection: Connection,
  params: ClaimParams & { taskId: string },
  now: number,
): Candidate | undefined => {
  const row = findTask(connection, params.taskId);
  if (row === undefined || row.readyAt === null || row.readyAt > now) return undefined;
  if (!serves(connection, row.lane, params) || isHeld(connection, row.task, params.build, now)) return undefined;
  return { task: row.task, priority: row.priority, principal: row.owner };
};

export const nextTask = (connection: Connection, params: ClaimParams, now: number): Candidate | undefined => {
  const { taskId } = params;
  return taskId === undefined
    ? new Look(connection, params, now).next()
    : namedTask(connection, { ...params, taskId }, now);
};

/** See `Store.readySince`. */
export const readySince = (connection: Connection, params: Serving, now: number): number | null => {
  let since: number | null = null;
  for (const lane of servedLanes(connection, params)) {
    for (const priority of priorities(connection, lane)) {
      const due = { lane, priority, now, build: params.build };
      const oldest = connection.get<Ready>(READY_BY_AGE, { ...due, limit: 1 });
      if (oldest !== undefined) since = Math.min(since ?? Infinity, oldest.readyAt);
    }
  }
  return since;
};
