// The inbox: posts by key, timers that fall due, and what a holder may take.
import { encodeItem } from "../../core/codec.ts";
import { firstTake } from "../limits.ts";
import { itemHash } from "../node-hasher.ts";
import { openText, sealText } from "../seal.ts";
import { StoreError, type InboxEntry, type Post, type PostReceipt } from "../store.ts";
import { timerItem } from "../timer-item.ts";
import { judge, keep } from "./decisions.ts";
import { changed, findTask, nowOf, type State, type StoredTask } from "./state.ts";

/** A post whose item is already JSON text, so that nothing can go wrong with it any more. */
export interface EncodedPost {
  readonly by: string;
  readonly key: string;
  readonly body: string;
}

export const encodePost = ({ by, key, item }: Omit<Post, "taskId">): EncodedPost => ({
  by,
  key,
  body: encodeItem(item),
});

/** Puts an item in, unless its key was used before. Codes: `ended`, `conflict`. */
export const deliver = (state: State, task: StoredTask, post: EncodedPost): PostReceipt => {
  const { taskId } = task;
  const hash = itemHash(task.secret, post.body);
  const known = task.items.get(post.key);
  if (task.ended && (known === undefined || known.seq > task.inboxTaken)) {
    throw new StoreError("ended", `task ${taskId} has ended and takes nothing more`);
  }
  if (known !== undefined) {
    if (known.hash !== null && known.hash !== hash) {
      throw new StoreError("conflict", `key ${post.key} of task ${taskId} was used for another item`);
    }
    return { taskId, seq: known.seq, duplicate: true, ...(known.hash === null ? { unproven: true } : {}) };
  }
  task.inboxSeq += 1;
  const { by, key, body } = post;
  const content = sealText(state.seal, taskId, body);
  const at = nowOf(state);
  task.items.set(key, { seq: task.inboxSeq, at, by, key, content, hash });
  if (task.lease?.over !== false) task.readyAt = Math.min(task.readyAt ?? at, at);
  return { taskId, seq: task.inboxSeq, duplicate: false };
};

/** Refuses (`not_found`) whoever may not know that the task is there. */
const checkPoster = (task: StoredTask, { taskId, by, item, place }: Post): void => {
  const { owner, origin } = task.columns;
  const steers = item.type !== "Steer" || by === owner || (!origin.private && isCollaborator(task, by));
  if ((place === undefined || place === origin.place) && steers) return;
  throw new StoreError("not_found", `there is no task ${taskId} for ${by}${place === undefined ? "" : ` in ${place}`}`);
};

const isCollaborator = (task: StoredTask, by: string): boolean => task.rows.get("collaborators")?.has(by) === true;

export const post = (state: State, params: Post): PostReceipt => {
  const task = findTask(state, params.taskId);
  checkPoster(task, params);
  const { item, by, key } = params;
  const isNew = !task.ended && !task.items.has(key);
  const decided = item.type === "Decide" && isNew ? judge(state, task, { by, item }) : null;
  if (decided !== null) return decided;
  const receipt = deliver(state, task, encodePost(params));
  if (receipt.duplicate) return receipt;
  if (item.type === "Decide") {
    const { requestId, decision } = item;
    keep(task, { requestId, decision, by, at: task.items.get(key)?.at ?? 0, seq: receipt.seq });
  }
  changed(state, params.taskId);
  return receipt;
};

/** Posts that an append carries: what cannot be delivered is dropped and fails nothing. */
export const deliverCarried = (state: State, posts: readonly (EncodedPost & { readonly taskId: string })[]): void => {
  for (const carried of posts) {
    const task = state.tasks.get(carried.taskId);
    if (task === undefined) continue;
    try {
      if (!deliver(state, task, carried).duplicate) changed(state, carried.taskId);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }
};

/** Timers that are set and not yet moved in, by the time they are due. */
const pendingTimers = (task: StoredTask): { readonly id: string; readonly dueAt: number }[] =>
  [...(task.rows.get("timers") ?? [])]
    .map(([id, columns]) => ({ id, dueAt: Number(columns.get("dueAt")) }))
    .filter(({ id, dueAt }) => !task.items.has(timerItem(id, dueAt).key))
    .sort((a, b) => a.dueAt - b.dueAt);

export const nextTimerAt = (task: StoredTask): number | null => pendingTimers(task)[0]?.dueAt ?? null;

export const isTimerDue = (state: State, task: StoredTask): boolean => (nextTimerAt(task) ?? Infinity) <= nowOf(state);

/** Refuses (`inbox_moved`) when there is something the caller has not seen. */
export const checkInboxSeen = (state: State, task: StoredTask, inboxSeen: number): void => {
  if (task.inboxSeq > Math.max(inboxSeen, task.inboxTaken)) {
    throw new StoreError("inbox_moved", `task ${task.taskId} has untaken items after ${String(inboxSeen)}`);
  }
  if (isTimerDue(state, task)) throw new StoreError("inbox_moved", `a timer of task ${task.taskId} is due`);
};

/** From when on an unleased task may be claimed; null when something must come first. */
export const readyFrom = (task: StoredTask, now: number): number | null => {
  if (task.ended) return null;
  return task.columns.status !== "waiting" || task.inboxSeq > task.inboxTaken ? now : nextTimerAt(task);
};

/** Moves due timers in and gives what one take holds. */
export const openInbox = (state: State, task: StoredTask): InboxEntry[] => {
  for (const { id, dueAt } of pendingTimers(task)) {
    if (dueAt <= nowOf(state)) deliver(state, task, encodePost(timerItem(id, dueAt)));
  }
  const entries = task.items.values().flatMap(({ content, hash: _, ...item }) => {
    if (content === null) return [];
    return [{ ...item, body: openText(state.seal, task.taskId, content) }];
  });
  return firstTake(entries);
};

/** Consumes the items up to `through`: their bodies go, keys and hashes stay. */
export const consume = (task: StoredTask, through: number): void => {
  task.inboxTaken = Math.max(task.inboxTaken, through);
  for (const item of task.items.values()) if (item.seq <= task.inboxTaken) item.content = null;
};
