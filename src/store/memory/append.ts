// The fenced append: everything is checked and prepared first; from the first change on, nothing can fail.
import { checkDrafts } from "../drafts.ts";
import { StoreError, type AppendParams, type AppendReceipt, type CreateParams } from "../store.ts";
import { findOwned } from "./claims.ts";
import { storeDefinitions } from "./definitions.ts";
import { checkInboxSeen, consume, deliverCarried, encodePost, isTimerDue, readyFrom } from "./inbox.ts";
import { storeEvents } from "./log.ts";
import { applyRows } from "./rows.ts";
import { changed, nowOf, type State, type StoredTask } from "./state.ts";
import { prepareTask, type Creation } from "./tasks.ts";

/** The guards, in the port's order. */
const guard = (state: State, params: AppendParams): StoredTask => {
  const { taskId, taken = 0, inboxSeen } = params;
  const task = findOwned(state, taskId, params.fence);
  if (task.ended) throw new StoreError("ended", `task ${taskId} has ended; its log takes nothing more`);
  checkDrafts(taskId, params.drafts, task.events.length);
  if (taken > task.inboxSeq) {
    throw new StoreError("conflict", `task ${taskId} has no inbox item ${String(taken)} to take`);
  }
  if (params.revision !== task.revision) {
    throw new StoreError("redacted", `task ${taskId} was redacted since revision ${String(params.revision)}`);
  }
  if (inboxSeen !== undefined) checkInboxSeen(state, task, inboxSeen);
  return task;
};

const prepareChildren = (state: State, children: readonly CreateParams[]): Creation[] => {
  const creations = children.map((child) => prepareTask(state, child));
  if (new Set(creations.map(({ taskId }) => taskId)).size < creations.length) {
    throw new StoreError("conflict", "two children have the same task id");
  }
  return creations;
};

const endTask = (task: StoredTask): void => {
  task.ended = true;
  task.snapshots.clear();
  task.rows.delete("timers");
};

export const append = (state: State, params: AppendParams): AppendReceipt => {
  const task = guard(state, params);
  const children = prepareChildren(state, params.children ?? []);
  const posts = (params.posts ?? []).map((post) => ({ taskId: post.taskId, ...encodePost(post) }));

  const at = Math.max(nowOf(state), task.updatedAt);
  storeEvents(
    state,
    task,
    params.drafts.map((draft) => ({ ...draft, at })),
  );
  task.columns = { ...task.columns, ...structuredClone(params.columns) };
  applyRows(task, params.rows);
  if (params.epoch !== undefined) Object.assign(task, { epoch: params.epoch, bundleAt: null });
  if (params.taken !== undefined) consume(task, params.taken);
  storeDefinitions(state, task, params.definitions ?? []);
  if (params.drafts.some((draft) => draft.type === "TaskEnded")) endTask(task);
  if (task.lease?.over === true) task.readyAt = readyFrom(task, at);
  for (const child of children) child.commit();
  deliverCarried(state, posts);
  changed(state, task.taskId, "log");
  const { inboxSeq } = task;
  return { lastSeq: task.events.length, at, inboxSeq, timerDue: isTimerDue(state, task) };
};
