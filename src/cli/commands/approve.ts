// perdure approve: a call that waits for a decision may run, once.
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { decideAndWork } from "../decide-and-work.ts";

/** Throws UsageError for what is no JSON. */
const parsed = (correct: string): unknown => {
  try {
    return JSON.parse(correct) as unknown;
  } catch (cause) {
    throw new UsageError(`--correct takes the whole input as JSON: ${(cause as Error).message}`, { cause });
  }
};

export const approve = defineCommand({
  name: "approve",
  summary: "let a call that waits for a decision run, once",
  words: { task: "required", request: "optional" },
  options: {
    correct: { type: "string", value: "JSON", about: "run it with this input instead" },
    key: { type: "string", value: "KEY", about: "the same key again decides once, not twice" },
    ...workOptions,
  },
  notes: [
    "request: its id, or its call's, as perdure show gives it; where one waits, it may be left out. The first decision",
    "counts; a later one is told which that was. A decision is good for this call alone.",
  ].join("\n"),
  perform: (program, { options, words: { task, request } }) => {
    const { correct, key } = options;
    const input = correct === undefined ? {} : { input: parsed(correct) };
    const keyed = key === undefined ? {} : { key };
    return decideAndWork(program, options, { task, request, decision: "approve", ...input, ...keyed });
  },
});
