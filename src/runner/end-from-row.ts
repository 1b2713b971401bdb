// The end of a task whose log cannot be read: written from its row, since there is no folded state.
import { sealEvents } from "../core/envelope.ts";
import type { Event } from "../core/events.ts";
import type { Claim, Post, TaskRow } from "../store/store.ts";
import type { RunnerPorts } from "./ports.ts";

const REASON = "unreadable_log";

/** A child's id is its parent's id, the call's id and an ordinal, joined by dots. */
const parentOf = (taskId: string): { taskId: string; callId: string } | null => {
  const parts = taskId.split(".");
  const callId = parts.at(-2);
  return parts.length < 3 || callId === undefined ? null : { taskId: parts.slice(0, -2).join("."), callId };
};

const childPosts = async (ports: RunnerPorts, taskId: string): Promise<Post[]> => {
  const children: TaskRow[] = [];
  for (;;) {
    const after = children.at(-1)?.taskId;
    const page = await ports.store.listTasks({
      parent: taskId,
      limit: 1_000,
      ...(after === undefined ? {} : { after }),
    });
    if (page.length === 0) break;
    children.push(...page);
  }
  return children.map((child) => ({
    taskId: child.taskId,
    by: "core:core",
    key: `core:parent-ended:${taskId}`,
    item: { type: "Cancel", reason: REASON },
  }));
};

/** Ends the task as failed; its parent hears it, its children are cancelled, untaken items are answered `ended`. */
export const endFromRow = async (ports: RunnerPorts, claim: Claim): Promise<void> => {
  const { taskId, fence, revision, lastSeq, chain } = claim;
  const event: Event = { type: "TaskEnded", outcome: "failed", reason: REASON };
  const parent = parentOf(taskId);
  const posts = await childPosts(ports, taskId);
  if (parent !== null) {
    posts.push({
      taskId: parent.taskId,
      by: "core:core",
      key: `core:ended:${taskId}`,
      item: { type: "ChildEnded", childId: taskId, callId: parent.callId, outcome: "failed", reason: REASON },
    });
  }
  await ports.store.append({
    taskId,
    fence,
    revision,
    drafts: sealEvents(ports.hasher, { seq: lastSeq, chain }, [event], () => ports.random.salt()),
    columns: { status: "ended", waitingOn: null, outcome: "failed", reason: REASON },
    rows: [],
    posts,
  });
};
