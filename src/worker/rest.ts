// How a worker rests between two looks.
import type { RunnerClock } from "../runner/ports.ts";

/**
 * Rests until something wakes it, a poll is due, or `stopping` is aborted. Gives whether a poll is due: they come so far apart,
 * however often it is woken in between, since what is ready without a hint is in no hint.
 */
export const createRest = (
  clock: RunnerClock,
  pollMs: number,
  stopping: AbortSignal,
): ((wake: Promise<void>) => Promise<boolean>) => {
  let pollAt = clock.monotonic() + pollMs;
  return async (wake) => {
    const awake = new AbortController();
    const left = Math.max(0, pollAt - clock.monotonic());
    const passed = clock.sleep(left, AbortSignal.any([awake.signal, stopping])).catch(() => undefined);
    await Promise.race([wake, passed]);
    awake.abort(new Error("awake"));
    if (clock.monotonic() < pollAt) return false;
    pollAt = clock.monotonic() + pollMs;
    return true;
  };
};
