// perdure resolve: the owner says what became of an action that nobody knows the outcome of.
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { postAndWork } from "../post-and-work.ts";

const outcomes = ["done", "absent"] as const;

export const resolve = defineCommand({
  name: "resolve",
  summary: "say what became of an unknown action: done or absent",
  words: { task: "required", action: "required", outcome: "required", verification: "required" },
  options: workOptions,
  notes: [
    "outcome: done (it took effect) or absent (it did not). verification: how you know; it goes into the log under your",
    "name. Nothing is run again, and the task goes on only with perdure resume.",
  ].join("\n"),
  perform: (program, { options, words }) => {
    const { task, action: callId, verification } = words;
    const outcome = outcomes.find((each) => each === words.outcome);
    if (outcome === undefined)
      throw new UsageError(`resolve takes done or absent, not ${JSON.stringify(words.outcome)}`);
    if (verification.trim() === "") throw new UsageError("resolve needs a verification: how you know");
    const item = { type: "Resolve", callId, outcome, verification } as const;
    return postAndWork(program, options, task, { item, needsModel: false });
  },
});
