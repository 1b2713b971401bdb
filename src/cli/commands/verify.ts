// perdure verify: asks the tool itself whether an unknown action took effect.
import { defineCommand, workOptions } from "../command.ts";
import { postAndWork } from "../post-and-work.ts";

export const verify = defineCommand({
  name: "verify",
  summary: "let the tool check whether an unknown action took effect",
  words: { task: "required", action: "required" },
  options: workOptions,
  notes: "Nothing is run again. What the tool cannot tell stays unknown (exit 3); then there is perdure resolve.",
  perform: (program, { options, words: { task, action: callId } }) =>
    postAndWork(program, options, task, { item: { type: "Verify", callId }, needsModel: false }),
});
