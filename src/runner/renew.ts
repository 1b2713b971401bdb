// Keeps a claim while its steps work: a loop of its own, which waits for no step and no tool.
import { StoreError, type Store } from "../store/store.ts";
import type { Lease } from "./lease.ts";
import type { RunnerClock } from "./ports.ts";

/** Renews a third of a lease apart until `done`. Loses the lease when the store says that another holds the task. */
export const keepRenewing = async (
  store: Store,
  clock: RunnerClock,
  claim: { readonly taskId: string; readonly fence: number },
  lease: Lease,
  done: AbortSignal,
): Promise<void> => {
  const signal = AbortSignal.any([done, lease.lost]);
  while (!signal.aborted) {
    try {
      await clock.sleep(lease.leaseMs / 3, signal);
      const asOf = { wall: clock.wall(), monotonic: clock.monotonic() };
      await store.renew({ taskId: claim.taskId, fence: claim.fence, leaseMs: lease.leaseMs });
      lease.confirm(asOf);
    } catch (error) {
      if (signal.aborted) return;
      // What cannot be reached is asked again; a lease that was not confirmed in time starts nothing (see isFresh).
      if (error instanceof StoreError && error.code === "unavailable") continue;
      lease.lose(error instanceof Error ? error.message : String(error));
    }
  }
};
