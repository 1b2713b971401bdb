// What must hold of questions and of saved plans, whatever went wrong.
import type { Recorded } from "../../core/events.ts";
import { apply, createState } from "../../core/fold.ts";
import type { Item } from "../../core/items.ts";
import { GAP, textOf } from "../../core/messages.ts";
import type { Reducers, TaskState } from "../../core/state.ts";
import { questionsIn, savedIn } from "./plugin-calls.ts";

/** No answer goes to another question: a result is the first answer that named its call while that was parked. */
export const answerOracle = (log: readonly Recorded[], faults: string[]): void => {
  const asked = new Set([...questionsIn(log).open, ...questionsIn(log).closed]);
  const parked = new Set<string>();
  const first = new Map<string, Item & { readonly type: "Answer" }>();
  for (const { event } of log) {
    if (event.type === "ExtensionRecorded" && event.kind === "call_parked") {
      parked.add((event.data as { readonly callId: string }).callId);
    }
    if (event.type === "InputTaken") {
      for (const item of event.items) {
        if (item.type !== "Answer" || !parked.has(item.question) || first.has(item.question)) continue;
        first.set(item.question, item);
      }
    }
    if (event.type !== "ToolFinished" || !asked.has(event.callId)) continue;
    parked.delete(event.callId);
    const answer = first.get(event.callId);
    if (event.status !== "ok") {
      if (answer !== undefined) faults.push(`the question ${event.callId} was answered, and ended ${event.status}`);
      continue;
    }
    const said = textOf(event.content);
    if (answer === undefined) faults.push(`the question ${event.callId} has a result, and nobody answered it`);
    else if (event.redacted !== true && answer.redacted !== true && said !== GAP && said !== answer.text) {
      faults.push(`the question ${event.callId} was answered with ${answer.text}, and has ${said}`);
    }
    if (event.redacted !== true && said !== GAP && !said.startsWith(`answer to ${event.callId} `)) {
      faults.push(`the question ${event.callId} got ${said}`);
    }
  }
};

/** A plan's version never goes back and leaves none out; each record of it is the next. */
export const planOracle = (taskId: string, log: readonly Recorded[], reducers: Reducers, faults: string[]): void => {
  let state: TaskState | undefined;
  for (const recorded of log) {
    const { event, seq } = recorded;
    const before = state === undefined ? 0 : savedIn(state).version;
    state = state === undefined ? createState(taskId, recorded) : apply(state, recorded, reducers);
    const { version } = savedIn(state);
    const updates = event.type === "ExtensionRecorded" && event.extension === "plan" && event.kind === "plan";
    const wanted = updates ? before + 1 : before;
    if (version !== wanted) {
      faults.push(`at seq ${String(seq)} the plan is at version ${String(version)} instead of ${String(wanted)}`);
    }
    const written = updates ? (event.data as { readonly version: number }).version : version;
    if (written !== version) faults.push(`the plan's record at seq ${String(seq)} is of version ${String(written)}`);
  }
};
