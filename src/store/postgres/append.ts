// The append: guards, events, and everything that goes with them. One statement; a few in one transaction where it
// creates children.
import type { AppendParams, AppendReceipt } from "../store.ts";
import { appendPlain, isPlain } from "./append-plain.ts";
import type { Connection, Session } from "./connection.ts";
import { createTask } from "./creation.ts";
import { columnValues, draftValues, itemValues, jsonValue, rowValues } from "./drafts.ts";
import { accepted, type Answer } from "./refuse.ts";
import { encodeText } from "./text.ts";

const APPEND = `SELECT * FROM perdure.append($1::text, $2::bigint, $3::integer, $4::integer, $5::smallint[], $6::integer[],
  $7::bytea, $8::bytea, $9::bigint[], $10::jsonb, $11::jsonb, $12::integer, $13::integer, $14::boolean, $15::jsonb,
  $16::text[], $17::text[], $18::text[], $19::integer[], $20::bytea, $21::bytea)`;

type Appended = Answer & { readonly at: number; readonly inbox_seq: number; readonly timer_due: boolean };

/** The seq that the drafts go on after; -1, which no log ends at, where they do not follow one another. */
const expectedSeq = (drafts: AppendParams["drafts"]): number => {
  const first = drafts[0]?.seq;
  if (first === undefined) return -1;
  return drafts.every((draft, index) => draft.seq === first + index) ? first - 1 : -1;
};

const appendTo = async (
  connection: Connection,
  session: Session,
  params: AppendParams,
  posts: AppendParams["posts"] = [],
): Promise<AppendReceipt> => {
  const { taskId, fence, revision, drafts, columns, rows, taken = null, inboxSeen = null, definitions = [] } = params;
  const answer = await session.first<Appended>(
    APPEND,
    ...[encodeText(taskId), fence, revision, expectedSeq(drafts), ...draftValues(connection.seal, taskId, drafts)],
    ...[connection.clock, columnValues(columns), rowValues(rows), taken, inboxSeen],
    ...[drafts.some((draft) => draft.type === "TaskEnded"), definitions.length === 0 ? null : jsonValue(definitions)],
    posts.length === 0 ? null : posts.map((post) => encodeText(post.taskId)),
    ...itemValues(connection.seal, posts),
  );
  const { at, inbox_seq: inboxSeq, timer_due: timerDue } = accepted(answer, taskId, connection.name);
  return { lastSeq: drafts.at(-1)?.seq ?? 0, at, inboxSeq, timerDue };
};

const LOCK = "SELECT FROM perdure.tasks WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE";
const DELIVER = `SELECT perdure.post_all($1::text[], $2::text[], $3::text[], $4::integer[], $5::bytea, $6::bytea,
  $7::bigint[])`;
const INBOX = "SELECT inbox_seq FROM perdure.tasks WHERE id = $1";

/** Children come before posts, which may be for them. */
const appendWithChildren = (connection: Connection, params: AppendParams): Promise<AppendReceipt> => {
  const { taskId, posts = [], children = [] } = params;
  return connection.write(async (session) => {
    await session.rows(LOCK, [taskId, ...posts.map((post) => post.taskId)].map(encodeText));
    const receipt = await appendTo(connection, session, params);
    for (const child of children) await createTask(connection, session, child);
    if (posts.length === 0) return receipt;
    const to = posts.map((post) => encodeText(post.taskId));
    await session.rows(DELIVER, to, ...itemValues(connection.seal, posts), connection.clock);
    const row = await session.first<{ inbox_seq: number }>(INBOX, encodeText(taskId));
    return { ...receipt, inboxSeq: row?.inbox_seq ?? receipt.inboxSeq };
  });
};

const COME_INTO = "UPDATE perdure.tasks SET epoch = $2, bundle_at = NULL, untold = false WHERE id = $1";

/** Once for each task that is told of a restore. */
const appendInEpoch = (connection: Connection, params: AppendParams, epoch: number): Promise<AppendReceipt> =>
  connection.write(async (session) => {
    const receipt = await appendTo(connection, session, params, params.posts);
    await session.rows(COME_INTO, encodeText(params.taskId), epoch);
    return receipt;
  });

/** Codes: those of `Store.append`. */
export const append = async (connection: Connection, params: AppendParams): Promise<AppendReceipt> => {
  if (params.epoch !== undefined) return appendInEpoch(connection, params, params.epoch);
  if ((params.children ?? []).length > 0) return appendWithChildren(connection, params);
  if (connection.prepared && isPlain(params)) {
    const receipt = await appendPlain(connection, params);
    if (receipt !== undefined) return receipt;
    // The function tells why not. Should it find nothing wrong by now, it appends.
  }
  return appendTo(connection, connection, params, params.posts);
};
