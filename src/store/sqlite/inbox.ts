// Inboxes: items are put in under a key that is unique per task, due timers are moved in, a take hands them out.
import { encodeItem } from "../../core/codec.ts";
import { firstTake, TAKE_ITEMS } from "../limits.ts";
import { itemHash } from "../node-hasher.ts";
import { openText, sealText } from "../seal.ts";
import { StoreError, type InboxEntry, type Post, type PostReceipt } from "../store.ts";
import { timerItem } from "../timer-item.ts";
import type { Connection } from "./connection.ts";
import { judge, keep } from "./decisions.ts";
import { changeTask, findTask, requireTask, secretOf, type Guarded } from "./tasks.ts";

type Known = { readonly seq: number; readonly hash: Uint8Array | null };

const findKey = (connection: Connection, task: number, key: string): Known | undefined =>
  connection.get<Known>("SELECT seq, hash FROM inbox WHERE task = ? AND key = ?", task, key);

/** Puts an item at the end of a task's inbox, where its key is new; an unleased task becomes ready. */
const put = (connection: Connection, row: Guarded, post: Omit<Post, "taskId">, now: number): number => {
  const { by, key } = post;
  const body = encodeItem(post.item);
  const hash = Buffer.from(itemHash(secretOf(connection, row.task), body), "hex");
  const counted = connection.get<{ inboxSeq: number }>(
    `UPDATE tasks SET inboxSeq = inboxSeq + 1,
       readyAt = iif(leaseUntil IS NULL, min(ifnull(readyAt, :now), :now), readyAt)
     WHERE task = :task RETURNING inboxSeq`,
    { task: row.task, now },
  );
  if (counted === undefined) throw new Error(`task ${row.id} vanished in its own transaction`);
  connection.run(
    "INSERT INTO inbox (task, seq, at, by, key, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ...[row.task, counted.inboxSeq, now, by, key, hash, sealText(connection.seal, row.id, body)],
  );
  return counted.inboxSeq;
};

/** Whether a body is the one that a key came with. */
const isSame = (connection: Connection, row: Guarded, known: Uint8Array, post: Omit<Post, "taskId">): boolean =>
  Buffer.from(known).toString("hex") === itemHash(secretOf(connection, row.task), encodeItem(post.item));

/** Refuses (`not_found`) whoever may not know that the task is there. Compared by the database, which keeps text its own way. */
const checkPoster = (connection: Connection, row: Guarded, { taskId, by, item, place }: Post): void => {
  if (place === undefined && item.type !== "Steer") return;
  const sql = `SELECT 1 FROM tasks WHERE task = :task AND place = ifnull(:place, place) AND (NOT :steers OR owner = :by
    OR (private = 0 AND EXISTS (SELECT 1 FROM collaborators WHERE task = :task AND key = :by)))`;
  const steers = item.type === "Steer" ? 1 : 0;
  if (connection.get(sql, { task: row.task, place: place ?? null, steers, by }) !== undefined) return;
  throw new StoreError("not_found", `there is no task ${taskId} for ${by}${place === undefined ? "" : ` in ${place}`}`);
};

/** Codes: `not_found`, `forgotten`, `ended`, `conflict`. */
export const post = (connection: Connection, params: Post, now: number): PostReceipt => {
  const { taskId, key } = params;
  const row = requireTask(connection, taskId);
  checkPoster(connection, row, params);
  const known = findKey(connection, row.task, key);
  const ended = row.status === "ended";
  if (known !== undefined && !(ended && known.seq > row.inboxTaken)) {
    const receipt = { taskId, seq: known.seq, duplicate: true };
    if (known.hash === null) return { ...receipt, unproven: true };
    if (isSame(connection, row, known.hash, params)) return receipt;
    throw new StoreError("conflict", `task ${taskId} was posted another item under the key ${key}`);
  }
  if (ended) throw new StoreError("ended", `task ${taskId} has ended and takes nothing more`);
  const { item, by } = params;
  const decided = item.type === "Decide" ? judge(connection, row, { by, item }, now) : null;
  if (decided !== null) return decided;
  const seq = put(connection, row, params, now);
  if (item.type === "Decide") keep(connection, row, { ...item, by, at: now, seq });
  return { taskId, seq, duplicate: false };
};

/** Posts what another task's append carries; dropped where it cannot be taken, so that it never fails that append. */
export const deliver = (connection: Connection, params: Post, now: number): void => {
  const row = findTask(connection, params.taskId);
  if (row === undefined || row.status === "ended") return;
  if (findKey(connection, row.task, params.key) === undefined) put(connection, row, params, now);
};

/** Puts the first items of a new task. The second of a key is passed over, or refused with another body. */
export const putFirst = (
  connection: Connection,
  row: Guarded,
  items: readonly Omit<Post, "taskId">[],
  now: number,
): void => {
  for (const item of items) post(connection, { ...item, taskId: row.id }, now);
};

interface DueTimer {
  readonly key: string;
  readonly dueAt: number;
}

/** The time of the earliest timer that is not in the inbox. */
export const nextTimer = (connection: Connection, task: number): number | null => {
  const sql = "SELECT min(dueAt) AS dueAt FROM timers WHERE task = ? AND inboxSeq IS NULL";
  return connection.get<{ dueAt: number | null }>(sql, task)?.dueAt ?? null;
};

export const isTimerDue = (row: Pick<Guarded, "nextTimerAt">, now: number): boolean =>
  row.nextTimerAt !== null && row.nextTimerAt <= now;

/** Moves due timers into the inbox, each under a key of its own, so that one time fires once. */
export const moveDueTimers = (connection: Connection, row: Guarded, now: number): void => {
  if (!isTimerDue(row, now)) return;
  const due = connection.all<DueTimer>(
    "SELECT key, dueAt FROM timers WHERE task = ? AND inboxSeq IS NULL AND dueAt <= ? ORDER BY dueAt, key",
    row.task,
    now,
  );
  for (const { key: timerId, dueAt } of due) {
    const item = timerItem(timerId, dueAt);
    const seq = findKey(connection, row.task, item.key)?.seq ?? put(connection, row, item, now);
    connection.run("UPDATE timers SET inboxSeq = ? WHERE task = ? AND key = ?", seq, row.task, timerId);
  }
  changeTask(connection, row.task, { nextTimerAt: nextTimer(connection, row.task) });
};

interface ItemRow extends Omit<InboxEntry, "body"> {
  readonly body: Uint8Array;
}

/** The untaken items that one take holds, in order. */
export const untaken = (connection: Connection, row: Guarded): InboxEntry[] => {
  const sql = "SELECT seq, at, by, key, body FROM inbox WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?";
  const rows = connection.iterate<ItemRow>(sql, row.task, row.inboxTaken, TAKE_ITEMS);
  return firstTake(rows.map((item) => ({ ...item, body: openText(connection.seal, row.id, item.body) })));
};

/** Blanks what was taken. */
export const blankTaken = (connection: Connection, row: Guarded, taken: number): void => {
  const sql = "UPDATE inbox SET body = NULL WHERE task = ? AND seq > ? AND seq <= ?";
  connection.run(sql, row.task, row.inboxTaken, taken);
};
