// What the runner does next, from the state and the facts of this claim alone. Total: there is a step for every state.
import { changesOutside, waitingOn, type EndOutcome, type Outcome, type Wait, type WaitingOn } from "./events.ts";
import { entryOf, isCalledOff, pausesMidTurn, recoveries, type Recovery } from "./recovery.ts";
import { asksForReply, isRunning, type Call, type TaskState } from "./state.ts";

/** Bounds that hold where a task's settings name none. */
export const DEFAULT_MAX_STEPS = 1_000;
export const DEFAULT_MODEL_ATTEMPTS = 5;
/** Why a turn stops (`core/turn_failed`) whose model is not to be had: it pauses, until the task is given another. */
export const MODEL_MISSING = "model_missing";
/** Why a turn pauses whose front end could not save a correction. */
const CORRECTION_NOT_SAVED = "correction_not_saved";

/** What the runner knows and the log does not. */
export interface Facts {
  /** The inbox holds items that the log has not taken. */
  readonly untaken: boolean;
  /** Calls that this claim announced and has not dispatched. None runs while `decide` is asked. */
  readonly announced: ReadonlySet<string>;
  /** Calls whose `verify` ran under this claim and could not say. */
  readonly unverified: ReadonlySet<string>;
  /** The turn was already running when this claim loaded the log: it was stopped in the middle. Why, if so. `restored`,
   * whatever the log ends in: the database is a backup's, and the log does not say so yet. */
  readonly stoppedMidTurn: "crashed" | "stopped" | "restored" | null;
  /** The store's clock (ms). */
  readonly now: number;
  /** The request would not fit the model's context, and compacting did not help (`full`) or was not tried (`over`). */
  readonly context: "fits" | "over" | "full";
  /** What the plugins say of goals; null where no plugin has any. */
  readonly goals: { readonly open: number; readonly blocked: number; readonly progress: boolean } | null;
  /** Somebody's correction could not be saved, and nobody has saved one since: nothing more is dispatched. */
  readonly correctionUnsaved?: true;
}

/** A result that the kernel writes itself, without running the call. */
export interface Settled {
  readonly callId: string;
  readonly as: "skipped" | "interrupted" | "denied" | "arrived" | "no_such_tool";
}

export interface WaitStep {
  readonly do: "Wait";
  /** False: the log already says so; only park. */
  readonly record: boolean;
  readonly on: WaitingOn;
  readonly outcome?: Outcome;
  readonly reason?: string;
  readonly waits: readonly Wait[];
  readonly answer?: string;
  /** Recorded ahead of the Waiting, in the same append. */
  readonly interrupted?: "crashed" | "stopped" | "restored";
  readonly settle: readonly Settled[];
  readonly cancelTimers: readonly string[];
  readonly cancelApprovals: readonly string[];
  /** Asked before a restore: what was decided since is not in the log. Each call asks anew. */
  readonly voidApprovals: readonly string[];
}

export type Step =
  | { readonly do: "TakeInput" }
  | { readonly do: "RecoverCalls"; readonly orders: readonly { readonly callId: string; readonly order: Recovery }[] }
  | { readonly do: "RunCalls"; readonly start: readonly string[]; readonly settle: readonly Settled[] }
  | { readonly do: "CallModel"; readonly attempt: number; readonly notBefore: number }
  | { readonly do: "Compact" }
  | { readonly do: "Continue" }
  | WaitStep
  | {
      readonly do: "End";
      readonly outcome: EndOutcome;
      readonly answer?: string;
      readonly reason?: string;
      readonly settle: readonly Settled[];
    };

const settlementOf = (state: TaskState, call: Call, facts: Facts, stop: boolean): Settled["as"] | null => {
  const off = stop || isCalledOff(call);
  if (call.phase === "finished" || call.phase === "unknown") return null;
  if (call.arrival !== undefined) return "arrived";
  if (call.phase === "detached") return null;
  if (call.phase === "started" && !facts.announced.has(call.id)) {
    return off && !changesOutside(call) ? "interrupted" : null;
  }
  if (call.denied !== undefined) return "denied";
  // What is announced and not dispatched has run only in earlier attempts.
  const dispatches = call.phase === "started" ? call.attempt - 1 : call.attempt;
  if (off) return dispatches > 0 ? "interrupted" : "skipped";
  return call.phase === "waiting" && entryOf(state, call.name) === undefined ? "no_such_tool" : null;
};

/** Calls that get a result without running: stopped, corrected away, refused, or brought from outside. */
const settlements = (state: TaskState, facts: Facts, stop: boolean): Settled[] =>
  state.calls.flatMap((call) => {
    const as = settlementOf(state, call, facts, stop);
    return as === null ? [] : [{ callId: call.id, as }];
  });

/**
 * The next calls to start: the reads up to the next other call, all at once; or one write, or one internal call, which
 * changes the task's own records and must see what the one before it left there.
 */
const startable = (state: TaskState): string[] => {
  const start: string[] = [];
  for (const call of state.calls) {
    if (call.phase !== "waiting" && call.phase !== "started") continue;
    const effect = call.effect ?? entryOf(state, call.name)?.effect;
    const alone = effect !== undefined && effect !== "read";
    if (alone && start.length > 0) return start;
    start.push(call.id);
    if (alone) return start;
  }
  return start;
};

const waitsOf = (state: TaskState): Wait[] => {
  const waits: Wait[] = [];
  for (const call of state.calls) {
    if (call.phase === "unknown") waits.push({ on: "resolution", callId: call.id });
    else if (call.phase === "parked" && call.parked !== undefined && call.arrival === undefined) {
      const { on, ref } = call.parked;
      waits.push({ on, callId: call.id, ...(ref === undefined ? {} : { ref }) });
    }
  }
  return waits;
};

const firstOf = (waits: readonly Wait[]): WaitingOn | undefined =>
  waitingOn.find((on) => waits.some((wait) => wait.on === on));

type WaitParts = Partial<Omit<WaitStep, "do" | "record" | "on">> & { on: WaitingOn };

const wait = (state: TaskState, parts: WaitParts): WaitStep => ({
  do: "Wait",
  record: state.waiting === undefined || parts.interrupted !== undefined,
  waits: [],
  settle: [],
  cancelTimers: [],
  cancelApprovals: [],
  voidApprovals: [],
  ...parts,
});

/** Where a task waits after a turn that came to an end by itself. */
const restingOn = (state: TaskState): WaitingOn => (state.mode === "run" ? "resume" : "input");

const onResolutionOr = (waits: readonly Wait[], otherwise: WaitingOn): WaitingOn =>
  waits.some((each) => each.on === "resolution") ? "resolution" : otherwise;

/** A turn that goes on only when somebody says so. Calls that are open stay so. */
const pause = (state: TaskState, reason: string): WaitStep => {
  const waits = waitsOf(state);
  return wait(state, { on: onResolutionOr(waits, "resume"), outcome: "paused", reason, waits });
};

/** A turn that was stopped in the middle, and what was approved or asked in a log that a restore cut. */
const pauseMidTurn = (state: TaskState, interrupted: "crashed" | "stopped" | "restored"): WaitStep => {
  if (interrupted !== "restored") return { ...pause(state, "interrupted"), record: true, interrupted };
  const voidApprovals = state.calls.flatMap(({ phase, approval }) =>
    approval !== undefined && (phase === "parked" || phase === "waiting") ? [approval.requestId] : [],
  );
  const waits = waitsOf(state).filter((each) => each.on !== "approval");
  const on = onResolutionOr(waits, "resume");
  return wait(state, { on, outcome: "paused", reason: "restored", waits, interrupted, voidApprovals });
};

/** Everything open is settled in the one append that stops the turn; only unknown actions stay. */
const endsOf = (state: TaskState, facts: Facts) => ({
  settle: settlements(state, facts, true),
  waits: waitsOf(state).filter((each) => each.on === "resolution"),
  cancelTimers: Object.entries(state.timers).flatMap(([id, timer]) => (timer.callId === undefined ? [] : [id])),
  cancelApprovals: state.calls.flatMap((call) =>
    call.phase === "parked" && call.approval !== undefined ? [call.approval.requestId] : [],
  ),
});

const fail = (state: TaskState, facts: Facts, reason: string): Step => {
  const ends = endsOf(state, facts);
  const on = onResolutionOr(ends.waits, "resume");
  if (state.mode === "oneShot" && on === "resume") {
    return { do: "End", outcome: "failed", reason, settle: ends.settle };
  }
  return wait(state, { on, outcome: "failed", reason, ...ends });
};

const stopTurn = (state: TaskState, facts: Facts): Step => {
  const ends = endsOf(state, facts);
  const { settle, waits } = ends;
  const answer = state.turn?.answer;
  if (state.stopping?.kind === "interrupt" && answer !== undefined && (facts.goals?.open ?? 0) === 0) {
    return answered(state, facts, answer);
  }
  if (state.stopping?.kind === "interrupt") {
    return wait(state, { on: onResolutionOr(waits, "resume"), outcome: "paused", reason: "interrupted", ...ends });
  }
  if (state.stopping?.kind === "close") {
    const last = state.turn?.outcome;
    const outcome = last === "failed" || last === "cancelled" ? last : last === "paused" ? "cancelled" : "done";
    const says = outcome === "done" && answer !== undefined ? { answer } : {};
    return { do: "End", outcome, reason: "closed", settle, ...says };
  }
  if (waits.length > 0) return wait(state, { on: "resolution", ...ends });
  if (state.mode === "oneShot") return { do: "End", outcome: "cancelled", reason: "cancelled", settle };
  return wait(state, { on: restingOn(state), outcome: "cancelled", reason: "cancelled", ...ends });
};

const answered = (state: TaskState, facts: Facts, answer: string): Step => {
  const turn = state.turn;
  const goals = facts.goals;
  if (turn?.answerStop === "refusal") return fail(state, facts, "refused");
  if (goals !== null && turn !== undefined && goals.open > 0) {
    if (goals.open === goals.blocked) return pause(state, "goals_blocked");
    if (turn.legs >= (state.settings.maxLegs ?? Number.MAX_SAFE_INTEGER)) return pause(state, "max_legs");
    if (!goals.progress) return pause(state, "no_progress");
    return { do: "Continue" };
  }
  if (state.mode === "oneShot") return { do: "End", outcome: "done", answer, settle: [] };
  const cut = turn?.answerStop === "max_tokens" ? { reason: "max_tokens" } : {};
  return wait(state, { on: restingOn(state), outcome: "completed", answer, ...cut });
};

const callModel = (state: TaskState, facts: Facts): Step => {
  const { model, settings, turn } = state;
  // The words that opened the turn were erased: there is nothing to answer.
  if (!asksForReply(state)) return pause(state, "nothing_to_answer");
  if (model.open === undefined) {
    if (turn !== undefined && turn.steps >= (settings.maxSteps ?? DEFAULT_MAX_STEPS)) {
      return pause(state, "max_steps");
    }
    if (model.failures >= (settings.modelAttempts ?? DEFAULT_MODEL_ATTEMPTS)) {
      return pause(state, `model_${model.lastFailure ?? "failed"}`);
    }
    if (facts.context === "over") return { do: "Compact" };
    if (facts.context === "full") return pause(state, "context_full");
  }
  return { do: "CallModel", attempt: model.attempts + 1, notBefore: model.retryAt ?? 0 };
};

const restingStep = (state: TaskState): Step => {
  const waits = waitsOf(state);
  const { outcome, reason, answer } = state.turn ?? {};
  const resting = outcome === "completed" || outcome === "cancelled" ? restingOn(state) : "resume";
  const on = outcome === undefined ? "input" : onResolutionOr(waits, resting);
  return wait(state, {
    on,
    ...(outcome === undefined ? {} : { outcome }),
    ...(reason === undefined ? {} : { reason }),
    ...(outcome === "completed" && answer !== undefined ? { answer } : {}),
    waits,
  });
};

/** What is announced has not run, and ends `skipped`; what had run before is recovered like after a crash. */
const pauseUnsaved = (state: TaskState, { announced }: Facts): Step => {
  const settle = state.calls.flatMap(({ id, phase, attempt }): Settled[] =>
    phase === "started" && attempt === 1 && announced.has(id) ? [{ callId: id, as: "skipped" }] : [],
  );
  return { ...pause(state, CORRECTION_NOT_SAVED), settle };
};

const turnStep = (state: TaskState, facts: Facts): Step => {
  if (facts.correctionUnsaved === true) return pauseUnsaved(state, facts);
  if (state.turn?.failed === MODEL_MISSING) return pause(state, MODEL_MISSING);
  if (state.turn?.failed !== undefined) return fail(state, facts, state.turn.failed);
  const settle = settlements(state, facts, false);
  const unsettled = state.calls.some((call) => call.phase === "unknown");
  if (settle.length > 0) return { do: "RunCalls", start: [], settle };
  if (unsettled) return pause(state, "unknown_action");
  const start = startable(state);
  if (start.length > 0) return { do: "RunCalls", start, settle: [] };
  const waits = waitsOf(state);
  const on = firstOf(waits);
  if (on !== undefined) return wait(state, { on, waits });
  if (state.calls.some((call) => call.phase === "detached")) return wait(state, { on: "signal", waits: [] });
  const answer = state.turn?.answer;
  return answer === undefined ? callModel(state, facts) : answered(state, facts, answer);
};

/** The next step. Steps that touch the outside announce themselves first; see the runner's files of these names. */
export const decide = (state: TaskState, facts: Facts): Step => {
  if (state.ended !== undefined) return { ...wait(state, { on: "input" }), record: false };
  if (facts.untaken) return { do: "TakeInput" };
  const orders = recoveries(state, facts);
  if (orders.length > 0) return { do: "RecoverCalls", orders };
  if (state.stopping !== undefined) return stopTurn(state, facts);
  if (facts.stoppedMidTurn !== null && pausesMidTurn(state, facts) && isRunning(state)) {
    return pauseMidTurn(state, facts.stoppedMidTurn);
  }
  return isRunning(state) ? turnStep(state, facts) : restingStep(state);
};
