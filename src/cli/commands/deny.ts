// perdure deny: a call that waits for a decision does not run.
import { defineCommand, workOptions } from "../command.ts";
import { decideAndWork } from "../decide-and-work.ts";

export const deny = defineCommand({
  name: "deny",
  summary: "refuse a call that waits for a decision",
  words: { task: "required", request: "optional" },
  options: {
    reason: { type: "string", value: "TEXT", about: "what the model is told" },
    key: { type: "string", value: "KEY", about: "the same key again decides once, not twice" },
    ...workOptions,
  },
  notes: [
    "request: its id, or its call's, as perdure show gives it; where one waits, it may be left out. The first decision",
    "counts; a later one is told which that was.",
  ].join("\n"),
  perform: (program, { options, words: { task, request } }) => {
    const { reason, key } = options;
    const told = reason === undefined ? {} : { reason };
    const keyed = key === undefined ? {} : { key };
    return decideAndWork(program, options, { task, request, decision: "deny", ...told, ...keyed });
  },
});
