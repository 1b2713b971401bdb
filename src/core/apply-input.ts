// How a taken item changes the state: it opens, stops or steers a turn, or brings what a call waited for.
import { isPending } from "./approval.ts";
import type { EventOf } from "./events.ts";
import { controlItems, type Item, type ItemOf } from "./items.ts";
import { GAP, isBlank, text, textOf, type Content, type Message } from "./messages.ts";
import { asksForReply, isOpen, isRunning, type Arrival, type Call, type Stopping, type TaskState } from "./state.ts";

/** What the model is told when a turn goes on with nothing new said. Part of the request format. */
const GO_ON = "[The task was resumed. Go on.]";

const mayJoin = (state: TaskState): boolean =>
  isRunning(state) && state.calls.length === 0 && state.model.open === undefined;

/** The objective stands in the conversation word for word: as the message that says it, or ahead of the first one. */
const showObjective = (state: TaskState, message: Message): void => {
  if (state.objectiveSeq !== undefined || state.objectiveErased === true || state.objective.trim() === "") return;
  if (message.role === "user" && textOf(message.content) === state.objective) {
    state.objectiveSeq = message.seq;
    return;
  }
  state.objectiveSeq = 1;
  state.messages.push({ seq: 1, role: "user", content: [text(state.objective)] });
};

/** Lets queued messages join, once no call and no model call is open and the turn runs. */
export const flushQueue = (state: TaskState): void => {
  if (state.queue.length === 0 || !mayJoin(state)) return;
  for (const message of state.queue) {
    showObjective(state, message);
    state.messages.push(message);
  }
  state.queue = [];
  reopenAnswer(state);
};

/** A message after the answer means that the turn goes on: another leg. */
const reopenAnswer = (state: TaskState): void => {
  const turn = state.turn;
  if (turn?.answer === undefined) return;
  delete turn.answer;
  delete turn.answerStop;
  turn.legs += 1;
  turn.legSteps = turn.steps;
};

/** Adds a person's or a plugin's words, now or as soon as they may stand in the conversation. Blank ones add nothing. */
export const pushMessage = (state: TaskState, seq: number, words: Content): void => {
  const content = words.filter((part) => !isBlank(part));
  if (content.length === 0) return;
  state.queue.push({ seq, role: "user", content });
  flushQueue(state);
};

const supersede = (state: TaskState): void => {
  for (const call of state.calls) if (isOpen(call) && call.phase !== "unknown") call.superseded = true;
};

const openTurn = (state: TaskState, seq: number): void => {
  supersede(state);
  state.turn = { seq, legs: 1, steps: 0, legSteps: 0 };
  state.model = { attempts: 0, failures: 0 };
  delete state.stopping;
};

/** An action is unknown, and nobody has said yet what happened. */
const isUnsettled = (state: TaskState): boolean =>
  state.calls.some((call) => call.phase === "unknown" && call.resolution === undefined);

const contentOf = (item: ItemOf<"Say"> | ItemOf<"Steer">): Content => {
  if (item.redacted === true) return [text(GAP)];
  return [text(item.text), ...(item.type === "Say" ? (item.files ?? []) : [])];
};

/** Words that follow a stop which is not done yet are for the next turn: a conversation opens it at once. */
const followsStop = (state: TaskState, item: Item): boolean =>
  state.mode === "conversation" && state.stopping !== undefined && item.seq > state.stopping.seq;

const say = (state: TaskState, seq: number, item: ItemOf<"Say"> | ItemOf<"Steer">): void => {
  const rests = !isRunning(state) || followsStop(state, item);
  const begins = rests && !isUnsettled(state) && (state.mode !== "run" || state.turn === undefined);
  if (begins) openTurn(state, seq);
  pushMessage(state, seq, contentOf(item));
};

const steer = (state: TaskState, seq: number, item: ItemOf<"Steer">): void => {
  if (isRunning(state)) supersede(state);
  if (item.by !== state.owner) state.steeredByOther = true;
  say(state, seq, item);
};

const stop = (state: TaskState, kind: Stopping["kind"], { by, seq }: Item): void => {
  if (state.stopping?.kind === "cancel") return;
  state.stopping = { kind, by, seq };
  supersede(state);
};

const cancel = (state: TaskState, item: Item): void => {
  const turn = state.turn;
  const nothingToCancel = turn === undefined || turn.outcome === "completed" || turn.outcome === "cancelled";
  if (nothingToCancel && state.mode !== "oneShot") return;
  if (turn !== undefined) {
    delete turn.outcome;
    delete turn.reason;
  }
  stop(state, "cancel", item);
};

/** Nothing runs, nothing is unknown, nobody is asked, no child and no job lives. */
export const mayClose = (state: TaskState): boolean =>
  !isRunning(state) &&
  Object.keys(state.children).length === 0 &&
  state.calls.every((call) => call.phase === "waiting" || call.phase === "finished" || call.phase === "started");

/** A turn that stopped, with nothing unknown and no decision pending, may go on. */
export const mayResume = (state: TaskState): boolean =>
  state.turn?.outcome !== undefined && !isUnsettled(state) && !state.calls.some(isPending);

/** What was approved and has not begun asks anew. */
export const voidApprovals = (state: TaskState): void => {
  for (const call of state.calls) if (call.phase === "waiting") delete call.approval;
};

const resume = (state: TaskState, seq: number, item: ItemOf<"Resume">): void => {
  const turn = state.turn;
  if (turn === undefined || !mayResume(state)) return;
  const words = item.redacted === true ? GAP : item.text;
  if (turn.outcome === "completed") openTurn(state, seq);
  else {
    delete turn.outcome;
    delete turn.reason;
    delete turn.failed;
    delete turn.answer;
    delete turn.answerStop;
    turn.steps = 0;
    turn.legs = 1;
    turn.legSteps = 0;
    state.model.failures = 0;
    delete state.model.retryAt;
    // An attempt that was under way when the turn stopped is over: what is said now joins before the next one.
    delete state.model.open;
  }
  voidApprovals(state);
  pushMessage(state, seq, words === undefined ? [] : [text(words)]);
  flushQueue(state);
  if (!asksForReply(state) && state.calls.length === 0) pushMessage(state, seq, [text(GO_ON)]);
};

const findCall = (state: TaskState, id: string): Call | undefined => state.calls.find((call) => call.id === id);

const arrive = (call: Call | undefined, on: string, arrival: Arrival): void => {
  if (call?.phase === "parked" && call.parked?.on === on) call.arrival ??= arrival;
};

const settle = (state: TaskState, item: ItemOf<"Resolve"> | ItemOf<"Verify">): void => {
  const call = findCall(state, item.callId);
  if (call?.phase !== "unknown") return;
  if (item.type === "Verify") call.verifyAskedBy = item.by;
  else call.resolution ??= { outcome: item.outcome, by: item.by, verification: item.verification };
};

const timerFired = (state: TaskState, item: ItemOf<"TimerFired">): void => {
  const timer = Object.hasOwn(state.timers, item.timerId) ? state.timers[item.timerId] : undefined;
  // Set anew since it came due: the new time stands.
  if (timer?.dueAt !== item.dueAt) return;
  Reflect.deleteProperty(state.timers, item.timerId);
  if (timer.callId === undefined) return;
  arrive(findCall(state, timer.callId), "timer", { status: "ok", content: [text("The time has come.")] });
};

const childEnded = (state: TaskState, item: ItemOf<"ChildEnded">): void => {
  Reflect.deleteProperty(state.children, item.childId);
  const words = item.answer ?? item.reason ?? item.outcome;
  const status = item.outcome === "done" ? "ok" : "error";
  arrive(findCall(state, item.callId), "children", { status, content: [text(words)] });
};

const signal = (state: TaskState, item: ItemOf<"Signal">): void => {
  const waits = (call: Call): boolean =>
    call.phase === "parked" && call.parked?.on === "signal" && call.parked.ref === item.name && !call.arrival;
  const words = item.data === undefined ? item.name : JSON.stringify(item.data);
  arrive(state.calls.find(waits), "signal", { status: "ok", content: [text(words)] });
};

const take = (state: TaskState, seq: number, item: Item): void => {
  if (item.refused !== undefined) return undefined;
  switch (item.type) {
    case "Say":
      return say(state, seq, item);
    case "Steer":
      return steer(state, seq, item);
    case "Interrupt":
      return isRunning(state) ? stop(state, "interrupt", item) : undefined;
    case "Cancel":
      return cancel(state, item);
    case "Close":
      return mayClose(state) ? stop(state, "close", item) : undefined;
    case "Resume":
      return resume(state, seq, item);
    case "Resolve":
    case "Verify":
      return settle(state, item);
    case "Answer":
      return arrive(findCall(state, item.question), "answer", {
        status: "ok",
        content: [text(item.redacted === true ? GAP : item.text)],
      });
    case "TimerFired":
      return timerFired(state, item);
    case "ChildEnded":
      return childEnded(state, item);
    case "Signal":
      return signal(state, item);
    case "Reconfigure":
      // The owner's alone. The runner records it as `core/config` beside this event.
      if (item.by === state.owner) state.settings = { ...state.settings, ...item.settings };
      return undefined;
    case "Decide":
    case "SourceChanged":
    case "Handoff":
    case "Collaborate":
      return undefined; // Their effect is a core record of its own, which follows.
  }
};

/** Control items first, in their order, then the others as they came. */
export const applyInput = (state: TaskState, seq: number, event: EventOf<"InputTaken">): void => {
  delete state.waiting;
  for (const type of controlItems) {
    for (const item of event.items) if (item.type === type) take(state, seq, item);
  }
  for (const item of event.items) if (!controlItems.includes(item.type)) take(state, seq, item);
  state.inboxTaken = event.through;
};
