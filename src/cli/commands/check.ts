// perdure check: is every log whole, and does everything that was made from it say the same?
import { checkTask } from "../../client/check-task.ts";
import { everyTask } from "../../client/every-task.ts";
import { findTask } from "../../client/find-task.ts";
import { nodeHasher } from "../../store/node-hasher.ts";
import type { Finding } from "../../store/store.ts";
import { defineCommand, UsageError } from "../command.ts";
import { counted, findingLine } from "../database.ts";
import { openSession, type Session } from "../session.ts";

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

export const check = defineCommand({
  name: "check",
  summary: "verify the logs, and all that was made from them",
  words: { task: "optional" },
  options: { expect: { type: "string", value: "HEAD", about: "a head that the log must have had: finds a cut tail" } },
  notes: "Without a task: the whole database. Exit 1 when anything is wrong.",
  perform: async (program, { options, words: { task } }) => {
    const { output } = program;
    const head = headOf(options.expect, task);
    await using session = await openSession(program, options);
    const { store } = session;
    const findings: Finding[] = task === undefined ? [...(await store.check())] : [];
    const taskIds = await taskIdsOf(session, task);
    for (const taskId of taskIds) {
      output.progress(`  checks ${taskId}`);
      findings.push(...(await checkTask({ store, hasher: nodeHasher }, { taskId, ...head })));
    }
    if (options.json === true) output.json({ tasks: taskIds.length, findings });
    else for (const finding of findings) output.print(findingLine(finding));
    const found = findings.length === 0 ? "all is well" : counted(findings.length, "fault");
    output.tell(`${counted(taskIds.length, "task")} checked in ${store.name}: ${found}`);
    return findings.length === 0 ? 0 : 1;
  },
});
