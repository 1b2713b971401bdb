// How sure this process may be that it still holds its claim. Renewals are confirmed elsewhere, by a timer of their own.
import type { RunnerClock } from "./ports.ts";

/** This process may have lost its claim, or has: it stops without a word to the log. */
export class ClaimLost extends Error {
  override readonly name = "ClaimLost";
}

export interface Lease {
  readonly leaseMs: number;
  /** Call with the times read before the renewal was sent. */
  confirm(asOf: { readonly wall: number; readonly monotonic: number }): void;
  /** Less than half a lease has passed since the last confirmed renewal, by both clocks. */
  isFresh(): boolean;
  /** Aborted once the claim is known to be lost. */
  readonly lost: AbortSignal;
  lose(reason: string): void;
}

export const createLease = (clock: Pick<RunnerClock, "wall" | "monotonic">, leaseMs: number): Lease => {
  let last = { wall: clock.wall(), monotonic: clock.monotonic() };
  const controller = new AbortController();
  return {
    leaseMs,
    confirm: (asOf) => {
      last = asOf;
    },
    isFresh: () => {
      const wall = Math.abs(clock.wall() - last.wall);
      const monotonic = clock.monotonic() - last.monotonic;
      return !controller.signal.aborted && Math.max(wall, monotonic) < leaseMs / 2;
    },
    lost: controller.signal,
    lose: (reason) => {
      controller.abort(new ClaimLost(reason));
    },
  };
};
