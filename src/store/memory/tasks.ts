// Tasks: creation, their rows, and lists of them.
import type { TaskColumns } from "../../core/project.ts";
import { checkDrafts, isSameCreation } from "../drafts.ts";
import { openText } from "../seal.ts";
import { StoreError, type CreateParams, type CreateReceipt, type ListParams, type TaskRow } from "../store.ts";
import { heldOf, holderOf } from "./claims.ts";
import { deliver, encodePost, nextTimerAt, readyFrom } from "./inbox.ts";
import { headOf, storeEvents } from "./log.ts";
import { restoredFrom } from "./restore.ts";
import { applyRows } from "./rows.ts";
import { changed, nowOf, type State, type StoredTask } from "./state.ts";

/** A task with nothing in it yet, not yet among the others. Codes: `conflict` (id taken), `forgotten`. */
export const newTask = (
  state: State,
  task: { readonly taskId: string; readonly secret: Uint8Array; readonly columns: TaskColumns },
): StoredTask => {
  const { taskId, secret, columns } = task;
  if (state.forgotten.has(taskId)) throw new StoreError("forgotten", `task ${taskId} was forgotten`);
  if (state.tasks.has(taskId) || state.pruned.has(taskId))
    throw new StoreError("conflict", `there is a task ${taskId} already`);
  const now = nowOf(state);
  return {
    taskId,
    createdAt: now,
    createdSeq: 0,
    epoch: state.epoch,
    bundleAt: null,
    columns: structuredClone(columns),
    updatedAt: now,
    ended: false,
    secret: secret.slice(),
    revision: 1,
    events: [],
    redactions: [],
    items: new Map(),
    inboxSeq: 0,
    inboxTaken: 0,
    fence: 0,
    lease: null,
    attempts: 0,
    previousEndedAt: null,
    readyAt: null,
    holds: new Map(),
    rows: new Map(),
    decided: new Map(),
    showings: new Map(),
    definitions: new Set(),
    snapshots: new Map(),
    files: new Map(),
  };
};

/** Checked and ready: `commit` cannot fail. */
export interface Creation {
  readonly taskId: string;
  readonly receipt: CreateReceipt;
  commit(): void;
}

const receiptOf = (task: StoredTask, duplicate: boolean): CreateReceipt => {
  const { taskId, createdSeq, events } = task;
  return { taskId, lastSeq: createdSeq, head: headOf(events.slice(0, createdSeq)), duplicate };
};

const firstCreation = (
  state: State,
  name: string | undefined,
  { task, drafts }: CreateParams,
): Creation | undefined => {
  const first = name === undefined ? undefined : state.tasks.get(state.creationKeys.get(name) ?? "");
  if (first === undefined) return undefined;
  const [stored, wanted] = [first.events[0]?.content ?? new Uint8Array(0), drafts[0]?.body ?? "{}"];
  if (!isSameCreation(openText(state.seal, first.taskId, stored), wanted)) {
    const message = `key ${String(task.key)} was used before, for task ${first.taskId}, which asks for something else`;
    throw new StoreError("conflict", message);
  }
  return { taskId: first.taskId, receipt: receiptOf(first, true), commit: () => undefined };
};

export const prepareTask = (state: State, params: CreateParams): Creation => {
  const { task: asked, drafts, items } = params;
  const { owner, origin } = asked.columns;
  const name = asked.key === undefined ? undefined : JSON.stringify([owner, origin.place, asked.key]);
  const first = firstCreation(state, name, params);
  if (first !== undefined) return first;
  const task: StoredTask = { ...newTask(state, asked), createdSeq: drafts.length };
  checkDrafts(task.taskId, drafts, 0);
  storeEvents(
    state,
    task,
    drafts.map((draft) => ({ ...draft, at: task.createdAt })),
  );
  applyRows(task, asked.rows);
  for (const item of items) deliver(state, task, encodePost(item));
  task.readyAt = readyFrom(task, task.createdAt);
  const commit = (): void => {
    state.tasks.set(task.taskId, task);
    if (name !== undefined) state.creationKeys.set(name, task.taskId);
    changed(state, task.taskId);
  };
  return { taskId: task.taskId, receipt: receiptOf(task, false), commit };
};

export const createTask = (state: State, params: CreateParams): CreateReceipt => {
  const creation = prepareTask(state, params);
  creation.commit();
  return creation.receipt;
};

export const rowOf = (state: State, task: StoredTask): TaskRow => {
  const { taskId, createdAt, updatedAt, revision, inboxSeq, inboxTaken, fence } = task;
  const { historyFrom: _, ...columns } = structuredClone(task.columns);
  return {
    ...columns,
    taskId,
    createdAt,
    updatedAt,
    revision,
    inboxSeq,
    inboxTaken,
    fence,
    lastSeq: task.events.length,
    head: headOf(task.events),
    redactions: task.redactions.length,
    claimedBy: holderOf(state, task),
    held: heldOf(task),
    nextTimerAt: nextTimerAt(task),
    restoredFrom: restoredFrom(state, task),
  };
};

export const getTask = (state: State, taskId: string): TaskRow | null => {
  const task = state.tasks.get(taskId);
  return task === undefined ? null : rowOf(state, task);
};

export const listTasks = (state: State, params: ListParams): TaskRow[] => {
  const { owner, place, parent, status, idPrefix = "", after, updatedBefore = Infinity, limit } = params;
  const newestFirst = [...state.tasks.values()].reverse();
  const start = after === undefined ? 0 : newestFirst.findIndex((task) => task.taskId === after) + 1;
  return newestFirst
    .slice(start)
    .filter(({ taskId, columns, updatedAt }) => {
      return (
        taskId.startsWith(idPrefix) &&
        updatedAt < updatedBefore &&
        (owner === undefined || columns.owner === owner) &&
        (place === undefined || columns.origin.place === place) &&
        (parent === undefined || columns.parent === parent) &&
        (status === undefined || columns.status === status)
      );
    })
    .slice(0, limit)
    .map((task) => rowOf(state, task));
};
