// What becomes of calls that were started and whose results nobody has. Pure: a rule for each case, in order of precedence.
import type { Facts } from "./decide.ts";
import { changesOutside } from "./events.ts";
import { isRunning, type Call, type TaskState } from "./state.ts";

/** An idempotent write is dispatched at most this often under one invocation id. */
export const MAX_DISPATCHES = 3;

/** What to do with a call that was started and has no result.
 * `rerun`: a read, again. `redispatch`: an idempotent write, same invocation id. `verify`: ask the tool's own check.
 * `settle`: a person said what happened. `unknown`: record that nobody knows. `tell`: let the model know instead. */
export type Recovery = "rerun" | "redispatch" | "verify" | "settle" | "unknown" | "tell";

export const entryOf = (state: TaskState, name: string) => state.tools.find((tool) => tool.name === name);

/** It must not be dispatched any more: corrected away, or nobody knows its input. What is parked was, or will be asked. */
export const isCalledOff = (call: Call): boolean =>
  call.superseded === true || (call.redacted === true && call.phase !== "parked");

/** A started call that nobody runs any more; or one announced again whose second dispatch was called off. */
const isLost = (call: Call, facts: Facts): boolean =>
  call.phase === "started" &&
  (!facts.announced.has(call.id) || (isCalledOff(call) && call.attempt > 1 && changesOutside(call)));

/** The turn was stopped in the middle and goes on only when somebody says so. */
export const pausesMidTurn = (state: TaskState, facts: Facts): boolean =>
  facts.stoppedMidTurn === "restored" || (facts.stoppedMidTurn !== null && state.onInterrupt === "pause");

const recoveryOf = (state: TaskState, call: Call, facts: Facts): Recovery => {
  const tool = entryOf(state, call.name);
  if (pausesMidTurn(state, facts) || tool === undefined || call.redacted === true) return "unknown";
  const age = facts.now - (call.startedAt ?? 0);
  const sameTool = tool.definition === call.definition;
  const again = state.onInterrupt === "continue" && !isCalledOff(call) && sameTool && call.attempt < MAX_DISPATCHES;
  if (again && call.idempotent !== undefined && age < call.idempotent.ttlMs) return "redispatch";
  if (tool.verify === true && sameTool && !facts.unverified.has(call.id)) return "verify";
  return tool.onUnknown === "tell" ? "tell" : "unknown";
};

/** What becomes of each call that was started and has no result, in call order. */
export const recoveries = (state: TaskState, facts: Facts): { callId: string; order: Recovery }[] => {
  const orders: { callId: string; order: Recovery }[] = [];
  const stops = state.stopping !== undefined || state.turn?.failed !== undefined || pausesMidTurn(state, facts);
  const goesOn = isRunning(state) && !stops;
  for (const call of state.calls) {
    if (call.phase === "unknown") {
      if (call.resolution !== undefined) orders.push({ callId: call.id, order: "settle" });
      else if (call.verifyAskedBy !== undefined) orders.push({ callId: call.id, order: "verify" });
    } else if (isLost(call, facts)) {
      if (changesOutside(call)) orders.push({ callId: call.id, order: recoveryOf(state, call, facts) });
      else if (goesOn && !isCalledOff(call)) orders.push({ callId: call.id, order: "rerun" });
    }
  }
  return orders;
};
