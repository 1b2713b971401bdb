// Wait and End: the last words of a turn or a task, appended only if the inbox holds nothing unseen.
import { expiryTimerOf } from "../core/approval.ts";
import type { Step, WaitStep } from "../core/decide.ts";
import type { Event } from "../core/events.ts";
import { isRunning } from "../core/state.ts";
import { StoreError, type Post } from "../store/store.ts";
import { calledOff, settledApproval } from "./ask-approval.ts";
import { viewFor } from "./prepare-call.ts";
import { coreRecord } from "./records.ts";
import { settleCalls } from "./run-calls.ts";
import { stateOf, type Run } from "./run.ts";

const approvalSettled = (run: Run, requestId: string, decision: "cancelled" | "void"): Event[] => {
  const call = stateOf(run).calls.find((candidate) => candidate.approval?.requestId === requestId);
  return settledApproval(stateOf(run), { requestId, callId: call?.id ?? "", decision, by: "core" });
};

const interruptedRecord = ({ claim }: Run, reason: "crashed" | "stopped" | "restored"): Event => {
  const { restoredFrom } = claim;
  return coreRecord("interrupted", {
    reason,
    ...(reason === "restored" && restoredFrom !== null ? { restoredFrom } : {}),
  });
};

const waitEvents = (run: Run, step: WaitStep): Event[] => {
  const cancelled = step.cancelApprovals.flatMap((requestId) => approvalSettled(run, requestId, "cancelled"));
  const timers = step.cancelTimers.filter((id) => !step.cancelApprovals.some((each) => expiryTimerOf(each) === id));
  const { answer, waits } = step;
  return [
    ...settleCalls(run, step.settle),
    ...cancelled,
    ...step.voidApprovals.flatMap((requestId) => approvalSettled(run, requestId, "void")),
    ...timers.map((id) => coreRecord("timer_cancelled", { id })),
    ...(step.interrupted === undefined ? [] : [interruptedRecord(run, step.interrupted)]),
    {
      type: "Waiting",
      on: step.on,
      ...(step.outcome === undefined ? {} : { outcome: step.outcome }),
      ...(step.reason === undefined ? {} : { reason: step.reason }),
      detail: {
        ...(answer === undefined ? {} : { answer }),
        ...(waits.length === 0 ? {} : { waits: [...waits] }),
      },
    },
  ];
};

/** The plugins see the wait. One that throws fails a turn that still runs; a recorded outcome stands. */
const tellPlugins = async (run: Run): Promise<void> => {
  const { name: agent, plugins } = run.agent.agent;
  for (const plugin of plugins) {
    try {
      await plugin.hooks?.waiting?.(viewFor(run, plugin, { derived: false }));
    } catch (error) {
      if (isRunning(stateOf(run))) throw error;
      const message = `the waiting hook of plugin ${plugin.name} of agent ${agent} failed: ${String(error)}`;
      run.ports.watcher.note?.(run.claim.taskId, message);
    }
  }
};

/** Records the wait, lets the plugins see it, and gives the claim back. True when the task is parked. */
export const wait = async (run: Run, step: WaitStep): Promise<boolean> => {
  const { journal } = run;
  const inboxSeen = stateOf(run).inboxTaken;
  if (step.record) {
    const tells = step.interrupted === "restored";
    const epoch = tells ? { epoch: run.claim.epoch } : {};
    const result = await journal.commit({ final: { events: waitEvents(run, step), inboxSeen }, ...epoch });
    if (result !== "appended") return news(run, result);
    for (const { callId } of step.settle) run.announced.delete(callId);
    // The turn has stopped, for that or for another reason: there is nothing to correct.
    if (step.outcome !== undefined) run.ports.corrections?.settled(run.claim.taskId);
    // What a restore lost is told of once, and by nothing but its own pause.
    if (tells || run.stoppedMidTurn !== "restored") run.stoppedMidTurn = null;
    await tellPlugins(run);
  }
  if (journal.hasPending && (await journal.commit()) !== "appended") return false;
  try {
    const { taskId, fence } = run.claim;
    await run.ports.store.release({ taskId, fence, kind: "parked", inboxSeen });
    return true;
  } catch (error) {
    if (error instanceof StoreError && error.code === "inbox_moved") return news(run, "moved");
    throw error;
  }
};

/** The inbox has moved on: the next step takes it. */
const news = (run: Run, result: "moved" | "refolded"): false => {
  if (result === "moved") run.journal.inboxSeq = stateOf(run).inboxTaken + 1;
  return false;
};

/** Ends the task. Its parent, if any, gets the end in the same append. True when it is over. */
export const end = async (run: Run, step: Extract<Step, { do: "End" }>): Promise<boolean> => {
  const { outcome, answer, reason } = step;
  const words = {
    ...(answer === undefined ? {} : { answer }),
    ...(reason === undefined ? {} : { reason }),
  };
  const { parent, owner, inboxTaken } = stateOf(run);
  const posts: Post[] =
    parent === undefined
      ? []
      : [
          {
            taskId: parent.taskId,
            by: owner,
            key: `core:ended:${run.claim.taskId}`,
            item: { type: "ChildEnded", childId: run.claim.taskId, callId: parent.callId, outcome, ...words },
          },
        ];
  const events: Event[] = [
    ...calledOff(run, step.settle),
    ...settleCalls(run, step.settle),
    { type: "TaskEnded", outcome, ...words },
  ];
  const result = await run.journal.commit({ final: { events, inboxSeen: inboxTaken }, posts });
  if (result !== "appended") return news(run, result);
  run.ports.corrections?.settled(run.claim.taskId);
  return true;
};
