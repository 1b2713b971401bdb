// perdure tasks: the asker's tasks, newest first.
import { DEFAULT_LIMIT, listTasks, type ListedTask } from "../../client/list-tasks.ts";
import type { TaskRow } from "../../store/store.ts";
import { defineCommand, UsageError } from "../command.ts";
import { openSession } from "../session.ts";

const statuses = ["ready", "running", "waiting", "ended"] as const;

const OBJECTIVE_CHARS = 50;
const MINUTE = 60_000;

const age = (ms: number): string => {
  if (ms < MINUTE) return `${String(Math.max(0, Math.round(ms / 1_000)))} s`;
  if (ms < 60 * MINUTE) return `${String(Math.round(ms / MINUTE))} min`;
  return ms < 48 * 60 * MINUTE
    ? `${String(Math.round(ms / (60 * MINUTE)))} h`
    : `${String(Math.round(ms / (24 * 60 * MINUTE)))} d`;
};

const clip = (text: string): string => {
  const points = Array.from(text.replace(/\s+/g, " ").trim());
  return points.length <= OBJECTIVE_CHARS ? points.join("") : `${points.slice(0, OBJECTIVE_CHARS - 1).join("")}…`;
};

/** What a person wants to know first: is it mine to act on? */
export const stateWords = (row: TaskRow): string => {
  if (row.held !== null) return "held";
  if (row.status === "ended") return row.outcome ?? "ended";
  if (row.status === "waiting") return `${row.outcome ?? "in a turn"}, waits for ${row.waitingOn ?? ""}`;
  return row.claimedBy === null ? "stopped in mid-turn" : "running";
};

const table = (listed: readonly ListedTask[], now: number): string => {
  const rows = listed.map(({ row, objective }) => [
    row.taskId,
    stateWords(row),
    age(now - row.updatedAt),
    clip(objective),
  ]);
  const all = [["TASK", "STATE", "AGE", "OBJECTIVE"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
};

const wholeOf = (text: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`--limit must be a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
};

export const tasks = defineCommand({
  name: "tasks",
  summary: "your newest tasks",
  words: {},
  options: {
    limit: { type: "string", value: "N", about: `how many; default ${String(DEFAULT_LIMIT)}` },
    status: { type: "string", value: "STATUS", about: statuses.join(", ") },
  },
  perform: async (program, { options }) => {
    const limit = options.limit === undefined ? DEFAULT_LIMIT : wholeOf(options.limit);
    const status = statuses.find((each) => each === options.status);
    if (options.status !== undefined && status === undefined) {
      throw new UsageError(`--status must be ${statuses.join(" or ")}, not ${JSON.stringify(options.status)}`);
    }
    await using session = await openSession(program, options);
    const listed = await listTasks(session.client, { limit, ...(status === undefined ? {} : { status }) });
    if (options.json === true) {
      program.output.json(listed.map(({ row, objective }) => ({ ...row, objective })));
    } else if (listed.length === 0) {
      program.output.tell(`${session.settings.as} has no tasks in ${session.store.name}`);
    } else {
      program.output.print(table(listed, await session.store.now()));
    }
    return 0;
  },
});
