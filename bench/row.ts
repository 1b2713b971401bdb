// What a row of the table is: floors measured in the same run, and results with the bar that each is held against.
import type { Figure } from "./figures.ts";

export interface Bar {
  readonly direction: "at least" | "at most";
  readonly value: number;
  /** What `value` counts, for a bar that is held against the figure itself; ratios have none. */
  readonly unit?: string;
}

/** What the hardware, or hand-written code, gives at best. */
export interface Floor {
  readonly what: string;
  readonly unit: string;
  readonly figure: Figure;
}

export interface Result {
  readonly what: string;
  readonly unit: string;
  readonly figure: Figure;
  /** The figure against its floor, pair by pair; the bar speaks of this where it is there. */
  readonly ratio?: { readonly of: string; readonly figure: Figure };
  /** Absent: for information. */
  readonly bar?: Bar;
  readonly note?: string;
}

export interface Measured {
  readonly floors: readonly Floor[];
  readonly results: readonly Result[];
}

export interface Bench {
  /** A new, empty folder on disk, removed at the end of the run. */
  folder(): string;
  /** A line for whoever waits. */
  progress(message: string): void;
}

export interface Row {
  /** What is given on the command line to run it. */
  readonly name: string;
  measure(bench: Bench): Promise<Measured>;
}

/** Whether the bar is reached; null where there is none. */
export const isReached = ({ figure, ratio, bar }: Result): boolean | null => {
  if (bar === undefined) return null;
  const { median } = ratio?.figure ?? figure;
  return bar.direction === "at least" ? median >= bar.value : median <= bar.value;
};

export const atLeast = (value: number, unit?: string): Bar => ({
  direction: "at least",
  value,
  ...(unit === undefined ? {} : { unit }),
});

export const atMost = (value: number, unit?: string): Bar => ({ ...atLeast(value, unit), direction: "at most" });
