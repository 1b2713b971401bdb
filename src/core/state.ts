// What the fold gives: just what the next step needs. Plain JSON, so that a snapshot decodes back equal.
// Nothing here grows with a task's age but `messages`, which compaction cuts.
import type { Effect, EndOutcome, EventOf, Mode, Outcome, Wait, WaitingOn } from "./events.ts";
import type { Origin, Settings } from "./items.ts";
import type { CallResult, Content, Message } from "./messages.ts";
import type { ModelFailure, Pin, ToolEntry } from "./records.ts";

export interface Resolution {
  readonly outcome: "done" | "absent";
  readonly by: string;
  readonly verification: string;
}

/** What a parked call waited for, once it has come. */
export interface Arrival {
  readonly status: "ok" | "error";
  readonly content: Content;
}

/** The newest request about a call: pending while the call is parked on it, then approved and good for one run. */
export interface Approval {
  readonly requestId: string;
  /** Of the input that may run: the one that was shown, or the corrected one. */
  inputHash: string;
  readonly definition: string;
  readonly decides: string;
  approved: boolean;
}

/**
 * - `waiting`: not started.
 * - `parked`: waits for something outside the task.
 * - `started`: announced by ToolStarted, no result yet.
 * - `unknown`: its effect may or may not have happened; open until it is settled.
 * - `detached`: runs in the background.
 * - `finished`: has its one result.
 */
export type CallPhase = "waiting" | "parked" | "started" | "unknown" | "detached" | "finished";

/** A call of the newest reply. Gone from the state once every call of that reply is finished. */
export interface Call {
  readonly id: string;
  readonly name: string;
  input: unknown;
  phase: CallPhase;
  /** Of the newest ToolStarted; 0 before the first. */
  attempt: number;
  /** Set by ToolStarted. */
  effect?: Effect;
  idempotent?: { readonly ttlMs: number };
  definition?: string;
  invocationId?: string;
  /** When the first attempt was announced (store's clock, ms). */
  startedAt?: number;
  /** A correction, an interrupt or a new turn came: it must end `skipped`, unless it was dispatched. */
  superseded?: true;
  /** Its input was redacted: nobody can run, repeat or verify it any more. */
  redacted?: true;
  parked?: { readonly on: WaitingOn; readonly ref?: string };
  arrival?: Arrival;
  /** The person said no, or nobody said anything in time; the text for the model. */
  denied?: string;
  approval?: Approval;
  /** How often somebody was asked about it; part of the next request's id. */
  asked?: number;
  /** When it became unknown (store's clock, ms); why, as recorded. */
  unknownAt?: number;
  unknownReason?: string;
  resolution?: Resolution;
  /** Someone asked for its verification (`Verify`). */
  verifyAskedBy?: string;
  result?: CallResult;
}

export interface Turn {
  /** The event that opened it. */
  readonly seq: number;
  legs: number;
  steps: number;
  /** Steps when the current leg began. */
  legSteps: number;
  /** The text of a reply that asked for no calls: the turn's answer. */
  answer?: string;
  /** How it stopped. Absent while it runs; a resume removes it. */
  outcome?: Outcome;
  reason?: string;
  answerStop?: EventOf<"ModelReplied">["stopReason"];
  /** It cannot go on (`core/turn_failed`): a plugin or configuration error, a request refused for good. */
  failed?: string;
}

/** What someone asked for that stops the turn, not yet done. */
export interface Stopping {
  readonly kind: "interrupt" | "cancel" | "close";
  readonly by: string;
  /** The item's inbox seq. */
  readonly seq: number;
}

export interface ModelProgress {
  /** The call announced by ModelCalled that has no reply yet. */
  open?: {
    readonly seq: number;
    readonly model: string;
    readonly attempt: number;
    readonly purpose: string;
    readonly requestHash: string;
    readonly prefixHash: string;
    readonly messages: number;
    readonly revision: number;
  };
  /** Attempts at the next reply so far. */
  attempts: number;
  /** Attempts that failed since the last reply or resume. */
  failures: number;
  lastFailure?: ModelFailure;
  retryAt?: number;
}

/** The hash chain of the newest request: where it began, how many messages it covers, under which revision's secret. */
export interface RequestChain {
  readonly prefixHash: string;
  readonly hash: string;
  readonly messages: number;
  readonly revision: number;
}

export interface UsageCounter {
  purpose: string;
  model: string;
  calls: number;
  failed: number;
  /** Calls whose tokens the provider did not report. */
  unknown: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
  durationMs: number;
  /** Absent until a price was configured for a call. */
  priceEstimate?: number;
}

export interface Timer {
  readonly dueAt: number;
  readonly callId?: string;
}

export interface TaskState {
  readonly taskId: string;
  /** The last event folded, and its time. */
  seq: number;
  at: number;
  agent: string;
  owner: string;
  origin: Origin;
  root: string;
  parent?: { readonly taskId: string; readonly callId: string };
  mode: Mode;
  onInterrupt: "continue" | "pause";
  historyFrom?: { readonly taskId: string; readonly through: number };
  /** 0 for a task of its own, n for the fork of a fork …; part of call ids. */
  forkDepth: number;
  objective: string;
  /** The seq of the message that shows the objective word for word; absent before the first turn. */
  objectiveSeq?: number;
  /** The objective was taken out of the conversation (`core/erased`), and stays out. */
  objectiveErased?: true;
  settings: Settings;
  prompts?: {
    readonly identity: string;
    readonly system: string;
    readonly parts: readonly { plugin: string; text: string }[];
  };
  pins: readonly Pin[];
  tools: readonly ToolEntry[];
  messages: Message[];
  /** Messages that wait: for the results of open calls, for a reply, or for the turn to go on. */
  queue: Message[];
  /** ModelReplied events so far. */
  replies: number;
  calls: Call[];
  turn?: Turn;
  stopping?: Stopping;
  /** `core/interrupted` was recorded and the pause that follows is not. */
  interrupted?: string;
  waiting?: {
    readonly on: WaitingOn;
    readonly outcome?: Outcome;
    readonly reason?: string;
    readonly waits: readonly Wait[];
  };
  ended?: { readonly outcome: EndOutcome; readonly reason?: string };
  model: ModelProgress;
  chain?: RequestChain;
  /** The provider's count for the newest reply: what the next request will hold at least. */
  contextTokens?: number;
  compactions: number;
  timers: Record<string, Timer>;
  children: Record<string, { readonly callId: string }>;
  collaborators: string[];
  /** A collaborator's correction was taken: every later change needs the owner's approval. */
  steeredByOther?: true;
  usage: UsageCounter[];
  inboxTaken: number;
  /** Each plugin's own state, by its name. */
  plugins: Record<string, unknown>;
}

/** A plugin's pure reducer over its own records. It must keep reading every older `v`. */
export interface Reducer {
  initial(): unknown;
  /** The next state, or the same one changed in place: nobody else holds it. */
  reduce(state: unknown, record: PluginRecord): unknown;
  /** Plugins whose records it sees too. */
  readonly folds?: readonly string[];
}

export interface PluginRecord {
  readonly extension: string;
  readonly kind: string;
  readonly v: number;
  readonly data: unknown;
  readonly seq: number;
  /** Only the skeleton of `data` is left. */
  readonly redacted: boolean;
}

export type Reducers = Readonly<Record<string, Reducer>>;

export const isOpen = (call: Call): boolean => call.phase !== "finished";

/** A turn that runs: opened, and not stopped by an outcome. */
export const isRunning = (state: TaskState): boolean => state.turn !== undefined && state.turn.outcome === undefined;

/** The conversation ends in something that the model has not answered. */
export const asksForReply = (state: TaskState): boolean => {
  const last = state.messages.at(-1);
  return last !== undefined && last.role !== "assistant";
};

/** A copy that takes further kernel events without changing `state`. Messages and plugin states are shared. */
export const branchOf = (state: TaskState): TaskState => {
  const { turn, calls, messages, queue, model, timers, usage } = state;
  return {
    ...state,
    ...(turn === undefined ? {} : { turn: { ...turn } }),
    calls: calls.map((call) => ({ ...call })),
    messages: messages.slice(),
    queue: queue.slice(),
    model: { ...model },
    timers: { ...timers },
    usage: usage.map((counter) => ({ ...counter })),
  };
};
