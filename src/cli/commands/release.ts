// perdure release: lets a held task be tried again.
import { findTask } from "../../client/find-task.ts";
import { defineCommand } from "../command.ts";
import { CommandError } from "../failure.ts";
import { openSession } from "../session.ts";

export const release = defineCommand({
  name: "release",
  summary: "let go of a held task, so that it is tried again",
  words: { task: "required" },
  options: {},
  notes: "A task is held when this build could not read it, or when it brought its workers down again and again.",
  perform: async (program, { options, words: { task } }) => {
    await using session = await openSession(program, options);
    const { taskId, held } = await findTask(session.client, task);
    if (held === null) throw new CommandError(`task ${taskId} is not held`);
    await session.store.letGo({ taskId });
    if (options.json === true) program.output.json({ taskId, released: held });
    program.output.tell(`task ${taskId} was held (${held.reason}) and is let go`);
    program.output.tell(`try it again: ${session.again(`resume ${taskId}`)}`);
    return 0;
  },
});
