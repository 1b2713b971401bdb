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

interface Posted {
  readonly code: StoreCode | null;
  readonly seq: number;
  readonly duplicate: boolean;
}

/** Codes: `not_found`, `forgotten`, `ended`, `conflict`. */
export const post = async (connection: Connection, { taskId, by, key, item }: Post): Promise<PostReceipt> => {
  const text = encodeItem(item);
  const answer = await connection.first<Posted>(
    POST,
    ...[encodeText(taskId), encodeText(by), encodeText(key)],
    ...[Buffer.from(sealText(connection.seal, taskId, text)), Buffer.from(itemDigest(text)), connection.clock],
  );
  if (answer?.code === "conflict") {
    throw new StoreError("conflict", `task ${taskId} was posted another item under the key ${key}`);
  }
  const { seq, duplicate } = accepted(answer, taskId, connection.name);
  return { taskId, seq, duplicate };
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
