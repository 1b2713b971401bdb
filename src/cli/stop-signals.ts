// Ctrl-C and the like while a task is worked: the first asks for a graceful stop, the second leaves at once.
import { constants } from "node:os";

export type StopSignal = "SIGINT" | "SIGTERM";

export interface StopSignals extends Disposable {
  /** Aborted by the first signal. */
  readonly asked: AbortSignal;
  /** The first signal; null while there was none. */
  readonly first: StopSignal | null;
}

/** As a shell reports a process that a signal ended. */
export const exitCodeOf = (signal: StopSignal): number => 128 + constants.signals[signal];

/** Listens until disposed. */
export const listenForStop = (onFirst: (signal: StopSignal) => void): StopSignals => {
  const controller = new AbortController();
  let first: StopSignal | null = null;
  const listen = (signal: StopSignal): void => {
    if (first !== null) process.exit(exitCodeOf(signal));
    first = signal;
    onFirst(signal);
    controller.abort(new Error(signal));
  };
  process.on("SIGINT", listen);
  process.on("SIGTERM", listen);
  return {
    asked: controller.signal,
    get first() {
      return first;
    },
    [Symbol.dispose]: () => {
      process.off("SIGINT", listen);
      process.off("SIGTERM", listen);
    },
  };
};
