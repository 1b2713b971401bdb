// A signal that follows others until it is let go. AbortSignal.any would tie it to them for as long as they live, and the
// steps of a claim make thousands of these from the same few.

export interface LinkedSignal {
  /** Aborted with the first of its sources, with that one's reason. */
  readonly signal: AbortSignal;
  /** Aborts it alone. */
  abort(reason: Error): void;
  /** Follows no more. */
  release(): void;
}

export const linkSignals = (...sources: readonly AbortSignal[]): LinkedSignal => {
  const controller = new AbortController();
  const follow = (): void => {
    controller.abort(sources.find((source) => source.aborted)?.reason);
  };
  for (const source of sources) source.addEventListener("abort", follow);
  if (sources.some((source) => source.aborted)) follow();
  return {
    signal: controller.signal,
    abort: (reason) => {
      controller.abort(reason);
    },
    release: () => {
      for (const source of sources) source.removeEventListener("abort", follow);
    },
  };
};
