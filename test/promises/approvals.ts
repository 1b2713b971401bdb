// Promises about requests for a decision, and about what a decision does and never does.
import { about, type Promised } from "./promise.ts";

const { kept } = about("Approvals");

const running = "src/runner/approvals.test.ts";
const seen = "src/client/approvals.test.ts";
const memory = "src/store/memory/store.test.ts";
const judge = "src/store/decisions.ts";

export const approvals: readonly Promised[] = [
  kept(
    "A request commits before it is shown, and its call does not run.",
    [running, "is committed before the task waits, and runs nothing"],
    [
      "src/runner/prepare-call.ts",
      '  if (approval.verdict === "ask") return { ok: false, events: approval.events };\n',
      "",
    ],
  ),
  kept(
    "A decision commits before its call runs, and the call runs once.",
    [running, "of yes is committed before the call runs, and is exactly one run"],
    [
      "src/runner/take-input.ts",
      "    for (const item of taken) run.journal.add(...(await decisionRecords(run, item)));\n",
      "",
    ],
  ),
  kept(
    "What a policy denies does not run, whatever else allows it.",
    [running, "never allows what a policy denies"],
    [
      "src/runner/ask-approval.ts",
      'return { verdict: verdict === "deny" ? "deny" : "allow", events: [] };',
      'return { verdict: "allow", events: [] };',
    ],
  ),
  kept(
    "A request keeps its id for ever, over crashes too.",
    [running, "keeps its id and its hash through crashes, and is made once"],
    ["src/runner/ask-approval.ts", "    requestId: requestIdOf(call),\n", "    requestId: run.ports.random.id(),\n"],
  ),
  kept(
    "A request holds the exact items of a batch.",
    [running, "holds the rewritten input, the items of a batch, and why it is asked"],
    ["src/runner/ask-approval.ts", "    ...(items === undefined ? {} : { items: [...items] }),\n", ""],
  ),
  kept(
    "A request is shown with exactly what would run, and with who may decide and until when.",
    [seen, "each is seen with exactly what would run, and how it may be decided"],
    ["src/client/approvals.ts", "    expiresAt: expiresAt ?? null,\n", "    expiresAt: null,\n"],
  ),
  kept(
    "Requests of one reply are decided in any order, and calls that need no decision go on meanwhile.",
    [running, "holds up no other call of the reply; results stand in call order"],
    [
      "src/core/decide.ts",
      '    if (call.phase !== "waiting" && call.phase !== "started") continue;\n    const effect',
      '    if (call.phase === "parked") return start;\n    if (call.phase !== "waiting" && call.phase !== "started") continue;\n    const effect',
    ],
  ),
  kept(
    "A decision needs no worker: it is kept and shown before one takes it.",
    [seen, "a decision is acknowledged before a worker takes it, and seen so"],
    [
      "src/client/approvals.ts",
      "decided: kept.decided.find((each) => each.requestId === requestId) ?? null,",
      "decided: null,",
    ],
  ),
  kept(
    "Of decisions that come at once one counts.",
    [memory, "takes one of many that come at once"],
    ["src/store/memory/decisions.ts", "if (decided !== undefined) return", "if (decided?.seq === 0) return"],
  ),
  kept(
    "Only whom a request names decides, and nobody else is told what was decided.",
    [memory, "refuses whoever the request does not name, and tells them nothing of what was decided"],
    [judge, "asked.decides === who.by && (", "("],
  ),
  kept(
    "Another whom a request names sees that request alone.",
    [seen, "another whom a request names decides on that one alone, and sees nothing else"],
    [
      "src/client/approvals.ts",
      "owner === principal ? views : views.filter(({ decides }) => decides === principal);",
      "views;",
    ],
  ),
  kept(
    "Who decided is recorded, and exported with what was asked.",
    [
      "src/client/export-task.test.ts",
      "an action is exported with its arguments as they ran, its result, and what became of it while it was unknown",
    ],
    [
      "src/client/export-approvals.ts",
      "decision, by, auto, input, reason } });",
      'decision, by: "core", auto, input, reason } });',
    ],
  ),
  kept(
    "A denied call does not run, and the model is told why.",
    [running, "of no is exactly one denial, with its reason"],
    [
      "src/core/apply-record.ts",
      '    if (data.decision !== "void") call.denied = data.reason ?? data.decision;\n',
      "    call.denied = data.decision;\n",
    ],
  ),
  kept(
    "A corrected input runs as it was corrected.",
    [running, "with a corrected input runs as corrected, and the log shows it"],
    ["src/core/apply-record.ts", "      if (data.input !== undefined) call.input = data.input;\n", ""],
  ),
  kept(
    "A correction that does not fit the tool runs nothing: the call is asked about again.",
    [running, "with a correction that does not fit the schema runs nothing: it is asked again"],
    ["src/runner/take-decision.ts", "if (checked?.ok === true) return", "if (checked !== undefined) return"],
  ),
  kept(
    "A decision on another input than the one that is asked about is refused, with the state of the request.",
    [seen, "case-15: one that is late is told what was decided, or the state of what it is about"],
    [judge, '  if (asked.inputHash !== deciding.inputHash) return "changed";\n', ""],
  ),
  kept(
    "A decision on a request that is settled is refused.",
    [memory, "refuses one about a request that is %s"],
    [judge, '  if (asked.status !== "pending") return "settled";\n', ""],
  ),
  kept(
    "A decision that comes after its time is refused, by the store's clock.",
    [memory, "refuses one after its time, by the store's clock"],
    [judge, '  if (asked.expiresAt !== null && asked.expiresAt <= now) return "expired";\n', ""],
  ),
  kept(
    "A request that nobody decides in time is settled by itself, and its call denied.",
    [running, "when its time is over: the task wakes by itself, and the call is denied"],
    [
      "src/runner/take-decision.ts",
      'return item.type === "TimerFired" ? expired(run, item.timerId) : [];',
      "return [];",
    ],
  ),
  kept(
    "Nothing wakes the task for a request that was decided.",
    [running, "and its timer goes with a decision"],
    ["src/runner/ask-approval.ts", "decision, by, ...more }), ...timer];", "decision, by, ...more })];"],
  ),
  kept(
    "A front end that puts its controls up anew, after a restart for one, makes its older ones invalid.",
    [seen, "controls that were put up anew make older ones of that front end stale, and no other's"],
    [judge, 'return deciding.showing === 0 || isShown ? null : "stale";', "return null;"],
  ),
  kept(
    "An approval is for one call: the next that is the same is asked about.",
    [running, "is good for one call: the next that is the same is asked for"],
    [
      "src/runner/ask-approval.ts",
      "  if (approval?.approved !== true || approval.definition",
      '  if (stateOf(run).messages.some(({ role }) => role === "tool")) return true;\n  if (approval?.approved !== true || approval.definition',
    ],
  ),
  kept(
    "An approval is for one input: what a hook has changed since is asked about again.",
    [running, "says nothing of a call whose input a hook has changed since: it is asked again"],
    ["src/runner/ask-approval.ts", "return approval.inputHash === inputHashOf(run.mac, input);", "return true;"],
  ),
  kept(
    "An approval is for one definition of its tool.",
    [running, "says nothing of another definition of its tool: it is asked again"],
    ["src/runner/ask-approval.ts", " || approval.definition !== prepared.entry.definition", ""],
  ),
  kept(
    "A resume voids what was approved before it and has not begun.",
    [running, "is void while a request is pending, and voids what was approved before it"],
    ["src/core/apply-input.ts", "  voidApprovals(state);\n  pushMessage", "  pushMessage"],
  ),
  kept(
    "An approval that was voided so is recorded as void.",
    [running, "is void while a request is pending, and voids what was approved before it"],
    ["src/runner/take-input.ts", "    run.journal.add(...voidRecords(stateOf(run), unused));\n", ""],
  ),
  kept(
    "A task with a pending request is not resumed.",
    ["src/core/apply-input.test.ts", "is void while an action is unknown or an approval is pending"],
    ["src/core/apply-input.ts", " && !isUnsettled(state) && !state.calls.some(isPending);", " && !isUnsettled(state);"],
  ),
  kept(
    "A cancel or an interrupt settles what is pending in the append that stops the turn, and dispatches nothing.",
    [running, "by the item %s, in the append that stops the turn"],
    [
      "src/core/decide.ts",
      '    call.phase === "parked" && call.approval !== undefined ? [call.approval.requestId] : [],',
      '    call.phase === "finished" && call.approval !== undefined ? [call.approval.requestId] : [],',
    ],
  ),
  kept(
    "A correction settles the request of a call that it calls off.",
    [running, "by a correction: the call is skipped, and what is asked next is new"],
    [
      "src/runner/ask-approval.ts",
      'return settledApproval(state, { requestId, callId: call.id, decision: "cancelled", by: "core" });',
      "return [];",
    ],
  ),
  kept(
    "What auto-approve decided is recorded as a request and a decision, before the call runs.",
    [running, "records each request and that it settled it, in one append, before the call runs"],
    [
      "src/runner/ask-approval.ts",
      'events: [coreRecord("approval_requested", asked), coreRecord("approval_settled", settled)],',
      "events: [],",
    ],
  ),
  kept(
    "Auto-approve decides nothing that is another's to decide.",
    [running, "is not for another who decides"],
    ["src/runner/ask-approval.ts", " && !wantsAnother && !needs", " && !needs"],
  ),
];
