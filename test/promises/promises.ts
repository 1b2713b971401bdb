// What was promised, one row each: whether it holds now, the test that shows it, and a patch that breaks it. The patch must
// make the test fail (`npm run test:long -- --promises`). docs/promises.md is made from this (`npm run promises`).

export interface Patch {
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface Promised {
  readonly about: string;
  readonly promise: string;
  /** `pending` is being built; its test is named when it is. */
  readonly status: "kept" | `pending: ${string}` | `later: ${string}` | `n/a: ${string}`;
  /** The test's own title, without those of the groups that it stands in. */
  readonly test?: { readonly file: string; readonly name: string };
  readonly patch?: Patch;
}

const kept = (about: string, promise: string, [file, name]: readonly [string, string], patch?: Patch): Promised => ({
  ...{ about, promise, status: "kept", test: { file, name } },
  ...(patch === undefined ? {} : { patch }),
});
const patch = (file: string, find: string, replace: string): Patch => ({ file, find, replace });
const without = (about: string, status: Exclude<Promised["status"], "kept">, ...promises: string[]): Promised[] =>
  promises.map((promise) => ({ about, promise, status }));

const client = "src/client/client.test.ts";
const exporting = "src/client/export-task.test.ts";
const plan = "src/plugins/plan/plan.test.ts";
const recover = "src/runner/recover-calls.test.ts";
const runCalls = "src/runner/run-calls.test.ts";
const callModel = "src/runner/call-model.test.ts";
const slots = "src/model/queue.test.ts";
const memory = "src/store/memory/store.test.ts";

const records: readonly Promised[] = [
  kept(
    "Records",
    "A task is created with its first event, its row and its first words at once.",
    [client, "a task is created with its objective as the first thing said"],
    patch("src/client/create-task.ts", "items: files.length === 0 ? [first] : [],", "items: [],"),
  ),
  kept(
    "Records",
    "Every task has an owner, a place, a conversation, an objective, times and an outcome.",
    [
      exporting,
      "an export has the task's words, plan, actions, approvals, collaborators, usage and files, and where they stand",
    ],
    patch("src/client/export-task.ts", "outcomes: outcomesOf(events),", "outcomes: [],"),
  ),
  kept(
    "Records",
    "Legs of a turn that goes on by itself belong to one turn, and none of them ends it before its time.",
    [plan, "that are left open make another leg of the same turn, until they are done"],
    patch("src/core/decide.ts", "turn !== undefined && goals.open > 0) {", "turn !== undefined && goals.open > 9) {"),
  ),
  kept(
    "Records",
    "A list shows the asker's ten newest tasks in this place.",
    [client, "list gives ten unless told, and nobody else's"],
    patch("src/client/list-tasks.ts", "DEFAULT_LIMIT, ...params, owner, place }", "DEFAULT_LIMIT, ...params, place }"),
  ),
  kept(
    "Records",
    "An id is a name and no permission: every read and post asks whose the task is, and where.",
    [client, "every read and every post is for the owner in the task's place alone"],
    patch(
      "src/client/find-task.ts",
      "row.owner === principal && row.origin.place === place;",
      "row.owner === principal || row.origin.place === place;",
    ),
  ),
  kept(
    "Records",
    "A recorded outcome is never overwritten: an end is the last word, and the second of two appends is refused.",
    [memory, "refuses an old fence before the end, and the end before the expected seq"],
    patch("src/store/memory/append.ts", "if (task.ended)", "if (false)"),
  ),
];

const restarts: readonly Promised[] = [
  kept(
    "Restarts",
    "A task that pauses when it is interrupted does so after a crash: no model, no tool, until a person resumes it.",
    [recover, "calls no model and no tool after a crash before anybody says so"],
    patch(
      "src/core/recovery.ts",
      'facts.stoppedMidTurn === "restored" || (facts.stoppedMidTurn !== null && state.onInterrupt === "pause");',
      'facts.stoppedMidTurn === "restored";',
    ),
  ),
  kept("Restarts", "Tasks at rest keep their outcome over a restart; nothing is claimed that has nothing new.", [
    recover,
    "is claimed by nobody when a process starts and nothing is new",
  ]),
  kept(
    "Restarts",
    "What was started on such a task is unknown after a restart, and no check of its own runs.",
    [recover, "makes a started write unknown and asks no check"],
    patch("src/core/recovery.ts", "if (pausesMidTurn(state, facts) || tool === undefined", "if (tool === undefined"),
  ),
  kept("Restarts", "A database that is not one is an error, and is left as it is.", [
    "src/store/sqlite/database-file.test.ts",
    "that was cut is refused and left as it was",
  ]),
];

const workspace: readonly Promised[] = [
  kept("Plan, notes, goals", "Steps, notes and goals have ids that stay over turns.", [
    plan,
    "are added, changed and deleted; an id is given once",
  ]),
  kept(
    "Plan, notes, goals",
    "An update of the plan raises its version, and one that was made for an older version changes nothing.",
    [plan, "is refused when it was made for a version that is no longer the newest, also in one reply"],
    patch("src/plugins/plan/plan-update.ts", "if (expected !== saved.version) {", "if (expected > saved.version) {"),
  ),
  kept("Plan, notes, goals", "Goals that are left open, or only blocked ones, pause the turn where it cannot go on.", [
    plan,
    "pause the turn when only blocked ones are left, and a new turn may go on",
  ]),
  kept("Plan, notes, goals", "There is no cap on their number.", [plan, "have no cap on their number"]),
  kept("Plan, notes, goals", "They come before the model as context of the conversation, never as system text.", [
    plan,
    "come before the model again in a later turn, once",
  ]),
];

const actions: readonly Promised[] = [
  kept(
    "Actions",
    "Arguments and an invocation id are on the log before a handler runs; where they cannot be, it does not run.",
    [runCalls, "an interrupt calls it off: skipped, and its handler never runs"],
    patch("src/runner/run-calls.ts", "    if (hasNews(run)) return;", ""),
  ),
  kept("Actions", "An input that does not fit is an error that the model may correct, and nothing is announced.", [
    runCalls,
    "of a tool that nobody knows, or with an input that does not fit, are errors and announce nothing",
  ]),
  kept("Actions", "A receipt has the result as the handler returned it, and the ids of what it touched.", [
    runCalls,
    "carries details, resources and sources beside what the model sees",
  ]),
  kept(
    "Actions",
    "An exception of a write after it was dispatched is unknown: the turn pauses, and no model is called.",
    [recover, "is unknown when it throws"],
    patch(
      "src/runner/dispatch.ts",
      "  if (error instanceof NothingHappened || !changesOutside(prepared)) {",
      "  if (!(error instanceof InvalidOutput)) {",
    ),
  ),
  kept(
    "Actions",
    "An interrupted write is never run again by a machine; a person says what happened.",
    [recover, "is unknown, and the model is not called, until a person says what happened"],
    patch(
      "src/core/recovery.ts",
      "      if (changesOutside(call)) orders.push({ callId: call.id, order: recoveryOf(state, call, facts) });",
      '      if (changesOutside(call)) orders.push({ callId: call.id, order: "rerun" });',
    ),
  ),
  kept(
    "Actions",
    "The owner settles an unknown action with words of how it was seen, and the log calls it an attestation.",
    [client, "an action that is unknown is shown, blocks a resume, and is settled under its name alone"],
  ),
  kept("Actions", "A tool's own check settles it too; what it cannot tell stays unknown.", [
    recover,
    "answers a person who asks: unknown, and goes on waiting",
  ]),
  kept(
    "Actions",
    "While an action is unknown nothing can be resumed; once none is, it can.",
    ["src/core/apply-input.test.ts", "is void while an action is unknown or an approval is pending"],
    patch("src/core/apply-input.ts", "  !isUnsettled(state) &&\n  !state.calls.some", "  !state.calls.some"),
  ),
  kept(
    "Actions",
    "The owner's export has arguments, status and result of every action.",
    [
      exporting,
      "an action is exported with its arguments as they ran, its result, and what became of it while it was unknown",
    ],
    patch(
      "src/client/export-actions.ts",
      'made.set(action, { action, name, effect, status: "started", invocationId, input,',
      'made.set(action, { action, name, effect, status: "started", invocationId, input: null,',
    ),
  ),
];

const evidence: readonly Promised[] = [
  kept(
    "Evidence",
    "A result with sources is exported in a file of its own, with arguments, output, source, version and cursor.",
    [exporting, "results with sources are evidence of their own, and where there are none there is no evidence"],
    patch(
      "src/client/export-task.ts",
      "event.sources === undefined || event.sources.length === 0",
      "event.sources !== undefined",
    ),
  ),
  kept("Evidence", "A log keeps results that the model is no longer shown.", [
    "src/runner/output.test.ts",
    "is kept whole as a task file; the model sees head, tail, size and path",
  ]),
  kept(
    "Evidence",
    "What was redacted is shown as a gap.",
    [exporting, "what was redacted is a gap: in the export, its evidence and its page"],
    patch("src/client/export-task.ts", "text: redacted === true ? null : text", "text"),
  ),
  ...without(
    "Evidence",
    "later: evidence",
    "Access to sources is asked before and after each model call, and for every view.",
    "A deleted source redacts stored results and takes files, notes and collections that came from it.",
    "A late write cannot bring back what came from a deleted source.",
    "Edits refresh what was read, in place, without ending the turn; what cannot be read is a named gap.",
    "Writes that have not been dispatched wait for pending changes of sources.",
    "Answers carry their sources into later turns; summaries of unknown sources are left out.",
    "A deletion interrupts a model call that was given the source; who deleted it may still confirm that.",
  ),
];

const models: readonly Promised[] = [
  kept(
    "Model calls",
    "Four calls at once in a process, one of each principal; both are settings.",
    [slots, "four calls run at once, one of each principal, where nothing else is set"],
    patch("src/model/queue.ts", "concurrency: 4, perPrincipal: 1", "concurrency: 4, perPrincipal: 4"),
  ),
  kept(
    "Model calls",
    "What somebody waits for goes before what is done in the background.",
    [slots, "what waits in the foreground goes before what waits in the background"],
    patch("src/model/queue.ts", "free.find(({ request }) => !request.background) ?? free[0]", "free[0]"),
  ),
  kept("Model calls", "A call that is cancelled while it waits is never sent, and leaves no record of usage.", [
    callModel,
    "are given up by a cancel, without a trace in the log or the usage",
  ]),
  kept(
    "Model calls",
    "A change of capacity applies as calls are done.",
    [slots, "less capacity applies as calls are done, more at once"],
    patch("src/model/queue.ts", "    this.#limits = limits;\n    this.#grant();", "    this.#limits = limits;"),
  ),
  kept(
    "Model calls",
    "Every attempt is recorded with model, purpose, status, tokens, time and an estimate of its price.",
    [
      "src/core/project.test.ts",
      "of usage: replies, failed attempts and nested work, each under its purpose and model",
    ],
  ),
  kept(
    "Model calls",
    "Tokens that were not reported are unknown, never zero.",
    [exporting, "usage is by purpose and model; what was not reported is unknown, never zero"],
    patch("src/client/usage.ts", "isUnknown ? null : sum(column)", "sum(column)"),
  ),
  kept(
    "Model calls",
    "Nested work is shown under the task that caused it.",
    [
      "src/client/show-task.test.ts",
      "usage is shown by purpose and model, child tasks' under the task that made them, and in sum",
    ],
    patch("src/client/usage.ts", "...below.flatMap((child) => child.rows)", ""),
  ),
  kept("Model calls", "A request is estimated with messages, tools and images before it is sent.", [
    "src/core/request.test.ts",
    "covers images and PDFs, said by a person or returned by a tool",
  ]),
  kept("Model calls", "What cannot fit pauses with the task's state intact.", [
    callModel,
    "pauses with state intact when nobody can make it smaller",
  ]),
  kept("Model calls", "A cancel reaches the call that is under way.", [
    callModel,
    "is aborted by what came right before its announcement, though no hint told of it",
  ]),
  ...without(
    "Model calls",
    "later: compaction",
    "Compaction keeps whole groups of calls and results, and the request.",
  ),
];

const people: readonly Promised[] = [
  kept("People", "The owner resumes a paused, failed or cancelled turn; a completed one may be opened again.", [
    "src/core/apply-input.test.ts",
    "lets a paused, failed or cancelled turn go on, with fresh bounds",
  ]),
  kept("People", "A correction lands between steps and calls off what was not dispatched.", [
    runCalls,
    "a correction calls it off, and the model is asked again with the correction",
  ]),
  kept("People", "Words that come while a call waits for a decision are shown as queued.", [
    "src/client/show-task.test.ts",
    "what is said while a call waits for a decision is shown as queued",
  ]),
  ...without(
    "People",
    "pending: approvals",
    "A request commits before it is shown; a decision commits before the call runs.",
    "Requests hold the exact items of a batch, corrections, expiry and who decided.",
    "A restart makes older controls invalid; approvals of the past grant nothing.",
    "A cancel settles what is pending without dispatch.",
  ),
  ...without(
    "People",
    "pending: steering",
    "A correction is committed before it is acknowledged; one that cannot be saved pauses the turn.",
    "It reaches exactly the task that was named; another's reply cannot redirect the work.",
  ),
  ...without(
    "People",
    "pending: collaborators",
    "The owner names who may steer a public task, and takes it back; private tasks have none.",
    "Access, status, place and membership are checked when a correction is accepted and again when it is taken.",
    "After a collaborator's correction the owner approves every later change, also after a resume.",
    "All but steering stays with the owner.",
  ),
  ...without(
    "People",
    "pending: handoff",
    "A task moves to another allowed place at once, and is private from then on; the second of two moves fails.",
  ),
  ...without(
    "People",
    "later: forgetting",
    "Inactive work is deleted whole, markers refuse late writers, and a half-done deletion can be repeated.",
  ),
  ...without(
    "People",
    "later: tasks plugin",
    "Earlier work is found by words, and steered, cancelled or chosen to go on with.",
    "Task control is internal: it grants nothing and approves nothing.",
  ),
];

const elsewhere: readonly Promised[] = [
  ...without(
    "Front ends",
    "later: Discord",
    "Attachments stay with their task, are fetched anew from their message, and unavailable ones say so.",
    "Answers about tasks are for the asker's eyes alone.",
    "One process works one storage root.",
    "Replies to a request or its progress message steer the task.",
  ),
  ...without(
    "Front ends",
    "n/a: of earlier releases",
    "Older records of notes, goals and usage are read, and not imported by themselves.",
    "Tables and their names.",
  ),
];

export const promises: readonly Promised[] = [
  ...[...records, ...restarts, ...workspace, ...actions],
  ...[...evidence, ...models, ...people, ...elsewhere],
];
