// The table: floors first, then each result beside its bar.
import type { Figure } from "./figures.ts";
import { isReached, type Floor, type Measured, type Result } from "./row.ts";

const number = (value: number): string => {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
};

const spread = ({ median, min, max }: Figure, unit: string): string =>
  min === max ? `${number(median)} ${unit}` : `${number(median)} ${unit} (${number(min)}-${number(max)})`;

const verdicts = new Map([
  [true, "reached"],
  [false, "NOT reached"],
  [null, ""],
]);

const floorCells = ({ what, unit, figure }: Floor): string[] => ["floor", what, spread(figure, unit), "", "", ""];

const resultCells = (row: string, result: Result): string[] => {
  const { what, unit, figure, ratio, bar } = result;
  return [
    row,
    what,
    spread(figure, unit),
    ratio === undefined ? "" : `${spread(ratio.figure, "x")} ${ratio.of}`,
    bar === undefined ? "for information" : `${bar.direction} ${number(bar.value)} ${bar.unit ?? "x"}`,
    verdicts.get(isReached(result)) ?? "",
  ];
};

const HEAD = ["row", "what", "measured: median (min-max)", "against", "bar", ""];

const aligned = (rows: readonly string[][]): string[] => {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
};

/** The table as text, one line a row. Notes stand below it. */
export const formatTable = (measured: ReadonlyMap<string, Measured>): string => {
  const all = [...measured];
  const floors = all.flatMap(([, { floors }]) => floors.map(floorCells));
  const results = all.flatMap(([name, { results }]) => results.map((result) => resultCells(name, result)));
  const notes = all.flatMap(([, { results }]) =>
    results.flatMap(({ what, note }) => (note === undefined ? [] : [`${what}: ${note}`])),
  );
  const [head = "", ...lines] = aligned([HEAD, ...floors, ...results]);
  const rule = "-".repeat(head.length);
  const parts = [head, rule, ...lines.slice(0, floors.length), ...(floors.length === 0 ? [] : [rule])];
  return [...parts, ...lines.slice(floors.length), "", ...notes].join("\n").trimEnd();
};

/** The same as plain data. */
export const tableData = (measured: ReadonlyMap<string, Measured>): unknown =>
  [...measured].map(([row, { floors, results }]) => ({
    row,
    floors,
    results: results.map((result) => ({ ...result, reached: isReached(result) })),
  }));
