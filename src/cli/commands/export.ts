// perdure export: what a task has been, for its owner to keep; or the task whole, for another database.
import { mkdir, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { encodeBundle } from "../../client/bundle-file.ts";
import { exportBundle, hasMoved, type ExportedBundle } from "../../client/bundles.ts";
import { exportPage } from "../../client/export-page.ts";
import { exportTask, type Exported } from "../../client/export-task.ts";
import { post } from "../../client/post.ts";
import { nodeHasher } from "../../store/node-hasher.ts";
import { defineCommand, UsageError } from "../command.ts";
import { counted } from "../database.ts";
import { CommandError } from "../failure.ts";
import type { Program } from "../program.ts";
import { openSession, type Session } from "../session.ts";
import { workToRest } from "../work.ts";
import { openWorkshop } from "../workshop.ts";

/** Its owner's alone. */
const PRIVATE = 0o600;

/** Writes a file that is not there yet, whole or not at all. Nothing is ever overwritten. */
const writeNew = async (path: string, pieces: readonly string[]): Promise<void> => {
  const file = await open(path, "wx", PRIVATE).catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === "EEXIST" ? "there is a file already, and nothing is overwritten" : cause.message;
    throw new CommandError(`cannot write ${path}: ${why}`, { cause });
  });
  try {
    for (const piece of pieces) await file.write(piece);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
};

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const resultsOf = ({ evidence }: Exported): number => evidence?.results.length ?? 0;

/** The paths that were written. */
const writeInto = async (folder: string, exported: Exported): Promise<string[]> => {
  const { task, evidence } = exported;
  await mkdir(folder, { recursive: true });
  const files: [string, string][] = [
    [`${task.taskId}.md`, exportPage(task, resultsOf(exported))],
    [`${task.taskId}.json`, pretty(task)],
    ...(evidence === null ? [] : [[`${task.taskId}.evidence.json`, pretty(evidence)] as [string, string]]),
  ];
  const paths: string[] = [];
  for (const [name, text] of files) {
    await writeNew(join(folder, name), [text]);
    paths.push(join(folder, name));
  }
  return paths;
};

const exportView = async (program: Program, session: Session, task: string, given: Given): Promise<void> => {
  const { output, cwd } = program;
  const exported = await exportTask(session.client, task);
  const { taskId } = exported.task;
  const results = resultsOf(exported);
  if (given.to !== undefined) {
    const files = await writeInto(resolve(cwd, given.to), exported);
    if (given.json) output.json({ taskId, files });
    for (const path of files) output.tell(`task ${taskId}: wrote ${path}`);
    return;
  }
  if (given.json) output.json(exported);
  else output.print(exportPage(exported.task, results).trimEnd());
  if (results === 0 || given.json) return;
  const again = session.again(`export ${taskId} --to FOLDER`);
  output.tell(`${counted(results, "result")} with sources: they are in a file of their own; ${again}`);
};

/** Closes the source, once its bundle is on disk. The bundle goes where it has anything that the bundle has not. */
const closeSource = async (
  program: Program,
  session: Session,
  exported: ExportedBundle,
  path: string,
): Promise<number | null> => {
  const { taskId } = exported.bundle.row;
  const stays = async (why: string, cause?: unknown): Promise<never> => {
    await rm(path, { force: true });
    throw new CommandError(`task ${taskId} was not moved, and ${path} is gone again: ${why}`, { cause });
  };
  await post(session.client, { taskId, item: { type: "Close" } }).catch((error: unknown) =>
    stays(error instanceof Error ? error.message : String(error), error),
  );
  const stopped = await workToRest(program, session, await openWorkshop(program, session), taskId);
  if (stopped !== null) return stopped;
  if (!(await hasMoved(session.client, exported))) await stays("it went on before it closed. Export it once it rests");
  return null;
};

const writeBundle = async (program: Program, session: Session, task: string, given: Given): Promise<number> => {
  const { output, cwd } = program;
  const path = resolve(cwd, given.bundle ?? "");
  const exported = await exportBundle(session.client, task, { move: given.move });
  const { bundle, untaken } = exported;
  const { taskId, lastSeq, head } = bundle.row;
  await writeNew(path, encodeBundle(nodeHasher, exported));
  const stopped = given.move ? await closeSource(program, session, exported, path) : null;
  if (given.json) output.json({ taskId, bundle: path, lastSeq, head, untaken, moved: given.move && stopped === null });
  output.tell(`task ${taskId}: ${counted(lastSeq, "event")} in ${path}, head ${head}`);
  if (untaken > 0) output.tell(`${counted(untaken, "item")} of its inbox that nobody has taken: not in it`);
  if (given.move && stopped === null) output.tell("it is closed here; import the bundle where it is to go on");
  return stopped ?? 0;
};

interface Given {
  readonly to?: string;
  readonly bundle?: string;
  readonly move: boolean;
  readonly json: boolean;
}

export const exportCommand = defineCommand({
  name: "export",
  summary: "all that a task has been, to keep; or the task whole, as a bundle",
  words: { task: "required" },
  options: {
    to: { type: "string", value: "FOLDER", about: "write a page, JSON and the evidence there, in place of stdout" },
    bundle: { type: "string", value: "FILE", about: "write the task whole, for perdure import" },
    move: { type: "boolean", about: "with --bundle: close the task here" },
  },
  notes: [
    "Its objective, words, plan, actions with arguments and results, approvals, collaborators, usage and files; results",
    "with sources are a file of their own. What was redacted is shown as a gap. Nothing is ever overwritten.",
    "A bundle holds the log, its files and no secret; keep the head that is told, for perdure import --expect.",
  ].join("\n"),
  perform: async (program, { options, words: { task } }) => {
    const { to, bundle, move = false, json = false } = options;
    if (to !== undefined && bundle !== undefined) throw new UsageError("export takes --to or --bundle, not both");
    if (move && bundle === undefined) throw new UsageError("--move goes with --bundle FILE");
    await using session = await openSession(program, options);
    const given = { move, json, ...(to === undefined ? {} : { to }), ...(bundle === undefined ? {} : { bundle }) };
    if (bundle !== undefined) return await writeBundle(program, session, task, given);
    await exportView(program, session, task, given);
    return 0;
  },
});
