// Keeps a claim while its steps work: a loop of its own, which waits for no step and no tool.
import { StoreError, type Store } from "../store/store.ts";
import { ClaimLost, type Lease } from "./lease.ts";
import type { RunnerClock } from "./ports.ts";

interface Renewal {
  readonly store: Pick<Store, "renew">;
  readonly clock: RunnerClock;
  readonly claim: { readonly taskId: string; readonly fence: number };
  readonly lease: Lease;
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

/** Renews a third of a lease apart until `done`. Loses the lease when the store says that another holds the task. */
export const keepRenewing = async (renewal: Renewal, done: AbortSignal): Promise<void> => {
  const { clock, lease } = renewal;
  const signal = AbortSignal.any([done, lease.lost]);
  while (!signal.aborted) {
    try {
      await clock.sleep(lease.leaseMs / 3, signal);
      await renewOnce(renewal);
    } catch (error) {
      if (signal.aborted) return;
      // What cannot be reached is asked again; a lease that was not confirmed in time starts nothing (see ensureFresh).
      if (error instanceof StoreError && error.code === "unavailable") continue;
      lease.lose(error instanceof Error ? error.message : String(error));
    }
  }
};
