// How a task comes into being: with its first events, rows and items, once per creation key.
import { toHex } from "../../core/envelope.ts";
import { checkDrafts, isSameCreation } from "../drafts.ts";
import { StoreError, type CreateParams, type CreateReceipt, type NewTask } from "../store.ts";
import type { Connection } from "./connection.ts";
import { epochOf } from "./epochs.ts";
import { nextTimer, putFirst } from "./inbox.ts";
import { insertEvent, readEnvelopes, type LogOf } from "./log.ts";
import { writeRows } from "./projections.ts";
import { changeTask, columnChanges, findTask, isForgotten, isPruned, readyFrom, requireTask } from "./tasks.ts";

type FirstOf = LogOf & { readonly firstSeq: number };

const receiptOf = (connection: Connection, { id, task, firstSeq }: FirstOf, duplicate: boolean): CreateReceipt => {
  const [last] = readEnvelopes(connection, { id, task }, { after: firstSeq - 1, through: firstSeq });
  if (last === undefined) throw new StoreError("damaged", `task ${id} has lost event ${String(firstSeq)}`);
  return { taskId: id, lastSeq: firstSeq, head: toHex(last.chain), duplicate };
};

/** The receipt of the creation that used this key before, if any. Codes: `conflict`. */
const known = (connection: Connection, { task, drafts }: CreateParams): CreateReceipt | undefined => {
  if (task.key === undefined) return undefined;
  const first = connection.get<FirstOf>(
    "SELECT task, id, firstSeq FROM tasks WHERE owner = ? AND keyPlace = ? AND key = ?",
    ...[task.columns.owner, task.columns.origin.place, task.key],
  );
  if (first === undefined) return undefined;
  const [created] = readEnvelopes(connection, first, { limit: 1 });
  if (!isSameCreation(created?.body ?? "{}", drafts[0]?.body ?? "{}")) {
    throw new StoreError("conflict", `the key ${task.key} created task ${first.id}, which is another`);
  }
  return receiptOf(connection, first, true);
};

/** Codes: `forgotten`, `conflict`. */
export const requireNew = (connection: Connection, taskId: string): void => {
  if (isForgotten(connection, taskId)) throw new StoreError("forgotten", `task ${taskId} was forgotten`);
  if (isPruned(connection, taskId))
    throw new StoreError("conflict", `the id ${taskId} was that of a task that was pruned`);
  if (findTask(connection, taskId) !== undefined) throw new StoreError("conflict", `there is a task ${taskId} already`);
};

/** Inserts the row of a task without a log, and its secret. Returns its key in the tables. */
export const insertTask = (
  connection: Connection,
  { taskId, key, columns, secret }: Omit<NewTask, "rows">,
  firstSeq: number,
  now: number,
): number => {
  const changes = {
    id: taskId,
    key: key ?? null,
    keyPlace: columns.origin.place,
    firstSeq,
    epoch: epochOf(connection),
    createdAt: now,
    updatedAt: now,
    lastSeq: 0,
    head: new Uint8Array(32),
    ...columnChanges(connection, columns, null),
  };
  const names = Object.keys(changes);
  const places = names.map(() => "?").join(", ");
  const task = connection.insert(
    `INSERT INTO tasks (${names.join(", ")}) VALUES (${places})`,
    ...Object.values(changes),
  );
  connection.run("INSERT INTO secrets (task, secret) VALUES (?, ?)", task, secret);
  return task;
};

/** Codes: `conflict`, `forgotten`. */
export const createTask = (connection: Connection, params: CreateParams, now: number): CreateReceipt => {
  const before = known(connection, params);
  if (before !== undefined) return before;
  const { drafts, items } = params;
  const { taskId, rows } = params.task;
  requireNew(connection, taskId);
  checkDrafts(taskId, drafts, 0);
  const task = insertTask(connection, params.task, drafts.length, now);
  for (const draft of drafts) insertEvent(connection, { task, id: taskId }, now, draft);
  writeRows(connection, task, rows);
  const nextTimerAt = nextTimer(connection, task);
  const last = drafts[drafts.length - 1];
  if (last === undefined) throw new Error("a creation without drafts passed its guard");
  changeTask(connection, task, { lastSeq: last.seq, head: last.chain, nextTimerAt });
  const row = requireTask(connection, taskId);
  changeTask(connection, task, { readyAt: readyFrom(row, now) });
  putFirst(connection, row, items, now);
  return { taskId, lastSeq: last.seq, head: toHex(last.chain), duplicate: false };
};
