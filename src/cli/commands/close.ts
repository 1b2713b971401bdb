// perdure close: ends a task that has nothing open.
import { defineCommand, workOptions } from "../command.ts";
import { exitCodeOnceStopped, postAndWork } from "../post-and-work.ts";

export const close = defineCommand({
  name: "close",
  summary: "end a task that has nothing open",
  words: { task: "required" },
  options: workOptions,
  notes: "Its log stays; it takes nothing more.",
  perform: (program, { options, words: { task } }) =>
    postAndWork(program, options, task, { item: { type: "Close" }, needsModel: false, exitCode: exitCodeOnceStopped }),
});
