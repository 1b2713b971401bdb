// perdure doctor: is everything here that a task needs, and does anything wait that only a person can move?
import { existsSync, statSync } from "node:fs";
import { relative } from "node:path";
import { everyTask } from "../../client/every-task.ts";
import type { TaskRow } from "../../store/store.ts";
import { isPostgresUrl } from "../../stores.ts";
import { packageVersion } from "../../versions.ts";
import { prepareAgents } from "../agents.ts";
import { defineCommand, type CommonValues } from "../command.ts";
import { failureOf } from "../failure.ts";
import { loadModel, DEFAULT_MODEL } from "../../models.ts";
import type { Program } from "../program.ts";
import { loadSettings, openSession } from "../session.ts";

interface Look {
  readonly about: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** One look; what it throws is what is wrong. */
const look = async (about: string, work: () => Promise<string>): Promise<Look> => {
  try {
    return { about, ok: true, detail: await work() };
  } catch (error) {
    return { about, ok: false, detail: failureOf(error).message };
  }
};

const agentsLine = async (program: Program, options: CommonValues): Promise<string> => {
  const { loaded } = await loadSettings(program, options);
  const { prepared } = await prepareAgents(loaded);
  const agents = [...prepared].map(([name, { tools }]) => {
    const names = [...tools.keys()].join(", ");
    return `${name} (${names === "" ? "no tools" : names})`;
  });
  return agents.join("; ");
};

const modelLine = async (program: Program, options: CommonValues): Promise<string> => {
  const { loaded, settings } = await loadSettings(program, options);
  const { agents = [], model = DEFAULT_MODEL } = loaded.config;
  const names = new Set([settings.model ?? model, ...agents.flatMap((agent) => agent.model ?? [])]);
  for (const name of names) await loadModel(name, loaded.config, program);
  return [...names].join(", ");
};

const workspaceLine = async (program: Program, options: CommonValues): Promise<string> => {
  const { workspace } = (await loadSettings(program, options)).settings;
  if (statSync(workspace, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new Error(`${workspace} is no folder`);
  return workspace;
};

const waits = (row: TaskRow): string | null => {
  if (row.held !== null) return "held";
  if (row.status === "waiting" && row.waitingOn !== "input" && row.outcome !== "completed") return row.waitingOn;
  return row.status === "running" && row.claimedBy === null ? "stopped in mid-turn" : null;
};

const databaseLine = async (program: Program, options: CommonValues): Promise<string> => {
  const { db } = (await loadSettings(program, options)).settings;
  if (!isPostgresUrl(db) && !existsSync(db))
    return `${relative(program.cwd, db)} is not there yet: perdure run makes it`;
  await using session = await openSession(program, options);
  const faults = await session.store.check();
  if (faults.length > 0) throw new Error(faults.map(({ what }) => what).join("; "));
  const counts = new Map<string, number>();
  let tasks = 0;
  for await (const row of everyTask(session.store)) {
    tasks += 1;
    const on = waits(row);
    if (on !== null) counts.set(on, (counts.get(on) ?? 0) + 1);
  }
  const waiting = [...counts].map(
    ([on, count]) => `, ${String(count)} ${on === "held" || on.includes(" ") ? on : `waiting on ${on}`}`,
  );
  return `${session.store.name}: ${String(tasks)} ${tasks === 1 ? "task" : "tasks"}${waiting.join("")}`;
};

const configLine = async (program: Program, options: CommonValues): Promise<string> =>
  (await loadSettings(program, options)).loaded.path ?? "none: one agent that works on files";

export const doctor = defineCommand({
  name: "doctor",
  summary: "look whether all is in place, and what waits for somebody",
  words: {},
  options: {},
  notes: "Changes nothing. Exit 1 when something is wrong.",
  perform: async (program, { options }) => {
    const { output } = program;
    const looks = [
      await look("perdure", () => Promise.resolve(`${packageVersion} on Node ${process.version}`)),
      await look("configuration", () => configLine(program, options)),
      await look("agents", () => agentsLine(program, options)),
      await look("model", () => modelLine(program, options)),
      await look("workspace", () => workspaceLine(program, options)),
      await look("database", () => databaseLine(program, options)),
    ];
    if (options.json === true) output.json(looks);
    else
      for (const { about, ok, detail } of looks) output.print(`${ok ? "ok   " : "WRONG"} ${about.padEnd(14)}${detail}`);
    return looks.every(({ ok }) => ok) ? 0 : 1;
  },
});
