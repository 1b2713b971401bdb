// Patience with a store that cannot be reached: what is safe to do twice is done again until it is answered.
import { StoreError } from "../store/store.ts";
import type { RunnerPorts } from "./ports.ts";

export const isUnavailable = (error: unknown): boolean => error instanceof StoreError && error.code === "unavailable";

/**
 * Does `work` again while the store says `unavailable`, for up to `storeRetryMs`; then throws what it said last. `work`
 * must be safe to repeat. Rejects with the signal's reason when `lost` is aborted meanwhile.
 */
export const untilAnswered = async <T>(
  { clock, limits, random }: Pick<RunnerPorts, "clock" | "limits" | "random">,
  lost: AbortSignal,
  work: () => Promise<T>,
): Promise<T> => {
  const until = clock.monotonic() + limits.storeRetryMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || clock.monotonic() > until) throw error;
    }
    await clock.sleep(Math.min(1_000, 20 * 2 ** tries) * (0.5 + random.fraction() / 2), lost);
  }
};
