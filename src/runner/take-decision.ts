// What a taken Decide, or the time that ran out, makes of a request: the record that settles it, committed before the call runs.
// And what a resume or a move makes of one that was approved before it.
import { expiryTimerOf, inputHashOf, isPending } from "../core/approval.ts";
import type { Event } from "../core/events.ts";
import type { Item, ItemOf } from "../core/items.ts";
import type { Approval, Call, TaskState } from "../core/state.ts";
import { settledApproval } from "./ask-approval.ts";
import { stateOf, type Run } from "./run.ts";

type Asking = Call & { readonly approval: Approval };

const asking = (run: Run, asks: (approval: Approval) => boolean): Asking | undefined =>
  stateOf(run).calls.find(
    (call): call is Asking => call.approval !== undefined && isPending(call) && asks(call.approval),
  );

/** A correction that does not fit the tool's schema is none: nothing runs for it, and the call is asked about again. */
const corrected = async (
  run: Run,
  call: Call,
  input: unknown,
): Promise<{
  readonly decision: "approved" | "void";
  readonly input?: unknown;
  inputHash?: string;
  reason?: string;
}> => {
  const prepared = run.agent.tools.get(call.name);
  const checked = await prepared?.checkInput(input);
  if (checked?.ok === true) return { decision: "approved", input, inputHash: inputHashOf(run.mac, input) };
  return {
    decision: "void",
    reason: `the corrected input does not fit: ${checked?.message ?? "there is no such tool"}`,
  };
};

const decided = async (run: Run, item: ItemOf<"Decide">): Promise<Event[]> => {
  const { requestId, inputHash, decision, input, reason, by } = item;
  const call = asking(run, (approval) => approval.requestId === requestId);
  // The store has checked all of it in the item's own transaction; what came another way decides nothing.
  if (call?.approval.inputHash !== inputHash || call.approval.decides !== by) return [];
  const settled = { requestId, callId: call.id, by };
  const state = stateOf(run);
  if (decision === "deny") {
    const why = reason === undefined ? {} : { reason };
    return settledApproval(state, { ...settled, decision: "denied", ...why });
  }
  // Whether it held a correction nobody can say any more.
  if (item.redacted === true) return settledApproval(state, { ...settled, decision: "void" });
  if (input === undefined) return settledApproval(state, { ...settled, decision: "approved" });
  return settledApproval(state, { ...settled, ...(await corrected(run, call, input)) });
};

const expired = (run: Run, timerId: string): Event[] => {
  const call = asking(run, ({ requestId }) => expiryTimerOf(requestId) === timerId);
  if (call === undefined) return [];
  const { requestId } = call.approval;
  return settledApproval(stateOf(run), { requestId, callId: call.id, decision: "expired", by: "core" });
};

/** An approval that no call has used yet. */
interface Unused {
  readonly callId: string;
  readonly requestId: string;
}

export const unusedApprovals = (state: TaskState): Unused[] =>
  state.calls.flatMap(({ id: callId, phase, approval }) =>
    phase === "waiting" && approval?.approved === true ? [{ callId, requestId: approval.requestId }] : [],
  );

/** Those of `before` that a resume or a move has voided since: their calls are asked about anew. */
export const voidRecords = (state: TaskState, before: readonly Unused[]): Event[] =>
  before
    .filter(({ requestId }) => !state.calls.some(({ approval }) => approval?.requestId === requestId))
    .flatMap((voided) => settledApproval(state, { ...voided, decision: "void", by: "core" }));

/** Nothing where the item decides nothing. From the state that has taken the item. */
export const decisionRecords = async (run: Run, item: Item): Promise<Event[]> => {
  if (item.refused !== undefined) return [];
  if (item.type === "Decide") return decided(run, item);
  return item.type === "TimerFired" ? expired(run, item.timerId) : [];
};
