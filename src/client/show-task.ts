// One task as its owner sees it: where it stands, what it did outside, what it used, what it answered.
import type { EventOf, Recorded } from "../core/events.ts";
import { fold } from "../core/fold.ts";
import { textOf } from "../core/messages.ts";
import type { Row } from "../core/project.ts";
import type { CoreRecord } from "../core/records.ts";
import type { TaskState } from "../core/state.ts";
import type { TaskRow } from "../store/store.ts";
import { pendingApprovals, type ApprovalView } from "./approvals.ts";
import type { Client } from "./client.ts";
import { findTask } from "./find-task.ts";
import { readEvents } from "./read-log.ts";
import { openQuestions, type QuestionView } from "./questions.ts";
import { planView, type PlanView } from "./show-plan.ts";
import { loadUsage, type TaskUsage, type UsageTotals } from "./usage.ts";

/** A write or destructive call. Seqs are null until the log has the event. */
export interface ActionView {
  readonly action: string;
  readonly name: string;
  readonly effect: string;
  /** `started`, `unknown`, or how it finished. */
  readonly status: string;
  readonly attempt: number;
  readonly startedSeq: number | null;
  readonly unknownSeq: number | null;
  readonly settledSeq: number | null;
  readonly finishedSeq: number | null;
}

/** An action that nobody knows the outcome of. */
export interface UnknownAction {
  readonly action: string;
  readonly name: string;
  readonly input: unknown;
  readonly reason: string;
  /** The tool can check by itself whether it took effect. */
  readonly verifiable: boolean;
}

/** Words that wait to join. `seq` is that of the event that holds them. */
export interface QueuedView {
  readonly seq: number;
  readonly text: string;
}

export interface TaskView {
  readonly taskId: string;
  readonly status: TaskRow["status"];
  readonly waitingOn: TaskRow["waitingOn"];
  readonly outcome: TaskRow["outcome"];
  readonly reason: string | null;
  /** What a failed model call or turn said went wrong, where the task stopped for that. */
  readonly problem: string | null;
  /** The answer that the task rests on; null while it runs, when it stopped without one, or where it was redacted. */
  readonly answer: string | null;
  readonly lastSeq: number;
  readonly head: string;
  /** Its own model calls, in sum. */
  readonly usage: UsageTotals;
  /** The same by purpose and model, and that of its child tasks. */
  readonly usageTree: TaskUsage;
  readonly objective: string;
  readonly agent: string;
  readonly model: string;
  readonly mode: TaskRow["mode"];
  readonly onInterrupt: TaskState["onInterrupt"];
  readonly workspace: string | null;
  readonly owner: string;
  /** Where it lives; a private task shows itself to its owner alone, and takes no collaborators. */
  readonly origin: TaskRow["origin"];
  /** Who may steer it beside its owner. */
  readonly collaborators: readonly string[];
  /** A collaborator has: every later change needs the owner's approval. */
  readonly steeredByOther: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly claimedBy: string | null;
  readonly held: TaskRow["held"];
  /** Of the newest restore that concerns it; null if there was none. */
  readonly restored: {
    /** When the backup was made: what the task did after that is not in its log. */
    readonly backupAt: number;
    /** Nobody has resumed the task, knowing it. */
    readonly isNew: boolean;
  } | null;
  /** Items posted and not yet taken. */
  readonly untaken: number;
  /** What was said and has not joined the conversation yet: it waits for results, a reply, or for the turn to go on. */
  readonly queued: readonly QueuedView[];
  readonly actions: readonly ActionView[];
  readonly unknown: readonly UnknownAction[];
  /** Requests that wait for a decision, in the order of their calls. */
  readonly approvals: readonly ApprovalView[];
  /** Changes are approved without asking; the owner has switched it on. */
  readonly autoApprove: boolean;
  /** Open questions to a person, in the order of their calls. */
  readonly questions: readonly QuestionView[];
  /** What the task has planned, set itself as goals and noted. */
  readonly saved: PlanView;
}

const answerOf = (last: Recorded | undefined): string | null => {
  if (last?.event.redacted === true) return null;
  if (last?.event.type === "Waiting") return last.event.detail.answer ?? null;
  return last?.event.type === "TaskEnded" ? (last.event.answer ?? null) : null;
};

const failures: readonly string[] = ["turn_failed", "model_failed"];

/** What the newest failure since the turn began said; null for a turn that stopped for another reason. */
const problemOf = (events: readonly Recorded[], { turn, model }: TaskState): string | null => {
  if (turn === undefined || (turn.failed === undefined && model.failures === 0)) return null;
  const newest = events.findLast(
    ({ event }) => event.type === "ExtensionRecorded" && event.extension === "core" && failures.includes(event.kind),
  );
  if (newest === undefined) return null;
  const { data } = newest.event as EventOf<"ExtensionRecorded">;
  return (data as CoreRecord<"model_failed">).message ?? null;
};

const actionOf = ({ key, set }: Row): ActionView => ({
  action: key,
  ...(set as unknown as Omit<ActionView, "action">),
});

const unknownOf = (state: TaskState): UnknownAction[] =>
  state.calls
    .filter((call) => call.phase === "unknown")
    .map(({ id, name, input, unknownReason }) => ({
      action: id,
      name,
      input,
      reason: unknownReason ?? "",
      verifiable: state.tools.some((tool) => tool.name === name && tool.verify === true),
    }));

/** What people said; plugins' words wait there too. */
const queuedOf = (events: readonly Recorded[], { queue }: TaskState): QueuedView[] =>
  queue.flatMap((message) => {
    if (message.role !== "user" || events[message.seq - 1]?.event.type !== "InputTaken") return [];
    return [{ seq: message.seq, text: textOf(message.content) }];
  });

const restoredOf = (row: TaskRow, events: readonly Recorded[]): TaskView["restored"] => {
  if (row.restoredFrom !== null) return { backupAt: row.restoredFrom, isNew: true };
  const told = events.findLast(({ event }) => event.type === "ExtensionRecorded" && event.kind === "interrupted");
  if (told === undefined) return null;
  const { restoredFrom } = (told.event as EventOf<"ExtensionRecorded">).data as CoreRecord<"interrupted">;
  if (restoredFrom === undefined) return null;
  return { backupAt: restoredFrom, isNew: row.status === "waiting" && row.reason === "restored" };
};

/** Codes: `not_found`, `ambiguous`, `unreadable`. */
export const showTask = async (client: Client, idOrPrefix: string): Promise<TaskView> => {
  const { store } = client;
  const row = await findTask(client, idOrPrefix);
  const { taskId } = row;
  const events = await readEvents(store, { taskId, through: row.lastSeq });
  const state = fold(taskId, events, {});
  const rows = await store.readRows({ taskId });
  const usageTree = await loadUsage(store, row);
  const rests = events.findLast(({ event }) => event.type !== "ExtensionRecorded");
  return {
    taskId,
    status: row.status,
    waitingOn: row.waitingOn,
    outcome: row.outcome,
    reason: row.reason,
    problem: problemOf(events, state),
    answer: answerOf(rests),
    lastSeq: row.lastSeq,
    head: row.head,
    usage: usageTree.usage,
    usageTree,
    objective: state.objective,
    agent: row.agent,
    model: state.settings.model,
    mode: row.mode,
    onInterrupt: state.onInterrupt,
    workspace: state.settings.workspace?.path ?? null,
    owner: row.owner,
    origin: row.origin,
    collaborators: state.collaborators,
    steeredByOther: state.steeredByOther === true,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    claimedBy: row.claimedBy,
    held: row.held,
    restored: restoredOf(row, events),
    untaken: row.inboxSeq - row.inboxTaken,
    queued: queuedOf(events, state),
    actions: rows.filter((candidate) => candidate.table === "actions").map(actionOf),
    unknown: unknownOf(state),
    approvals: pendingApprovals(events, state, await store.readDecisions({ taskId }), client.frontEnd),
    autoApprove: state.settings.autoApprove === true,
    questions: openQuestions(events, state),
    saved: planView(events, rows),
  };
};
