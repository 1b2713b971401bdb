// Figures of repeated measurements: the machine is shared and noisy, so a median and its spread, never one run.

export interface Figure {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The value that `share` (0 to 1) of the values do not exceed. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new Error("no values were measured");
  return found;
};

export const median = (values: readonly number[]): number => {
  const half = values.length / 2;
  const sorted = values.toSorted((a, b) => a - b);
  const [below, above] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  if (below === undefined || above === undefined) throw new Error("no values were measured");
  return (below + above) / 2;
};

export const figureOf = (values: readonly number[]): Figure => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
});

/** Value by value: what was measured next to each other is compared with each other. */
export const ratios = (values: readonly number[], floors: readonly number[]): number[] => {
  if (values.length !== floors.length) throw new Error("a ratio needs as many floors as values");
  return values.map((value, index) => value / (floors[index] ?? NaN));
};

/** How long `work` takes (ms). */
export const timed = async (work: () => unknown): Promise<number> => {
  const before = performance.now();
  await work();
  return performance.now() - before;
};
