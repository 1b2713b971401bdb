// Drives fold and decide as a runner does, with choices in place of the world, so that every log it gives is one that
// perdure writes. Once the choices are spent, everything goes well.
import { decide, type Facts, type Step } from "../../core/decide.ts";
import type { Event, EventOf, Recorded } from "../../core/events.ts";
import { createState, fold } from "../../core/fold.ts";
import type { Item } from "../../core/items.ts";
import { refusalFor } from "../../core/people.ts";
import type { Reducers, TaskState } from "../../core/state.ts";
import type { Choices } from "./choices.ts";
import { TASK, core, created, item, toolsKnown, waiting } from "../given.ts";
import { performCalls, performRecovery } from "./calls.ts";
import { performModelCall } from "./model.ts";
import { append, post, settle, takeOver, type PureRun } from "./run.ts";
import { someItem, wakingItem, worldTools } from "./world.ts";

/** More steps than this after the choices are spent, without rest, and the task would never have come to rest. */
const PATIENCE = 200;

export interface PureRunOptions {
  readonly choices: Choices;
  readonly created?: Parameters<typeof created>[0];
  /** A log to go on from, as after a crash. */
  readonly log?: readonly Recorded[];
  readonly reducers?: Reducers;
  /** Sees every state with the step that was decided for it, before the step is performed. */
  readonly onStep?: (state: TaskState, facts: Facts, step: Step) => void;
}

const fireTimers = (run: PureRun): void => {
  for (const [timerId, { dueAt }] of Object.entries(run.state.timers)) {
    const key = `timer ${timerId} ${String(dueAt)}`;
    if (dueAt > run.now || run.inbox.some((item) => item.key === key)) continue;
    post(run, { seq: run.inboxSeq + 1, at: run.now, by: "core", key, type: "TimerFired", timerId, dueAt });
  }
};

/** The kernel's own records that follow what was taken. */
const recordsOf = (state: TaskState, item: Item): Event[] => {
  if (item.refused !== undefined) return [];
  switch (item.type) {
    case "Decide": {
      const call = state.calls.find(
        ({ phase, approval }) => phase === "parked" && approval?.requestId === item.requestId,
      );
      if (call === undefined) return [];
      const decision = item.decision === "approve" ? "approved" : "denied";
      return [core("approval_settled", { requestId: item.requestId, callId: call.id, decision, by: item.by })];
    }
    case "Handoff":
      return [core("handoff", { origin: item.origin, by: item.by })];
    case "Collaborate":
      return [core("collaborator", { principal: item.principal, change: item.change, by: item.by })];
    case "SourceChanged":
      return [core("refreshed", { source: item.source, seqs: [] })];
    default:
      return [];
  }
};

const takeInput = (run: PureRun): void => {
  const items = run.inbox.map((item): Item => {
    const refused = refusalFor(run.state, item);
    return refused === null ? item : { ...item, refused };
  });
  run.inbox = [];
  append(run, { type: "InputTaken", items, through: run.inboxSeq });
  for (const item of items) for (const event of recordsOf(run.state, item)) append(run, event);
};

const performWait = (run: PureRun, step: Extract<Step, { do: "Wait" }>): void => {
  if (!step.record) return;
  const callOf = new Map(run.state.calls.map((call) => [call.approval?.requestId, call.id]));
  settle(run, step.settle);
  for (const requestId of step.cancelApprovals) {
    const callId = callOf.get(requestId) ?? "";
    append(run, core("approval_settled", { requestId, callId, decision: "cancelled", by: "core" }));
  }
  for (const requestId of step.voidApprovals) {
    const callId = callOf.get(requestId) ?? "";
    append(run, core("approval_settled", { requestId, callId, decision: "void", by: "core" }));
  }
  for (const id of step.cancelTimers) append(run, core("timer_cancelled", { id }));
  if (step.interrupted !== undefined) append(run, core("interrupted", { reason: step.interrupted }));
  const { on, outcome, reason, answer, waits } = step;
  const fields: Partial<EventOf<"Waiting">> = {
    ...(outcome === undefined ? {} : { outcome }),
    ...(reason === undefined ? {} : { reason }),
    detail: { ...(answer === undefined ? {} : { answer }), ...(waits.length === 0 ? {} : { waits: [...waits] }) },
  };
  append(run, waiting(on, fields));
  run.stoppedMidTurn = null;
  run.context = "fits";
};

const performCompact = (run: PureRun): void => {
  const { messages } = run.state;
  const seqOf = (): number => messages[run.choices.below(messages.length)]?.seq ?? 1;
  const kept = run.choices.once(3) ? [seqOf(), seqOf()] : [];
  append(run, { type: "Compacted", through: seqOf(), summary: "what was said", kept });
  run.context = run.choices.of(["fits", "full", "fits", "over"]);
};

const performEnd = (run: PureRun, step: Extract<Step, { do: "End" }>): void => {
  const { outcome, answer, reason } = step;
  settle(run, step.settle);
  const words = { ...(answer === undefined ? {} : { answer }), ...(reason === undefined ? {} : { reason }) };
  append(run, { type: "TaskEnded", outcome, ...words });
};

const perform = (run: PureRun, step: Step): void => {
  switch (step.do) {
    case "TakeInput":
      return takeInput(run);
    case "CallModel":
      return performModelCall(run, step);
    case "RunCalls":
      return performCalls(run, step);
    case "RecoverCalls":
      return performRecovery(run, step.orders);
    case "Compact":
      return performCompact(run);
    case "Continue":
      return append(run, {
        type: "ExtensionRecorded",
        extension: "plan",
        kind: "leg",
        v: 1,
        data: {},
        message: [{ type: "text", text: "[Goals are open.]" }],
      });
    case "Wait":
      return performWait(run, step);
    case "End":
      return performEnd(run, step);
  }
};

/** What may come between any two steps: an item, a crash, time, a context that grew, goals that opened. */
const disturb = (run: PureRun): void => {
  switch (run.choices.below(16)) {
    case 11:
      return post(run, someItem(run.state, run.choices, run.inboxSeq + 1));
    case 12:
      return takeOver(run);
    case 13:
      run.now += run.choices.of([1, 10_000, 100_000]);
      return;
    case 14:
      run.context = "over";
      return;
    case 15:
      run.goals = run.choices.of([
        null,
        { open: 2, blocked: 0, progress: true },
        { open: 1, blocked: 1, progress: true },
      ]);
      return;
    default:
  }
};

const factsOf = (run: PureRun): Facts => {
  fireTimers(run);
  const { announced, unverified, stoppedMidTurn, now, context, goals, choices } = run;
  const untaken = run.inbox.length > 0;
  return { untaken, announced, unverified, stoppedMidTurn, now, context, goals: choices.spent ? null : goals };
};

/** What the task waits for comes. */
export const wake = (run: PureRun): void => {
  const detached = run.state.calls.find((call) => call.phase === "detached" && call.arrival === undefined);
  const item = wakingItem(run.state, run.inboxSeq + 1);
  if (item !== null) post(run, item);
  else if (detached !== undefined) {
    append(
      run,
      core("detached_ended", { callId: detached.id, job: "job 1", status: run.choices.of(["ok", "error", "unknown"]) }),
    );
  }
  run.now += 100_000;
};

/** A task as it stands after its first pickup, or where `log` ends. */
export const beginRun = ({ choices, log, reducers = {}, created: fields }: PureRunOptions): PureRun => {
  const first: Recorded = { seq: 1, at: 1, event: created({ objective: "the objective", ...fields }) };
  const state = log === undefined ? createState(TASK, first) : fold(TASK, log, reducers);
  const run: PureRun = {
    choices,
    reducers,
    log: log === undefined ? [first] : [...log],
    rows: [],
    state,
    inbox: [],
    inboxSeq: state.inboxTaken,
    now: state.at,
    context: "fits",
    goals: null,
    announced: new Set(),
    unverified: new Set(),
    stoppedMidTurn: null,
  };
  takeOver(run);
  if (log !== undefined) return run;
  append(run, core("prompts", { identity: "You are demo.", system: "Be brief.", parts: [] }));
  append(run, toolsKnown(...worldTools));
  if (!choices.once(4)) post(run, item("Say", { text: "the objective" }, { seq: 1, key: "key 1" }));
  return run;
};

/** One decision and its performance. False when the task rests: nothing is left to do until something comes. */
export const stepOnce = (run: PureRun, onStep?: PureRunOptions["onStep"]): boolean => {
  const facts = factsOf(run);
  const step = decide(run.state, facts);
  onStep?.(run.state, facts, step);
  perform(run, step);
  return !(step.do === "End" || (step.do === "Wait" && !step.record));
};

/** Steps until the task rests. Throws when it does not come to rest although nothing disturbs it. */
export const settleDown = (run: PureRun, onStep?: PureRunOptions["onStep"]): void => {
  for (let steps = 0; stepOnce(run, onStep); steps += 1) {
    if (steps > PATIENCE) throw new Error(`no rest after ${String(PATIENCE)} steps`);
  }
};

/** Runs a task through all the choices, and then to its rest. */
export const runPurely = (options: PureRunOptions): PureRun => {
  const { choices, onStep } = options;
  const run = beginRun(options);
  while (!choices.spent && run.state.ended === undefined) {
    disturb(run);
    const goesOn = stepOnce(run, onStep);
    if (goesOn) continue;
    if (choices.once(2)) wake(run);
    else post(run, someItem(run.state, choices, run.inboxSeq + 1));
  }
  if (run.state.ended === undefined) settleDown(run, onStep);
  return run;
};
