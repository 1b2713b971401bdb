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
  /** Aborted when a whole lease has passed without a confirmed renewal (see `checkAge`): another may hold the task by now,
   * so what acts outside must stop. A new signal after the next confirmed renewal. */
  readonly doubted: AbortSignal;
  /** To be called now and then: doubts a lease that was not confirmed for as long as it lasts. */
  checkAge(): void;
  lose(reason: string): void;
}

/** `asOf`: both clocks as read before the claim was asked for. */
export const createLease = (
  clock: Pick<RunnerClock, "wall" | "monotonic">,
  leaseMs: number,
  asOf: { readonly wall: number; readonly monotonic: number },
): Lease => {
  let last = asOf;
  const controller = new AbortController();
  let doubt = new AbortController();
  return {
    leaseMs,
    confirm: (renewedAt) => {
      // Answers may overtake one another.
      if (renewedAt.monotonic < last.monotonic) return;
      last = renewedAt;
      if (doubt.signal.aborted) doubt = new AbortController();
    },
    isFresh: () => {
      const wall = Math.abs(clock.wall() - last.wall);
      const monotonic = clock.monotonic() - last.monotonic;
      return !controller.signal.aborted && Math.max(wall, monotonic) < leaseMs / 2;
    },
    lost: controller.signal,
    get doubted() {
      return doubt.signal;
    },
    checkAge: () => {
      if (clock.monotonic() - last.monotonic >= leaseMs) doubt.abort(new ClaimLost("the claim was not confirmed"));
    },
    lose: (reason) => {
      controller.abort(new ClaimLost(reason));
    },
  };
};
