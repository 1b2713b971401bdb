// perdure auto-approve: the owner lets everything run that would be asked for, or asks again.
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { postAndWork } from "../post-and-work.ts";

export const autoApprove = defineCommand({
  name: "auto-approve",
  summary: "approve what a task would ask for, from the next request on: on or off",
  words: { switch: "required", task: "required" },
  options: workOptions,
  notes: [
    "switch: on or off. It is the owner's alone, and stands in the log as core/config; each request and that it was approved",
    "so are recorded. What waits already still waits. What is denied stays denied, and after somebody else has corrected",
    "the task, every change is asked for all the same.",
  ].join("\n"),
  perform: (program, { options, words }) => {
    if (words.switch !== "on" && words.switch !== "off") {
      throw new UsageError(`auto-approve takes on or off, not ${JSON.stringify(words.switch)}`);
    }
    const item = { type: "Reconfigure", settings: { autoApprove: words.switch === "on" } } as const;
    return postAndWork(program, options, words.task, { item, needsModel: false });
  },
});
