// perdure steer: corrects the turn that runs. Of another's task, a collaborator may do that, and only that.
import { ClientError } from "../../client/client.ts";
import { showTask, type TaskView } from "../../client/show-task.ts";
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { postOnly, postTo } from "../post-and-work.ts";
import { openSession, type Session } from "../session.ts";

/** The asker's own task; null where it may be one that they only steer. */
const ownTask = async ({ client }: Session, task: string): Promise<TaskView | null> => {
  try {
    return await showTask(client, task);
  } catch (error) {
    if (error instanceof ClientError && error.code === "not_found") return null;
    throw error;
  }
};

export const steer = defineCommand({
  name: "steer",
  summary: "correct a task: calls that have not begun are skipped",
  words: { task: "required", text: "required" },
  options: {
    key: { type: "string", value: "KEY", about: "the same key again corrects once, not twice" },
    ...workOptions,
  },
  notes: [
    "A call that runs comes to its end first; then the words join. A task at rest takes them as said. Whoever the owner",
    "named (perdure collaborator) may steer it too, by its whole id while its turn runs: then the correction is posted,",
    "and whoever works the task takes it.",
  ].join("\n"),
  perform: async (program, { options, words: { task, text } }) => {
    if (text.trim() === "") throw new UsageError("steer needs a text that says something");
    const { key } = options;
    const posted = { item: { type: "Steer", text }, ...(key === undefined ? {} : { key }) } as const;
    await using session = await openSession(program, options);
    const own = await ownTask(session, task);
    if (own !== null) return await postTo(program, session, options, own, { ...posted, needsModel: true });
    return await postOnly(program, session, { ...posted, taskId: task }, options.json === true);
  },
});
