// Promises about calls that change something: how they are announced, and what is said of them when nobody knows.
import { about, type Promised } from "./promise.ts";

const { kept } = about("Actions");

const recover = "src/runner/recover-calls.test.ts";
const runCalls = "src/runner/run-calls.test.ts";
const dispatch = "src/runner/dispatch.ts";
const clear = "  if (error instanceof NothingHappened || !changesOutside(tool)) {";

export const actions: readonly Promised[] = [
  kept(
    "Arguments and an invocation id are on the log before a handler runs; where they cannot be, it does not run.",
    ["src/runner/lease.test.ts", "is refused its append once another holds the task"],
    ["src/runner/run-calls.ts", '    if ((await run.journal.commit()) !== "appended") return;\n', ""],
  ),
  kept(
    "Whether the owner may still act there is asked again after that, right before a handler runs; no answer is a no.",
    [runCalls, "%s: an announced write is denied and never runs, what changes nothing does"],
    [
      "src/runner/run-calls.ts",
      "if (!calls.some(changesOutside) || (await mayOwnerAct(run))) return callIds;",
      "if (calls.length > 0) return callIds;",
    ],
  ),
  kept(
    "An idempotent action is not dispatched a second time for an owner who may not act there any more.",
    [runCalls, "has no second dispatch of an idempotent write: it is unknown"],
    [
      "src/runner/recover-calls.ts",
      "if (again !== undefined && !(await mayOwnerAct(run))) return unknown(run, again);",
      "",
    ],
  ),
  kept(
    "Interrupts, cancels and corrections are looked at again after that, right before a handler runs.",
    [runCalls, "an interrupt calls it off: skipped, and its handler never runs"],
    ["src/runner/run-calls.ts", "    if (hasNews(run)) return;", ""],
  ),
  kept(
    "An input that does not fit is an error that the model may correct, and nothing is announced.",
    [runCalls, "of a tool that nobody knows, or with an input that does not fit, are errors and announce nothing"],
    [
      "src/runner/prepare-call.ts",
      'if (!checked.ok) return refuse(call, "error", `The input',
      'if (!checked.ok && call.id === "") return refuse(call, "error", `The input',
    ],
  ),
  kept(
    "A receipt has the result as the handler returned it, and the ids of what it touched.",
    [runCalls, "carries details, resources and sources beside what the model sees"],
    ["src/runner/run-calls.ts", "    ...(resources === undefined ? {} : { resources: [...resources] }),\n", ""],
  ),
  kept(
    "An exception of a write after it was dispatched is unknown: the turn pauses, and no model is called.",
    [recover, "is unknown when it throws"],
    [dispatch, clear, "  if (!(error instanceof InvalidOutput)) {"],
  ),
  kept(
    "A write that is past its time limit is unknown.",
    [recover, "is unknown past its time limit, also when it does not stop"],
    [
      dispatch,
      clear,
      '  if (stoppedBy === "timed_out" || error instanceof NothingHappened || !changesOutside(tool)) {',
    ],
  ),
  kept(
    "A write that returned what it may not return is unknown.",
    [recover, "is unknown when it returns %s"],
    [
      dispatch,
      clear,
      "  if (error instanceof InvalidOutput || error instanceof NothingHappened || !changesOutside(tool)) {",
    ],
  ),
  kept(
    "A write that a person interrupted after it was dispatched is unknown, unless its receipt still comes.",
    [runCalls, "is unknown when it writes"],
    [
      dispatch,
      clear,
      '  if (stoppedBy === "interrupted" || error instanceof NothingHappened || !changesOutside(tool)) {',
    ],
  ),
  kept(
    "What a tool says for certain did not happen is an error that the model may correct, and not unknown.",
    [recover, "is an error that the model sees when nothing happened for certain, thrown or returned"],
    [dispatch, clear, "  if (!changesOutside(tool)) {"],
  ),
  kept(
    "An interrupted write is never run again by a machine; a person says what happened.",
    [recover, "is unknown, and the model is not called, until a person says what happened"],
    [
      "src/core/recovery.ts",
      "      if (changesOutside(call)) orders.push({ callId: call.id, order: recoveryOf(state, call, facts) });",
      '      if (changesOutside(call)) orders.push({ callId: call.id, order: "rerun" });',
    ],
  ),
  kept(
    "A write that its tool declares idempotent is dispatched again within its time to live, and not past it.",
    [recover, "is unknown past its time to live"],
    [
      "src/core/recovery.ts",
      "call.idempotent !== undefined && age < call.idempotent.ttlMs",
      "call.idempotent !== undefined",
    ],
  ),
  kept(
    "An invocation id is dispatched once; only an idempotent write keeps its own when it is dispatched again.",
    [recover, "runs again, attempt 2, under another invocation id"],
    [
      "src/runner/run-calls.ts",
      'how === "redispatch" && call.invocationId !== undefined',
      "call.invocationId !== undefined",
    ],
  ),
  kept(
    "The owner settles an unknown action with words of how it was seen, and the log calls it an attestation.",
    [recover, "is unknown, and the model is not called, until a person says what happened"],
    ["src/runner/recover-calls.ts", 'how: "attestation"', 'how: "verification"'],
  ),
  kept(
    "Of two who settle an action the first counts.",
    [recover, "keeps the first of two that settle it"],
    ["src/core/apply-input.ts", "else call.resolution ??= {", "else call.resolution = {"],
  ),
  kept(
    "It is settled no sooner than one lease after nobody can be acting on it any more.",
    [recover, "keeps a Resolve that comes at once, and settles one lease after it was found unknown"],
    ["src/runner/recover-calls.ts", "since + run.lease.leaseMs - (await", "since - (await"],
  ),
  kept(
    "A tool's own check settles it too, where it finds for certain what happened.",
    [recover, "answers a person who asks: absent"],
    ["src/runner/recover-calls.ts", 'outcome: done ? "done" : "absent",', 'outcome: "done",'],
  ),
  kept(
    "What a check cannot tell, or fails to tell, stays unknown.",
    [recover, "answers a person who asks: unknown, and goes on waiting"],
    [
      "src/runner/recover-calls.ts",
      'verdict === "done" || verdict === "absent" ? verdict : "unknown";',
      'verdict === "done" ? verdict : "absent";',
    ],
  ),
  kept(
    "To settle an action neither runs it again nor resumes the task.",
    [recover, "is told to have failed when a person saw that nothing happened"],
    [
      "src/core/apply-input.ts",
      '  if (item.type === "Verify") call.verifyAskedBy = item.by;',
      '  if (state.turn !== undefined) delete state.turn.outcome;\n  if (item.type === "Verify") call.verifyAskedBy = item.by;',
    ],
  ),
  kept(
    "While an action is unknown nothing can be resumed; once none is, it can.",
    ["src/core/apply-input.test.ts", "is void while an action is unknown or an approval is pending"],
    ["src/core/apply-input.ts", " && !isUnsettled(state) && !state.calls.some", " && !state.calls.some"],
  ),
  kept(
    "The owner's export has arguments, status and result of every action.",
    [
      "src/client/export-task.test.ts",
      "an action is exported with its arguments as they ran, its result, and what became of it while it was unknown",
    ],
    [
      "src/client/export-actions.ts",
      'made.set(action, { action, name, effect, status: "started", invocationId, input,',
      'made.set(action, { action, name, effect, status: "started", invocationId, input: null,',
    ],
  ),
];
