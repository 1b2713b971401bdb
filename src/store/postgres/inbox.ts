// Inboxes: items are put in under a key that is unique per task, due timers are moved in, a take hands them out.
import { encodeItem } from "../../core/codec.ts";
import { firstTake, TAKE_BYTES, TAKE_ITEMS } from "../limits.ts";
import { openText, sealText } from "../seal.ts";
import { StoreError, type InboxEntry, type Post, type PostReceipt, type StoreCode } from "../store.ts";
import { timerItem } from "../timer-item.ts";
import type { Connection } from "./connection.ts";
import { itemDigest } from "./drafts.ts";
import { accepted, type Answer } from "./refuse.ts";
import { encodeText } from "./text.ts";

const POST = `SELECT * FROM perdure.post($1::text, $2::text, $3::text, $4::bytea, $5::bytea, $6::bigint[])`;

/** Waits for whoever writes the row, and sees it as they left it. */
const POST_IN = `WITH t AS MATERIALIZED (SELECT id FROM perdure.tasks WHERE id = $1::text AND place = $7::text FOR NO KEY UPDATE)
  SELECT p.* FROM t, LATERAL perdure.post(t.id, $2::text, $3::text, $4::bytea, $5::bytea, $6::bigint[]) p`;

const ABSENT = `SELECT perdure.absence($1::text) AS code, NULL::integer AS seq, false AS duplicate
  WHERE NOT EXISTS (SELECT FROM perdure.tasks WHERE id = $1::text)`;

const LOCK = `SELECT task, owner, private, place FROM perdure.tasks WHERE id = $1::text FOR NO KEY UPDATE`;
const NAMED = `SELECT 1 AS named FROM perdure.collaborators WHERE task = $1::bigint AND key = $2::text`;

interface Posted {
  readonly code: StoreCode | null;
  readonly seq: number;
  /** Null: the key came before, and nothing can be compared any more. */
  readonly duplicate: boolean | null;
}

export const receiptOf = (taskId: string, { seq, duplicate }: Pick<Posted, "seq" | "duplicate">): PostReceipt =>
  duplicate === null ? { taskId, seq, duplicate: true, unproven: true } : { taskId, seq, duplicate };

interface Locked {
  readonly task: number;
  readonly owner: string;
  readonly private: boolean;
  readonly place: string;
}

const absent = ({ taskId, by, place }: Post): StoreError =>
  new StoreError("not_found", `there is no task ${taskId} for ${by}${place === undefined ? "" : ` in ${place}`}`);

/** A correction: who is named is looked up once the row is locked, which whoever names and dismisses writes. */
const postSteer = (connection: Connection, params: Post, values: readonly unknown[]): Promise<Posted | undefined> =>
  connection.write(async (session) => {
    const found = await session.first<Locked>(LOCK, values[0]);
    if (found === undefined) return session.first<Posted>(POST, ...values);
    const { by, place } = params;
    const named =
      by === found.owner || (!found.private && (await session.first(NAMED, found.task, encodeText(by))) !== undefined);
    if (!named || (place !== undefined && place !== found.place)) throw absent(params);
    return session.first<Posted>(POST, ...values);
  });

/** Codes: `not_found`, `forgotten`, `ended`, `conflict`. */
export const post = async (connection: Connection, params: Post): Promise<PostReceipt> => {
  const { taskId, by, key, item, place } = params;
  const text = encodeItem(item);
  const values = [
    ...[encodeText(taskId), encodeText(by), encodeText(key)],
    ...[Buffer.from(sealText(connection.seal, taskId, text)), Buffer.from(itemDigest(text)), connection.clock],
  ];
  let answer: Posted | undefined;
  if (item.type === "Steer") answer = await postSteer(connection, params, values);
  else if (place === undefined) answer = await connection.first<Posted>(POST, ...values);
  else {
    answer = await connection.first<Posted>(POST_IN, ...values, encodeText(place));
    // Not there, or not in this place: what is forgotten is said to be so.
    if (answer === undefined) answer = await connection.first<Posted>(ABSENT, encodeText(taskId));
    if (answer === undefined) throw absent(params);
  }
  if (answer?.code === "conflict") {
    throw new StoreError("conflict", `task ${taskId} was posted another item under the key ${key}`);
  }
  return receiptOf(taskId, accepted(answer, taskId, connection.name));
};

/** An untaken item as `perdure.untaken` gives it. A timer that was moved in has its time, and no body. */
export interface ItemRow {
  readonly seq: number;
  readonly at: number;
  readonly due_at: number | null;
  readonly by: string;
  readonly key: string;
  readonly body: string | null;
}

/** What the bodies of a log or an inbox are, given as text, or sealed in base64. */
export const bodyText = (connection: Connection, taskId: string, given: string, plain = connection.plain): string =>
  plain ? given : openText(connection.seal, taskId, new Uint8Array(Buffer.from(given, "base64")));

const itemText = (connection: Connection, taskId: string, row: ItemRow): string => {
  if (row.due_at === null) return bodyText(connection, taskId, row.body ?? "");
  const timerId = row.key.slice(timerItem("", row.due_at).key.indexOf("::") + 1, -`:${String(row.due_at)}`.length);
  return encodeItem(timerItem(timerId, row.due_at).item);
};

/** What one take holds of untaken items. */
export const takeOf = (connection: Connection, taskId: string, rows: readonly ItemRow[]): InboxEntry[] =>
  firstTake(
    rows.map((row) => {
      const { seq, at, by, key } = row;
      return { seq, at, by, key, body: itemText(connection, taskId, row) };
    }),
  );

/** `p_items, p_bytes, p_plain` of a take. */
export const takeValues = (connection: Connection): unknown[] => [TAKE_ITEMS, TAKE_BYTES, connection.plain];

const READ =
  "SELECT * FROM perdure.read_inbox($1::text, $2::bigint, $3::integer, $4::bigint, $5::boolean, $6::bigint[])";

/** Codes: `not_owner`, `not_found`, `forgotten`. */
export const readInbox = async (
  connection: Connection,
  { taskId, fence }: { readonly taskId: string; readonly fence: number },
): Promise<InboxEntry[]> => {
  const rows = await connection.rows<Answer & ItemRow>(
    READ,
    ...[encodeText(taskId), fence, ...takeValues(connection), connection.clock],
  );
  if (rows[0] !== undefined) accepted(rows[0], taskId, connection.name);
  return takeOf(connection, taskId, rows);
};
