// What a worker does, in figures: for a supervisor that looks now and then, and for counters that only grow.
import type { RunnerPorts, SlotLoad, Watcher } from "../runner/ports.ts";
import type { RunEnd } from "../runner/runner.ts";
import type { Claim, Serving } from "../store/store.ts";

/** Counted since the worker began. */
export interface WorkerMetrics {
  readonly claims: number;
  /** Claims that the store could not answer. */
  readonly claimsFailed: number;
  /** Runs that came to an end, by how. A `parked` one waits for something or somebody. */
  readonly ends: Readonly<Record<RunEnd, number>>;
  readonly renewals: number;
  /** Renewals that the store refused: another holds the task. */
  readonly renewalsLost: number;
  /** Renewals that the store did not answer in time; the next one asks again. */
  readonly renewalsUnanswered: number;
}

/** A task that runs now. `since`: the store's clock (ms) at the claim. */
export type RunningTask = Pick<Claim, "taskId" | "agent" | "fence" | "attempts"> & {
  readonly since: number;
  /** It has nothing to do until a slot for a model call comes free. */
  readonly waitsForSlot: boolean;
};

export interface WorkerStatus {
  readonly name: string;
  readonly state: "working" | "stopping" | "stopped";
  readonly concurrency: number;
  readonly running: readonly RunningTask[];
  readonly metrics: WorkerMetrics;
  readonly modelCalls: Omit<SlotLoad, "waitingTasks">;
  /** For how long the task has been ready that has been so longest, of those that this worker may claim (ms); 0 when there is
   * none, null when the store cannot be asked. It grows while this worker is full, or too slow. */
  readonly lagMs: number | null;
}

type Counts = { -readonly [Name in keyof WorkerMetrics]: WorkerMetrics[Name] } & { ends: Record<RunEnd, number> };

export const createCounts = (): Counts => ({
  claims: 0,
  claimsFailed: 0,
  ends: { parked: 0, ended: 0, stopped: 0, held: 0, damaged: 0, newer: 0, lost: 0 },
  renewals: 0,
  renewalsLost: 0,
  renewalsUnanswered: 0,
});

/** `watcher`, with its renewals counted. */
export const countRenewals = (watcher: Watcher, counts: Counts): Watcher => ({
  ...watcher,
  renewal: (taskId, answer) => {
    if (answer === "confirmed") counts.renewals += 1;
    else if (answer === "refused") counts.renewalsLost += 1;
    else counts.renewalsUnanswered += 1;
    watcher.renewal?.(taskId, answer);
  },
});

export const lagOf = async ({ store }: Pick<RunnerPorts, "store">, serving: Serving): Promise<number | null> => {
  try {
    const since = await store.readySince(serving);
    return since === null ? 0 : Math.max(0, (await store.now()) - since);
  } catch {
    return null;
  }
};
