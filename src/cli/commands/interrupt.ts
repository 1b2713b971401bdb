// perdure interrupt: stops the turn, keeps the task.
import { defineCommand, workOptions } from "../command.ts";
import { exitCodeOnceStopped, postAndWork } from "../post-and-work.ts";

export const interrupt = defineCommand({
  name: "interrupt",
  summary: "stop a task's turn and keep the task",
  words: { task: "required" },
  options: workOptions,
  notes: "Calls not started are skipped; a write under way becomes unknown. Exit 0 once it has stopped.",
  perform: (program, { options, words: { task } }) =>
    postAndWork(program, options, task, {
      item: { type: "Interrupt" },
      needsModel: false,
      exitCode: exitCodeOnceStopped,
    }),
});
