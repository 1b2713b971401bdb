// Model usage added up from projection rows.
import type { Row } from "../core/project.ts";

export interface UsageTotals {
  readonly calls: number;
  readonly failed: number;
  /** Calls whose tokens the provider did not report; they are not in the counts below. */
  readonly unknown: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
  readonly durationMs: number;
  /** Null where no price is configured. */
  readonly priceEstimate: number | null;
}

const counts = [
  "calls",
  "failed",
  "unknown",
  "input",
  "output",
  "cacheRead",
  "cacheWrite",
  "reasoning",
  "durationMs",
] as const;

/** The sum over the rows of `usage` among these. */
export const totalUsage = (rows: readonly Row[]): UsageTotals => {
  const used = rows.flatMap(({ table, set }) => (table === "usage" && set !== null ? [set] : []));
  const sum = (column: string): number => used.reduce((total, set) => total + Number(set[column] ?? 0), 0);
  const priced = used.some((set) => typeof set["priceEstimate"] === "number");
  const totals = Object.fromEntries(counts.map((column) => [column, sum(column)])) as Record<
    (typeof counts)[number],
    number
  >;
  return { ...totals, priceEstimate: priced ? sum("priceEstimate") : null };
};
