// Promises about model calls: their slots, what is recorded of them, and what fits.
import { about, type Promised } from "./promise.ts";

const { kept, without } = about("Model calls");

const callModel = "src/runner/call-model.test.ts";
const slots = "src/model/queue.test.ts";

export const models: readonly Promised[] = [
  kept(
    "Four calls at once in a process, one of each principal; both are settings.",
    [slots, "four calls run at once, one of each principal, where nothing else is set"],
    ["src/model/queue.ts", "concurrency: 4, perPrincipal: 1", "concurrency: 4, perPrincipal: 4"],
  ),
  kept(
    "What somebody waits for goes before what is done in the background.",
    [slots, "what waits in the foreground goes before what waits in the background"],
    ["src/model/queue.ts", "free.find(({ request }) => !request.background) ?? free[0]", "free[0]"],
  ),
  kept(
    "A call that is given up while it waits leaves the queue, and the next takes its turn.",
    [slots, "a call that is given up leaves the queue, and the slot goes to the next"],
    ["src/model/queue.ts", "if (index >= 0) this.#waiting.splice(index, 1);", ""],
  ),
  kept(
    "A call that is cancelled while it waits is never sent, and leaves no record of usage.",
    [callModel, "are given up by a cancel, without a trace in the log or the usage"],
    [
      "src/runner/call-model.ts",
      "    return null;\n  }\n};\n\nconst announceAndCall",
      "    return () => undefined;\n  }\n};\n\nconst announceAndCall",
    ],
  ),
  kept(
    "A change of capacity applies as calls are done.",
    [slots, "less capacity applies as calls are done, more at once"],
    ["src/model/queue.ts", "    this.#limits = limits;\n    this.#grant();", "    this.#limits = limits;"],
  ),
  kept(
    "Every attempt is recorded under its model and purpose, those that failed too.",
    [
      "src/core/project.test.ts",
      "of usage: replies, failed attempts and nested work, each under its purpose and model",
    ],
    ["src/core/usage.ts", "  if (call.failed) counter.failed += 1;\n", ""],
  ),
  kept(
    "A failed attempt keeps the tokens that the provider told of.",
    [callModel, "keeps the tokens that it used, and counts as failed"],
    ["src/runner/call-model.ts", "    ...(failure.tokens === undefined ? {} : { tokens: failure.tokens }),\n", ""],
  ),
  kept(
    "An estimate of its price stands with an attempt, where prices are configured.",
    [callModel, "is priced when it ends, also when it fails"],
    [
      "src/runner/call-model.ts",
      "const price = failure.tokens === undefined ? {} : priced(run, failure.tokens);",
      "const price = {};",
    ],
  ),
  kept(
    "Tokens that were not reported are unknown, never zero.",
    ["src/client/export-task.test.ts", "usage is by purpose and model; what was not reported is unknown, never zero"],
    ["src/client/usage.ts", "isUnknown ? null : sum(column)", "sum(column)"],
  ),
  kept(
    "Nested work is shown under the task that caused it.",
    [
      "src/client/show-task.test.ts",
      "usage is shown by purpose and model, child tasks' under the task that made them, and in sum",
    ],
    ["src/client/usage.ts", "...below.flatMap((child) => child.rows)", ""],
  ),
  kept(
    "A request is estimated with its messages, system texts and tools before it is sent.",
    ["src/core/request.test.ts", "covers messages, system and tool schemas"],
    [
      "src/core/request.ts",
      "  if (counted === undefined) for (const block of prefixBlocks(prefix)) chars += block.text.length;\n",
      "",
    ],
  ),
  kept(
    "The estimate has images and other files in it.",
    ["src/core/request.test.ts", "covers images and PDFs, said by a person or returned by a tool"],
    ["src/core/request.ts", "tokens += 1_600;", "tokens += 0;"],
  ),
  kept(
    "Room for the reply and for a wrong estimate is kept free.",
    [callModel, "is full before its last tokens: the reply has its room, and the estimate a margin"],
    [
      "src/runner/request-for.ts",
      "tokens + (settings.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS) <= limit * (1 - MARGIN);",
      "tokens <= limit;",
    ],
  ),
  kept(
    "What is too large is made smaller before it is sent, where a plugin can.",
    [callModel, "is made smaller when a plugin can, also when only the provider says that it is too large"],
    ["src/core/decide.ts", 'if (facts.context === "over") return { do: "Compact" };', ""],
  ),
  kept(
    "What cannot fit pauses with the task's state intact.",
    [callModel, "pauses with state intact when nobody can make it smaller"],
    ["src/core/decide.ts", 'if (facts.context === "full") return pause(state, "context_full");', ""],
  ),
  kept(
    "A cancel reaches the call that is under way.",
    [callModel, "is aborted by what came right before its announcement, though no hint told of it"],
    ["src/runner/call-model.ts", "  if (hasNews(run)) await run.watch.look();\n", ""],
  ),
  ...without(
    "later: compaction",
    "Compaction keeps whole groups of calls and results.",
    "A summary is never system text.",
  ),
  ...without(
    "n/a: a slot is about what runs at once, and estimates are no receipts",
    "Slots and prices are no budget: nothing stops because of what it cost.",
  ),
];
