// perdure check: is every log whole, and does everything that was made from it say the same?
import { createInterface } from "node:readline";
import { checkTask } from "../../client/check-task.ts";
import { everyTask } from "../../client/every-task.ts";
import { findTask } from "../../client/find-task.ts";
import { nodeHasher } from "../../store/node-hasher.ts";
import type { Finding } from "../../store/store.ts";
import { prepareAgents } from "../agents.ts";
import { defineCommand, UsageError, type CommonValues } from "../command.ts";
import { counted, findingLine } from "../database.ts";
import { foldDifference, foldHashes, type FoldQuestion } from "../fold-hashes.ts";
import { openOtherBuild } from "../other-build.ts";
import type { Program } from "../program.ts";
import { loadSettings, openSession, type Session } from "../session.ts";

const taskIdsOf = async (session: Session, task: string | undefined): Promise<string[]> => {
  if (task !== undefined) return [(await findTask(session.client, task)).taskId];
  const taskIds: string[] = [];
  for await (const { taskId } of everyTask(session.store)) taskIds.push(taskId);
  return taskIds;
};

const headOf = (expect: string | undefined, task: string | undefined): { readonly expect?: string } => {
  if (expect === undefined) return {};
  if (task === undefined) throw new UsageError("--expect is the head of one task: perdure check <task> --expect HEAD");
  if (!/^[0-9a-f]{64}$/i.test(expect)) throw new UsageError("--expect must be a head: 64 hexadecimal digits");
  return { expect };
};

/** Answers, line for line, what the logs on stdin fold to here. */
const answerFolds = async (program: Program, options: CommonValues): Promise<number> => {
  const { loaded } = await loadSettings(program, options);
  const agents = await prepareAgents(loaded);
  for await (const line of createInterface({ input: process.stdin })) {
    program.output.print(JSON.stringify(foldHashes(agents, JSON.parse(line) as FoldQuestion)));
  }
  return 0;
};

/** Folds every log here and in the other build. */
const foldDiff = async (session: Session, program: Program, other: string, task?: string): Promise<Checked> => {
  const { store, loaded } = session;
  const agents = await prepareAgents(loaded);
  const findings: Finding[] = [];
  const taskIds = await taskIdsOf(session, task);
  await using build = openOtherBuild(other, loaded.path, program.cwd);
  for (const taskId of taskIds) {
    program.output.progress(`  folds ${taskId}`);
    const row = await store.getTask({ taskId });
    if (row === null) continue;
    const entries = (await store.read({ taskId })).map(({ seq, at, type, body }) => ({ seq, at, type, body }));
    const question: FoldQuestion = { taskId, agent: row.agent, entries };
    const there = await build.ask(question);
    const what = foldDifference(foldHashes(agents, question), there);
    if (what !== null) findings.push({ taskId, seq: there.seq, what });
  }
  return { taskIds, findings };
};

interface Checked {
  readonly taskIds: readonly string[];
  readonly findings: readonly Finding[];
}

const checkLogs = async (
  session: Session,
  program: Program,
  task: string | undefined,
  head: { readonly expect?: string },
): Promise<Checked> => {
  const { store } = session;
  const findings: Finding[] = task === undefined ? [...(await store.check())] : [];
  const taskIds = await taskIdsOf(session, task);
  for (const taskId of taskIds) {
    program.output.progress(`  checks ${taskId}`);
    findings.push(...(await checkTask({ store, hasher: nodeHasher }, { taskId, ...head })));
  }
  return { taskIds, findings };
};

export const check = defineCommand({
  name: "check",
  summary: "verify the logs, and all that was made from them",
  words: { task: "optional" },
  options: {
    expect: { type: "string", value: "HEAD", about: "a head that the log must have had: finds a cut tail" },
    "fold-diff": {
      type: "string",
      value: "BUILD",
      about: "which tasks another build folds differently: its folder, or a configuration",
    },
    "fold-hashes": { type: "boolean", about: "answer what --fold-diff of another build asks on stdin" },
  },
  notes: [
    "Without a task: the whole database. Exit 1 when anything is wrong, or folds differently.",
    "Before an upgrade, install the new version beside this one and run perdure check --fold-diff <its folder>: the new",
    "version is given the logs, and never opens the database.",
  ].join("\n"),
  perform: async (program, { options, words: { task } }) => {
    const { output } = program;
    if (options["fold-hashes"] === true) return answerFolds(program, options);
    const head = headOf(options.expect, task);
    const other = options["fold-diff"];
    await using session = await openSession(program, options);
    const { taskIds, findings } = await (other === undefined
      ? checkLogs(session, program, task, head)
      : foldDiff(session, program, other, task));
    if (options.json === true) output.json({ tasks: taskIds.length, findings });
    else for (const finding of findings) output.print(findingLine(finding));
    const checked = `${counted(taskIds.length, "task")} ${other === undefined ? "checked" : "folded by both builds"}`;
    const well = other === undefined ? "all is well" : "all alike";
    const found = findings.length === 0 ? well : counted(findings.length, other === undefined ? "fault" : "difference");
    output.tell(`${checked} in ${session.store.name}: ${found}`);
    return findings.length === 0 ? 0 : 1;
  },
});
