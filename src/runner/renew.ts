// Keeps a claim while its steps work: a loop of its own, which waits for no step and no tool.
import type { Store } from "../store/store.ts";
import { ClaimLost, type Lease } from "./lease.ts";
import type { RunnerClock } from "./ports.ts";
import { isUnavailable } from "./until-answered.ts";

export interface Renewal {
  readonly store: Pick<Store, "renew">;
  readonly clock: RunnerClock;
  readonly claim: { readonly taskId: string; readonly fence: number };
  readonly lease: Lease;
  /** Told of each renewal that `keepRenewing` made. */
  readonly told?: (answer: "confirmed" | "refused" | "unanswered") => void;
}

const renewOnce = async ({ store, clock, claim, lease }: Renewal): Promise<void> => {
  const asOf = { wall: clock.wall(), monotonic: clock.monotonic() };
  await store.renew({ taskId: claim.taskId, fence: claim.fence, leaseMs: lease.leaseMs });
  lease.confirm(asOf);
};

/**
 * Makes sure, right before something happens outside, that this process still holds its claim: less than half a lease
 * has passed since a renewal was confirmed, the one made here if need be. Throws ClaimLost otherwise.
 */
export const ensureFresh = async (renewal: Renewal): Promise<void> => {
  const { lease, claim } = renewal;
  if (!lease.isFresh()) {
    try {
      await renewOnce(renewal);
    } catch (cause) {
      lease.lose(`the claim could not be renewed: ${String(cause)}`);
    }
  }
  if (lease.isFresh()) return;
  throw new ClaimLost(`task ${claim.taskId}: nothing is started, since the claim could not be confirmed in time`);
};

/** One renewal, given up when it takes too long: the next one asks again. Whether it was confirmed. */
const renewWithin = async (renewal: Renewal, limitMs: number, signal: AbortSignal): Promise<boolean> => {
  const answered = new AbortController();
  const limit = renewal.clock.sleep(limitMs, AbortSignal.any([signal, answered.signal]));
  try {
    return await Promise.race([renewOnce(renewal).then(() => true), limit.then(() => false)]);
  } finally {
    answered.abort(new Error("answered"));
  }
};

/**
 * Renews a third of a lease apart until `done`, and calls `each` after every round. Loses the lease when the store says
 * that another holds the task; doubts it when nothing was confirmed for a whole lease.
 */
export const keepRenewing = async (renewal: Renewal, done: AbortSignal, each: () => void): Promise<void> => {
  const { clock, lease, told } = renewal;
  const signal = AbortSignal.any([done, lease.lost]);
  const everyMs = lease.leaseMs / 3;
  while (!signal.aborted) {
    try {
      await clock.sleep(everyMs, signal);
      const confirmed = await renewWithin(renewal, everyMs, signal);
      told?.(confirmed ? "confirmed" : "unanswered");
    } catch (error) {
      if (signal.aborted) return;
      // What cannot be reached is asked again; a lease that was not confirmed in time starts nothing (see ensureFresh).
      told?.(isUnavailable(error) ? "unanswered" : "refused");
      if (!isUnavailable(error)) lease.lose(error instanceof Error ? error.message : String(error));
    }
    lease.checkAge();
    each();
  }
};
