// The fold: events in, state out. No I/O, no clock, no randomness. It may change in place a state that nobody else holds.
import type { Event, EventOf, Recorded } from "./events.ts";
import { applyInput, flushQueue, pushMessage } from "./apply-input.ts";
import { applyCoreRecord } from "./apply-record.ts";
import { GAP, isBlank, text, textOf, type AssistantPart, type Message, type RequestCall } from "./messages.ts";
import { type Call, type Reducers, type TaskState } from "./state.ts";
import { countUsage } from "./usage.ts";

/** What must not happen: an event that cannot follow this state. The log is whole, but not one that perdure writes. */
export class FoldError extends Error {
  override readonly name = "FoldError";
}

/** The state after a task's TaskCreated. Of `source`, the folded and `continued` state of `historyFrom`, stays what the
 * event does not say. */
export const createState = (taskId: string, first: Recorded, source?: TaskState): TaskState => {
  const { event, seq, at } = first;
  if (event.type !== "TaskCreated" || seq !== 1)
    throw new FoldError(`a log begins with TaskCreated, not ${event.type}`);
  const { agent, owner, origin, root, mode, onInterrupt, objective, config: settings } = event;
  const created = { taskId, seq, at, agent, owner, origin, root, mode, onInterrupt, objective, settings };
  const base: TaskState = {
    forkDepth: 0,
    pins: [],
    tools: [],
    messages: [],
    queue: [],
    replies: 0,
    calls: [],
    model: { attempts: 0, failures: 0 },
    compactions: 0,
    timers: {},
    children: {},
    collaborators: [],
    usage: [],
    inboxTaken: 0,
    plugins: {},
    ...source,
    ...created,
  };
  if (event.parent !== undefined) base.parent = event.parent;
  if (event.historyFrom !== undefined) base.historyFrom = event.historyFrom;
  return base;
};

/** The call's id: `c<seq>_<index>`, in a fork of depth n `f<n>c<seq>_<index>`. A form that every provider takes. */
export const callId = (forkDepth: number, seq: number, index: number): string =>
  `${forkDepth > 0 ? `f${String(forkDepth)}` : ""}c${String(seq)}_${String(index)}`;

const applyModelCalled = (state: TaskState, seq: number, event: EventOf<"ModelCalled">): void => {
  const { model, attempt, purpose, requestHash, prefixHash, messages, revision } = event;
  state.model.open = { seq, model, attempt, purpose, requestHash, prefixHash, messages, revision };
  state.model.attempts = attempt;
  delete state.model.retryAt;
  delete state.waiting;
  if (purpose === "turn") state.chain = { prefixHash, hash: requestHash, messages, revision };
};

/** The reply's parts as later requests show them: calls with their ids, gaps for redacted words, no blank texts. */
const partsOf = (forkDepth: number, seq: number, event: EventOf<"ModelReplied">): AssistantPart[] =>
  event.message.parts.flatMap((part, index): AssistantPart[] => {
    if (part.type === "call") return [{ ...part, id: callId(forkDepth, seq, index) }];
    if (event.redacted === true) return part.type === "text" ? [text(GAP)] : [];
    return isBlank(part) ? [] : [part];
  });

const applyModelReplied = (state: TaskState, seq: number, event: EventOf<"ModelReplied">): void => {
  const open = state.model.open;
  if (open === undefined) throw new FoldError(`ModelReplied at seq ${String(seq)} answers no ModelCalled`);
  countUsage(state, { purpose: open.purpose, model: open.model, usage: event.usage, failed: false });
  state.model = { attempts: 0, failures: 0 };
  state.replies += 1;
  const { tokens } = event.usage;
  if (tokens !== "unknown") {
    state.contextTokens = tokens.input + (tokens.cacheRead ?? 0) + (tokens.cacheWrite ?? 0) + tokens.output;
  }
  const parts = partsOf(state.forkDepth, seq, event);
  if (parts.length > 0) state.messages.push({ seq, role: "assistant", parts });
  const turn = state.turn;
  if (turn !== undefined) turn.steps += 1;
  const redacted = event.redacted === true ? ({ redacted: true } as const) : {};
  state.calls = parts
    .filter((part): part is RequestCall => part.type === "call")
    .map(({ id, name, input }): Call => ({ id, name, input, phase: "waiting", attempt: 0, ...redacted }));
  if (state.calls.length === 0) {
    if (turn !== undefined) {
      turn.answer = event.redacted === true ? GAP : textOf(event.message.parts);
      turn.answerStop = event.stopReason;
    }
    flushQueue(state);
  }
};

const openCall = (state: TaskState, id: string, what: string): Call => {
  const call = state.calls.find((candidate) => candidate.id === id);
  if (call === undefined || call.phase === "finished")
    throw new FoldError(`${what} for ${id}, which is not an open call`);
  return call;
};

const applyToolStarted = (state: TaskState, at: number, event: EventOf<"ToolStarted">): void => {
  const call = openCall(state, event.callId, "ToolStarted");
  call.phase = "started";
  call.input = event.input;
  call.attempt = event.attempt;
  call.effect = event.effect;
  call.definition = event.definition;
  call.invocationId = event.invocationId;
  call.startedAt ??= at;
  if (event.idempotent !== undefined) call.idempotent = event.idempotent;
  if (event.redacted === true) call.redacted = true;
  else delete call.redacted;
  delete state.waiting;
};

/** Once every call of the reply is finished: one tool message, results in call order; then what waited joins. */
const settleReply = (state: TaskState, seq: number): void => {
  if (state.calls.length === 0 || !state.calls.every((call) => call.phase === "finished")) return;
  const results = state.calls.flatMap((call) => (call.result === undefined ? [] : [call.result]));
  state.messages.push({ seq, role: "tool", results });
  state.calls = [];
  flushQueue(state);
};

const applyToolFinished = (state: TaskState, seq: number, event: EventOf<"ToolFinished">): void => {
  const call = openCall(state, event.callId, "ToolFinished");
  delete state.waiting;
  call.phase = "finished";
  const content = event.redacted === true ? [text(GAP)] : event.content;
  call.result = { callId: call.id, name: call.name, status: event.status, content };
  delete call.parked;
  delete call.arrival;
  delete call.unknownAt;
  delete call.unknownReason;
  delete call.resolution;
  delete call.verifyAskedBy;
  settleReply(state, seq);
};

const applyCompacted = (state: TaskState, seq: number, event: EventOf<"Compacted">): void => {
  const kept = new Set(event.kept);
  const shows = state.objectiveSeq;
  const objective = state.messages.find((message) => message.seq === shows);
  // By place: an earlier summary has a later seq than the messages that follow it.
  const last = state.messages.findLastIndex((message) => message.seq <= event.through);
  let stays = false;
  const rest = state.messages.filter((message, index) => {
    // Results stay or go with their calls.
    if (message.role !== "tool") stays = index > last || kept.has(message.seq);
    return stays && message !== objective;
  });
  const summary: Message = {
    seq,
    role: "user",
    content: [text(`[Summary of the conversation up to here]\n${event.redacted === true ? GAP : event.summary}`)],
  };
  state.messages = objective === undefined ? [summary, ...rest] : [objective, summary, ...rest];
  state.compactions += 1;
  delete state.chain;
  delete state.contextTokens;
};

const applyWaiting = (state: TaskState, event: EventOf<"Waiting">): void => {
  const { on, outcome, reason, detail } = event;
  state.waiting = {
    on,
    ...(outcome === undefined ? {} : { outcome }),
    ...(reason === undefined ? {} : { reason }),
    waits: detail.waits ?? [],
  };
  delete state.interrupted;
  if (outcome === undefined) return;
  delete state.stopping;
  const turn = state.turn;
  if (turn === undefined) return;
  turn.outcome = outcome;
  if (reason !== undefined) turn.reason = reason;
};

const reducePlugins = (
  state: TaskState,
  recorded: Recorded,
  event: EventOf<"ExtensionRecorded">,
  reducers: Reducers,
) => {
  const erased = event.extension === "core" && event.kind === "erased";
  if (event.extension === "core" && !erased) return;
  const record = {
    extension: event.extension,
    kind: event.kind,
    v: event.v,
    data: event.data,
    seq: recorded.seq,
    redacted: event.redacted === true,
  };
  for (const [name, reducer] of Object.entries(reducers)) {
    const sees = erased || name === event.extension || reducer.folds?.includes(event.extension) === true;
    if (!sees) continue;
    const before = Object.hasOwn(state.plugins, name) ? state.plugins[name] : reducer.initial();
    state.plugins[name] = reducer.reduce(before, record);
  }
};

const applyRecord = (state: TaskState, recorded: Recorded, event: EventOf<"ExtensionRecorded">, reducers: Reducers) => {
  if (event.extension === "core") applyCoreRecord(state, recorded, event);
  reducePlugins(state, recorded, event, reducers);
  if (event.message === undefined) return;
  pushMessage(state, recorded.seq, event.redacted === true ? [text(GAP)] : event.message);
};

const applyEvent = (state: TaskState, recorded: Recorded, event: Event, reducers: Reducers): void => {
  switch (event.type) {
    case "TaskCreated":
      throw new FoldError(`a second TaskCreated at seq ${String(recorded.seq)}`);
    case "InputTaken":
      applyInput(state, recorded.seq, event);
      return;
    case "ModelCalled":
      applyModelCalled(state, recorded.seq, event);
      return;
    case "ModelReplied":
      applyModelReplied(state, recorded.seq, event);
      return;
    case "ToolStarted":
      applyToolStarted(state, recorded.at, event);
      return;
    case "ToolFinished":
      applyToolFinished(state, recorded.seq, event);
      return;
    case "Compacted":
      applyCompacted(state, recorded.seq, event);
      return;
    case "Waiting":
      applyWaiting(state, event);
      return;
    case "TaskEnded":
      state.ended = { outcome: event.outcome, ...(event.reason === undefined ? {} : { reason: event.reason }) };
      state.timers = {};
      return;
    case "ExtensionRecorded":
      applyRecord(state, recorded, event, reducers);
  }
};

/** Folds one event into `state`, in place, and gives it back. Throws FoldError, or what a reducer threw. */
export const apply = (state: TaskState, recorded: Recorded, reducers: Reducers): TaskState => {
  if (recorded.seq !== state.seq + 1) {
    throw new FoldError(`seq ${String(recorded.seq)} does not follow ${String(state.seq)}`);
  }
  if (state.ended !== undefined) throw new FoldError(`${recorded.event.type} after TaskEnded`);
  applyEvent(state, recorded, recorded.event, reducers);
  state.seq = recorded.seq;
  state.at = recorded.at;
  return state;
};

/** Folds a log from its first event. `source`: see createState. */
export const fold = (taskId: string, log: Iterable<Recorded>, reducers: Reducers, source?: TaskState): TaskState => {
  let state: TaskState | undefined;
  for (const recorded of log) {
    state = state === undefined ? createState(taskId, recorded, source) : apply(state, recorded, reducers);
  }
  if (state === undefined) throw new FoldError(`task ${taskId} has no events`);
  return state;
};

/** The time of events that are folded before they are committed; `confirmTime` puts the store's in its place. */
export const PROVISIONAL = -1;

/** Replaces provisional times by that of the commit (store's clock, ms), so that the state is what a fold would give. */
export const confirmTime = (state: TaskState, at: number): void => {
  state.at = at;
  for (const call of state.calls) {
    if (call.startedAt === PROVISIONAL) call.startedAt = at;
    if (call.unknownAt === PROVISIONAL) call.unknownAt = at;
  }
};
