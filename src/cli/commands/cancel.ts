// perdure cancel: ends the turn for good; a one-shot's task with it.
import { defineCommand, workOptions } from "../command.ts";
import { exitCodeOnceStopped, postAndWork } from "../post-and-work.ts";

export const cancel = defineCommand({
  name: "cancel",
  summary: "cancel a task's turn; of a oneShot, the task",
  words: { task: "required", reason: "optional" },
  options: workOptions,
  notes: "Exit 0 once it is cancelled, 3 while an action of it is unknown.",
  perform: (program, { options, words: { task, reason } }) => {
    const item = { type: "Cancel", ...(reason === undefined ? {} : { reason }) } as const;
    return postAndWork(program, options, task, { item, needsModel: false, exitCode: exitCodeOnceStopped });
  },
});
