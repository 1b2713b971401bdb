// How a task comes into being: with its first events, rows and items, once per creation key.
import { toHex } from "../../core/envelope.ts";
import { checkDrafts, isSameCreation } from "../drafts.ts";
import { openText } from "../seal.ts";
import { StoreError, type CreateParams, type CreateReceipt, type StoreCode } from "../store.ts";
import type { Connection, Session } from "./connection.ts";
import { columnValues, draftValues, itemValues, rowValues } from "./drafts.ts";
import { decodeText, encodeText } from "./text.ts";

const CREATE = `SELECT * FROM perdure.create_task($1::text, $2::text, $3::jsonb, $4::bytea, $5::smallint[],
  $6::integer[], $7::bytea, $8::bytea, $9::bigint[], $10::jsonb, $11::text[], $12::text[], $13::integer[], $14::bytea,
  $15::bytea)`;

interface Created {
  readonly code: StoreCode | "known" | null;
  readonly first_id: string | null;
  readonly last_seq: number | null;
  readonly head: Uint8Array | null;
  readonly created: Uint8Array | null;
}

/** The receipt of the creation that used this key before. Codes: `conflict`, `damaged`. */
const receiptOf = (connection: Connection, answer: Created, { task, drafts }: CreateParams): CreateReceipt => {
  const taskId = decodeText(answer.first_id ?? "");
  if (answer.head === null || answer.created === null || answer.last_seq === null) {
    throw new StoreError("damaged", `task ${taskId} has lost its first events`);
  }
  const created = openText(connection.seal, taskId, answer.created);
  if (!isSameCreation(created, drafts[0]?.body ?? "{}")) {
    throw new StoreError("conflict", `the key ${String(task.key)} created task ${taskId}, which is another`);
  }
  return { taskId, lastSeq: answer.last_seq, head: toHex(answer.head), duplicate: true };
};

/** Codes: `conflict`, `forgotten`. */
export const createTask = async (
  connection: Connection,
  session: Session,
  params: CreateParams,
): Promise<CreateReceipt> => {
  const { drafts, items, task } = params;
  const { taskId, key, columns, secret, rows } = task;
  checkDrafts(taskId, drafts, 0);
  const answer = await session.first<Created>(
    CREATE,
    ...[encodeText(taskId), key === undefined ? null : encodeText(key), columnValues(columns), Buffer.from(secret)],
    ...draftValues(connection.seal, taskId, drafts),
    ...[connection.clock, rowValues(rows)],
    ...itemValues(
      connection.seal,
      items.map((item) => ({ ...item, taskId })),
    ),
  );
  if (answer === undefined) throw new Error(`${connection.name}: a creation gave no row`);
  if (answer.code === "known") return receiptOf(connection, answer, params);
  if (answer.code === "forgotten") throw new StoreError("forgotten", `task ${taskId} was forgotten`);
  if (answer.code !== null) throw new StoreError("conflict", `there is a task ${taskId} already`);
  const last = drafts.at(-1);
  if (last === undefined) throw new Error("a creation without drafts passed its guard");
  return { taskId, lastSeq: last.seq, head: toHex(last.chain), duplicate: false };
};
