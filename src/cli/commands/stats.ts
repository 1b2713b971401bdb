// perdure stats: what the database holds, in numbers.
import { loadStats, type Stats } from "../../client/stats.ts";
import { defineCommand } from "../command.ts";
import { openSession } from "../session.ts";
import { usageText } from "./show.ts";

const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number): string =>
    column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(cell).join("  ")).join("\n");
};

const page = (stats: Stats): string => {
  const { types, statuses, snapshotBytes, fileBytes, storeBytes, usage } = stats;
  const sum = (column: "events" | "bytes"): number => types.reduce((total, type) => total + type[column], 0);
  const rows = types.map(({ type, events, bytes }) => [type, String(events), String(bytes)]);
  const states = Object.entries(statuses).map(([status, count]) => `${String(count)} ${status}`);
  return [
    table([["EVENTS", "COUNT", "BYTES"], ...rows, ["all", String(sum("events")), String(sum("bytes"))]]),
    "",
    `tasks      ${states.join(", ")}`,
    `snapshots  ${String(snapshotBytes)} bytes`,
    `files      ${String(fileBytes)} bytes`,
    `database   ${storeBytes === null ? "unknown" : `${String(storeBytes)} bytes`}`,
    ...usage.map(({ purpose, model, usage: totals }) => `usage      ${purpose}, ${model}: ${usageText(totals)}`),
  ].join("\n");
};

export const stats = defineCommand({
  name: "stats",
  summary: "what the database holds: bytes per event type, usage",
  words: {},
  options: {},
  notes: "Of all tasks, whoever owns them: numbers only.",
  perform: async (program, { options }) => {
    await using session = await openSession(program, options);
    const loaded = await loadStats(session.store);
    if (options.json === true) program.output.json(loaded);
    else program.output.print(page(loaded));
    return 0;
  },
});
