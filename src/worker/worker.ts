// MANY tasks: claims what is ready, runs so many at a time, wakes on hints, stops gracefully. Knows nothing of steps.
import type { PreparedAgent } from "../plugins/plugin.ts";
import type { RunnerPorts } from "../runner/ports.ts";
import { runTask, type RunEnd } from "../runner/runner.ts";
import { StoreError, type Claim } from "../store/store.ts";

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
  /** Called when a run of a task came to its end. */
  readonly onRunEnd?: (taskId: string, end: RunEnd) => void;
}

export const defaultWorkerOptions = { concurrency: 4, pollMs: 1_000, maxAttempts: 5 } as const;

export interface Worker {
  /** Tasks that run now. */
  readonly running: ReadonlySet<string>;
  /** Claims no more, lets each running task finish its step and release. Resolves when none is left. Repeatable. */
  stop(): Promise<void>;
  /** Resolves once the worker has looked and found nothing to do, and nothing runs. */
  idle(): Promise<void>;
}

const offersOf = (agents: ReadonlyMap<string, PreparedAgent>, host: string): string[] => {
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

/** Claims tasks and runs them, up to `concurrency` at a time. */
class Pool {
  readonly running = new Map<string, Promise<void>>();
  readonly stopping = new AbortController();
  readonly #ports: RunnerPorts;
  readonly #options: WorkerOptions;
  readonly #onFree: () => void;
  readonly #damaged = new Map<string, number>();
  readonly #offers: readonly string[];
  readonly #snapshotVersions: Readonly<Record<string, string>>;

  constructor(ports: RunnerPorts, options: WorkerOptions, onFree: () => void) {
    this.#ports = ports;
    this.#options = options;
    this.#onFree = onFree;
    this.#offers = offersOf(ports.agents, options.host);
    this.#snapshotVersions = versionsOf(ports);
  }

  /** Claims until there is no room or nothing to claim. */
  async fill(): Promise<void> {
    while (this.running.size < this.#options.concurrency && !this.stopping.signal.aborted) {
      if (!(await this.#claimOne())) return;
    }
  }

  async #claimOne(): Promise<boolean> {
    const { clock, limits, build, store, watcher } = this.#ports;
    const { name, taskId: only, queues } = this.#options;
    const claimedAt = { wall: clock.wall(), monotonic: clock.monotonic() };
    const claim = await store.claim({
      worker: name,
      leaseMs: limits.leaseMs,
      offers: this.#offers,
      snapshotVersions: this.#snapshotVersions,
      build,
      ...(only === undefined ? {} : { taskId: only }),
      ...(queues === undefined ? {} : { queues }),
    });
    if (claim === null) return false;
    const { taskId } = claim;
    const run = this.#run(claim, claimedAt)
      .catch((error: unknown) => {
        watcher.note?.(taskId, `given up: ${String(error)}`);
      })
      .finally(() => {
        this.running.delete(taskId);
        this.#onFree();
      });
    this.running.set(taskId, run);
    return true;
  }

  async #run(claim: Claim, claimedAt: { wall: number; monotonic: number }): Promise<void> {
    const { taskId } = claim;
    const damagedBefore = this.#damaged.get(taskId) ?? 0;
    const tooOften = claim.attempts > this.#options.maxAttempts;
    const end = tooOften
      ? await this.#hold(claim)
      : await runTask(this.#ports, claim, { stop: this.stopping.signal, claimedAt, damagedBefore });
    if (end === "held") this.#damaged.set(taskId, damagedBefore + 1);
    else this.#damaged.delete(taskId);
    this.#options.onRunEnd?.(taskId, end);
  }

  /** A task that nobody gave back so many times in a row may be what kills its workers. */
  async #hold({ taskId, fence, attempts }: Claim): Promise<RunEnd> {
    const reason = `claimed ${String(attempts - 1)} times in a row without being given back`;
    const retryAfterMs = Math.min(300_000, 1_000 * 2 ** Math.min(attempts - this.#options.maxAttempts, 9));
    this.#ports.watcher.note?.(taskId, `held: ${reason}`);
    await this.#ports.store.release({ taskId, fence, kind: "held", reason, build: this.#ports.build, retryAfterMs });
    return "held";
  }
}

/** Begins to claim and run tasks at once. */
export const startWorker = (ports: RunnerPorts, options: WorkerOptions): Worker => {
  let wake = Promise.withResolvers<void>();
  let quiet = Promise.withResolvers<void>();
  const awaken = (): void => {
    wake.resolve();
  };
  const pool = new Pool(ports, options, awaken);
  const stopping = pool.stopping.signal;

  const waitForWake = async (): Promise<void> => {
    const nap = new AbortController();
    const poll = ports.clock.sleep(options.pollMs, AbortSignal.any([nap.signal, stopping])).catch(() => undefined);
    await Promise.race([wake.promise, poll]);
    nap.abort(new Error("awake"));
  };

  const loop = async (): Promise<void> => {
    const unsubscribe = ports.store.subscribe(awaken);
    try {
      while (!stopping.aborted) {
        wake = Promise.withResolvers();
        try {
          await pool.fill();
        } catch (error) {
          if (!(error instanceof StoreError)) throw error;
          ports.watcher.note?.("", `cannot claim: ${error.message}`);
        }
        if (pool.running.size === 0) quiet.resolve();
        await waitForWake();
      }
      await Promise.all(pool.running.values());
    } finally {
      unsubscribe();
      quiet.resolve();
    }
  };

  const looping = loop();
  // A failure of the loop itself reaches whoever stops the worker.
  looping.catch(() => undefined);
  return {
    get running() {
      return new Set(pool.running.keys());
    },
    stop: async () => {
      pool.stopping.abort(new Error("stopping"));
      await looping;
    },
    idle: async () => {
      if (stopping.aborted) return;
      quiet = Promise.withResolvers();
      wake.resolve();
      await quiet.promise;
    },
  };
};
