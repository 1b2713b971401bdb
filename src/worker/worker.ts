// MANY tasks: claims what is ready, runs so many at a time, wakes on hints, stops gracefully. Knows nothing of steps.
import type { PreparedAgent } from "../plugins/plugin.ts";
import type { RunnerPorts } from "../runner/ports.ts";
import { hold } from "../runner/give-up.ts";
import { runTask, type RunEnd } from "../runner/runner.ts";
import { StoreError, type Claim } from "../store/store.ts";
import { keepClosingIdle } from "./close-idle.ts";
import { createRest } from "./rest.ts";
import { countRenewals, createCounts, lagOf, type WorkerStatus } from "./status.ts";

export interface WorkerOptions {
  /** Names this worker in claims. */
  readonly name: string;
  /** How many tasks run at once. */
  readonly concurrency: number;
  /** How often an idle worker looks by itself (ms): the floor under lost hints. */
  readonly pollMs: number;
  /** Only this task. */
  readonly taskId?: string;
  readonly queues?: readonly string[];
  /** The host whose workspaces it reaches. */
  readonly host: string;
  /** After this many claims in a row that no holder gave back, a task is held: it may be what kills its workers. */
  readonly maxAttempts: number;
  /** Closes conversations that have been at rest for so long (ms). Never if absent. */
  readonly closeIdleAfterMs?: number;
  /** Called when a task was claimed. */
  readonly onClaim?: (claim: Claim) => void;
  /** Called when a run of a task came to its end. */
  readonly onRunEnd?: (taskId: string, end: RunEnd) => void;
}

/** Claims asked for at once, at the most. */
const MOST_TOGETHER = 16;
/** Tasks that are told apart among those that may be ready. */
const MOST_NEWS = 64;

export const defaultWorkerOptions = { concurrency: 4, pollMs: 1_000, maxAttempts: 5 } as const;

export interface Worker {
  /** Tasks that run now. */
  readonly running: ReadonlySet<string>;
  /** Resolves once it has stopped; rejects when it cannot go on, which no store's refusal makes it. */
  readonly done: Promise<void>;
  /** What it does, and how far it lags behind. */
  status(): Promise<WorkerStatus>;
  /** Claims no more, lets each running task finish its step and release. Resolves when none is left. Repeatable. */
  stop(): Promise<void>;
  /** Resolves once the worker has looked and found nothing to do, and nothing runs. */
  idle(): Promise<void>;
}

/** What a worker with these agents on this host can serve, sorted; see ClaimParams. */
export const offersOf = (agents: ReadonlyMap<string, PreparedAgent>, host: string): string[] => {
  const offers = new Set<string>([`host:${host}`]);
  for (const [name, prepared] of agents) {
    offers.add(`agent:${name}`);
    for (const pin of prepared.pins) offers.add(`plugin:${pin.name}`);
  }
  return [...offers].sort();
};

const versionsOf = (ports: RunnerPorts): Record<string, string> =>
  Object.fromEntries(
    [...ports.agents.keys()].flatMap((name) => {
      const version = ports.snapshotVersion(name);
      return version === null ? [] : [[name, version] as const];
    }),
  );

const notGivenBack = (claims: number): string =>
  claims === 1 ? "its last holder did not give it back" : `its last ${String(claims)} holders did not give it back`;

/** Claims tasks and runs them, up to `concurrency` at a time. */
class Pool {
  readonly stopping = new AbortController();
  /** Nothing runs, and nothing will. */
  over = false;
  readonly #ports: RunnerPorts;
  readonly #options: WorkerOptions;
  readonly #awaken: () => void;
  /** What was told of and not looked into: tasks that may be ready; null: any may. */
  #news = new Set<string | null>([null]);
  /** A task may be here twice: a run that lost its claim takes a moment to see it. */
  readonly #runs = new Map<Claim, Promise<void>>();
  readonly #counts = createCounts();
  /** Claims in a row that found a task's log damaged. */
  readonly #damaged = new Map<string, number>();
  /** By priority, the principal served last. */
  readonly #served: Record<number, string> = {};
  readonly #offers: readonly string[];
  readonly #snapshotVersions: Readonly<Record<string, string>>;

  constructor(ports: RunnerPorts, options: WorkerOptions, awaken: () => void) {
    this.#ports = { ...ports, watcher: countRenewals(ports.watcher, this.#counts) };
    this.#options = options;
    this.#awaken = awaken;
    this.#offers = offersOf(ports.agents, options.host);
    this.#snapshotVersions = versionsOf(ports);
  }

  get running(): ReadonlySet<string> {
    return new Set(this.#runs.keys().map(({ taskId }) => taskId));
  }

  async status(): Promise<WorkerStatus> {
    const state = this.over ? "stopped" : this.stopping.signal.aborted ? "stopping" : "working";
    const { name, concurrency, queues } = this.#options;
    const { build, slots } = this.#ports;
    const { waitingTasks, ...modelCalls } = slots.load();
    const running = [...this.#runs.keys()].map(({ taskId, agent, fence, attempts, now: since }) => {
      return { taskId, agent, fence, attempts, since, waitsForSlot: waitingTasks.includes(taskId) };
    });
    const serving = { offers: this.#offers, build, ...(queues === undefined ? {} : { queues }) };
    const metrics = { ...this.#counts, ends: { ...this.#counts.ends } };
    const lagMs = await lagOf(this.#ports, serving);
    return { name, state, concurrency, running, metrics, modelCalls, lagMs };
  }

  claimFailed(): void {
    this.#counts.claimsFailed += 1;
  }

  /** Something may be ready: a task, or (null) any. What a task that runs here does is no news. */
  tell(taskId: string | null): void {
    const only = this.#options.taskId ?? taskId;
    if (taskId !== null && (taskId !== only || this.#runs.keys().some((run) => run.taskId === taskId))) return;
    if (taskId === null || this.#news.size >= MOST_NEWS) this.#news = new Set([null]);
    else if (!this.#news.has(null)) this.#news.add(taskId);
    this.#awaken();
  }

  /**
   * Claims until there is no room, nothing to claim, or nothing more that was told of: one, and then twice as many at once as
   * long as all of them find something. A store across a network may take them together.
   */
  async fill(): Promise<void> {
    for (let together = 1; this.#news.size > 0; together = Math.min(2 * together, MOST_TOGETHER)) {
      const room = this.#options.concurrency - this.#runs.size;
      if (room <= 0 || this.stopping.signal.aborted) return;
      const heard = this.#news;
      this.#news = new Set();
      const asked = await Promise.allSettled(Array.from({ length: Math.min(together, room) }, () => this.#claimOne()));
      const claims = asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
      for (const claim of claims) if (claim !== null) this.#served[claim.served.priority] = claim.served.principal;
      const found = new Set(claims.map((claim) => claim?.taskId));
      if (!claims.includes(null)) this.#news = this.#news.union(heard).difference(found);
      for (const answer of asked) if (answer.status === "rejected") throw answer.reason;
    }
  }

  async finished(): Promise<void> {
    await Promise.all(this.#runs.values());
  }

  async #claimOne(): Promise<Claim | null> {
    const { clock, limits, build, store, watcher } = this.#ports;
    const { name, taskId: only, queues } = this.#options;
    const claimedAt = { wall: clock.wall(), monotonic: clock.monotonic() };
    const claim = await store.claim({
      worker: name,
      leaseMs: limits.leaseMs,
      offers: this.#offers,
      snapshotVersions: this.#snapshotVersions,
      build,
      served: this.#served,
      ...(only === undefined ? {} : { taskId: only }),
      ...(queues === undefined ? {} : { queues }),
    });
    if (claim === null) return null;
    this.#counts.claims += 1;
    this.#options.onClaim?.(claim);
    const run = this.#run(claim, claimedAt)
      .catch((error: unknown) => {
        watcher.note?.(claim.taskId, `given up: ${String(error)}`);
      })
      .then((end) => {
        this.#runs.delete(claim);
        // What came for it while it ran here was its own to see; what came since it looked last is not.
        if (end !== "ended") this.tell(claim.taskId);
        this.#awaken();
      });
    this.#runs.set(claim, run);
    return claim;
  }

  async #run(claim: Claim, claimedAt: { wall: number; monotonic: number }): Promise<RunEnd> {
    const { taskId } = claim;
    const damagedBefore = this.#damaged.get(taskId) ?? 0;
    const stop = this.stopping.signal;
    const end = this.#killsItsWorkers(claim)
      ? await hold(this.#ports, claim, notGivenBack(claim.attempts - 1))
      : await runTask(this.#ports, claim, { stop, claimedAt, damagedBefore });
    if (end === "damaged") this.#damaged.set(taskId, damagedBefore + 1);
    else this.#damaged.delete(taskId);
    this.#counts.ends[end] += 1;
    this.#options.onRunEnd?.(taskId, end);
    return end;
  }

  /** Nobody gave it back so many times in a row. One that was held before gets a single try at a time. */
  #killsItsWorkers({ attempts, holds }: Claim): boolean {
    return attempts > (holds > 0 ? 1 : this.#options.maxAttempts);
  }
}

/** Resolves once the loop, and what goes on beside it, are over. A failure reaches whoever waits for the worker's end. */
const lasting = (loop: Promise<void>, ports: RunnerPorts, options: WorkerOptions, stop: AbortSignal): Promise<void> => {
  const { closeIdleAfterMs } = options;
  const beside = closeIdleAfterMs === undefined ? [] : [keepClosingIdle(ports, closeIdleAfterMs, stop)];
  const all = Promise.all([loop, ...beside]).then(() => undefined);
  all.catch(() => undefined);
  return all;
};

/** Begins to claim and run tasks at once. */
export const startWorker = (ports: RunnerPorts, options: WorkerOptions): Worker => {
  let wake = Promise.withResolvers<void>();
  let waiting: (() => void)[] = [];
  const awaken = (): void => {
    wake.resolve();
  };
  const pool = new Pool(ports, options, awaken);
  const stopping = pool.stopping.signal;

  /** Looks once. Who waited for idleness before this look began is told when it found nothing and nothing runs. */
  const look = async (): Promise<void> => {
    const asked = waiting;
    waiting = [];
    try {
      await pool.fill();
      if (pool.running.size === 0) for (const tell of asked.splice(0)) tell();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      pool.claimFailed();
      ports.watcher.note?.("", `cannot claim: ${error.message}`);
    } finally {
      waiting.push(...asked);
    }
  };

  const loop = async (): Promise<void> => {
    const unsubscribe = ports.store.subscribe((taskId, only) => {
      if (only !== "log") pool.tell(taskId);
    });
    const rest = createRest(ports.clock, options.pollMs, stopping);
    try {
      while (!stopping.aborted) {
        wake = Promise.withResolvers();
        await look();
        if (await rest(wake.promise)) pool.tell(null);
      }
      await pool.finished();
    } finally {
      pool.over = true;
      unsubscribe();
      for (const tell of waiting) tell();
    }
  };

  const looping = lasting(loop(), ports, options, stopping);
  return {
    done: looping,
    status: () => pool.status(),
    get running() {
      return pool.running;
    },
    stop: async () => {
      pool.stopping.abort(new Error("stopping"));
      await looping;
    },
    idle: async () => {
      if (stopping.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      pool.tell(null);
      await promise;
    },
  };
};
