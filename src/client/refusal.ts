// Why a task in this state cannot take an item, in words for whoever posts it. The fold would pass such an item over in
// silence; a person is told instead. What comes in between is judged by the fold alone.
import type { Recorded } from "../core/events.ts";
import { isPending } from "../core/approval.ts";
import { mayClose, mayResume } from "../core/apply-input.ts";
import type { NewItem } from "../core/items.ts";
import { fateOf, openQuestions } from "./questions.ts";
import { isRunning, type Call, type TaskState } from "../core/state.ts";

const naming = (calls: readonly Call[]): string => calls.map((call) => `${call.id} (${call.name})`).join(", ");

const unknownCalls = (state: TaskState): Call[] => state.calls.filter((call) => call.phase === "unknown");

const unsettled = (state: TaskState, what: string): string | null => {
  const unknown = unknownCalls(state);
  if (unknown.length === 0) return null;
  return `cannot be ${what} while an action is unknown: ${naming(unknown)}. Resolve or verify it first`;
};

const resumeRefusal = (state: TaskState): string | null => {
  if (mayResume(state)) return null;
  if (state.turn === undefined) return "cannot be resumed: it has not begun";
  const unknown = unsettled(state, "resumed");
  if (unknown !== null) return unknown;
  if (isRunning(state)) return "cannot be resumed: its turn is not over";
  const pending = state.calls.filter(isPending).map(({ approval }) => approval?.requestId ?? "");
  return `cannot be resumed while an approval is pending: approve or deny ${pending.join(", ")} first`;
};

const closeRefusal = (state: TaskState): string | null => {
  if (mayClose(state)) return null;
  if (isRunning(state)) return "cannot be closed in the middle of a turn: interrupt or cancel it first";
  if (state.calls.some(isPending)) return "cannot be closed while an approval is pending: decide it, or cancel";
  return unsettled(state, "closed") ?? "cannot be closed while a child or a background job of it lives";
};

const cancelRefusal = ({ mode, turn }: TaskState): string | null => {
  if (mode === "oneShot") return null;
  if (turn === undefined) return "has no turn to cancel";
  return turn.outcome === "completed" || turn.outcome === "cancelled"
    ? `has no turn to cancel: its last one is ${turn.outcome}`
    : null;
};

const actionRefusal = (state: TaskState, callId: string): string | null => {
  const unknown = unknownCalls(state);
  if (unknown.some((call) => call.id === callId)) return null;
  const open = unknown.length === 0 ? "none is unknown" : `unknown: ${naming(unknown)}`;
  return `has no unknown action ${callId}; ${open}`;
};

const verifyRefusal = (state: TaskState, callId: string): string | null => {
  const refusal = actionRefusal(state, callId);
  if (refusal !== null) return refusal;
  const name = state.calls.find((call) => call.id === callId)?.name ?? "";
  const canVerify = state.tools.some((tool) => tool.name === name && tool.verify === true);
  return canVerify ? null : `cannot verify ${callId}: the tool ${name} has no check of its own. Resolve it instead`;
};

const answerRefusal = (state: TaskState, events: readonly Recorded[], question: string): string | null => {
  const open = openQuestions(events, state);
  if (open.some((each) => each.question === question)) return null;
  const asks = open.length === 0 ? "no question is open" : `open: ${open.map((each) => each.question).join(", ")}`;
  return `has no open question ${question}: it ${fateOf(events, question)}; ${asks}`;
};

/** A sentence that goes on after "task <id>", or null where the item may be posted. */
export const refusalOf = (state: TaskState, events: readonly Recorded[], item: NewItem): string | null => {
  if (state.ended !== undefined) return `has ended (${state.ended.outcome}): it takes nothing more`;
  switch (item.type) {
    case "Resume":
      return resumeRefusal(state);
    case "Close":
      return closeRefusal(state);
    case "Cancel":
      return cancelRefusal(state);
    case "Interrupt":
      return isRunning(state) || state.turn === undefined ? null : "has no turn to interrupt: it is at rest";
    case "Resolve":
      return actionRefusal(state, item.callId);
    case "Verify":
      return verifyRefusal(state, item.callId);
    case "Answer":
      return answerRefusal(state, events, item.question);
    case "Reconfigure":
      return Object.keys(item.settings).length > 0 ? null : "is given no setting to change";
    default:
      return null;
  }
};
