// Decisions and showings: judged and kept by the database functions of migration 0006, in the transaction of the post.
import { encodeItem } from "../../core/codec.ts";
import type { ItemOf } from "../../core/items.ts";
import { refused } from "../decisions.ts";
import { sealText } from "../seal.ts";
import {
  StoreError,
  type Decided,
  type DecisionRefusal,
  type Post,
  type PostReceipt,
  type Showing,
  type Store,
  type StoreCode,
} from "../store.ts";
import type { Connection } from "./connection.ts";
import { itemDigest } from "./drafts.ts";
import { receiptOf } from "./inbox.ts";
import { accepted } from "./refuse.ts";
import { findTask } from "./tasks.ts";
import { decodeText, encodeText } from "./text.ts";

const POST = `SELECT * FROM perdure.post_decision($1::text, $2::text, $3::text, $4::bytea, $5::bytea, $6::bigint[],
  $7::text, $8::text, $9::bigint, $10::text)`;

interface Judged {
  readonly code: StoreCode | null;
  readonly refusal: DecisionRefusal | null;
  readonly state: string | null;
}

interface Posted extends Judged {
  readonly seq: number;
  readonly duplicate: boolean | null;
  readonly decision: Decided["decision"] | null;
  readonly decided_by: string;
  readonly decided_at: number;
}

const THERE = "SELECT 1 AS there FROM perdure.tasks WHERE id = $1::text AND place = $2::text FOR NO KEY UPDATE";
const ABSENCE =
  "SELECT perdure.absence($1::text) AS code WHERE NOT EXISTS (SELECT FROM perdure.tasks WHERE id = $1::text)";

type Decide = Omit<ItemOf<"Decide">, "seq" | "at" | "by" | "key">;

/** Codes: those of `post`, and DecisionRefused. */
export const postDecision = async (
  connection: Connection,
  params: Omit<Post, "item"> & { readonly item: Decide },
): Promise<PostReceipt> => {
  const { taskId, by, key, item, place } = params;
  const text = encodeItem(item);
  const { requestId, inputHash, showing, decision } = item;
  const values = [
    ...[encodeText(taskId), encodeText(by), encodeText(key)],
    ...[Buffer.from(sealText(connection.seal, taskId, text)), Buffer.from(itemDigest(text)), connection.clock],
    ...[encodeText(requestId), encodeText(inputHash), showing, decision],
  ];
  const answer =
    place === undefined
      ? await connection.first<Posted>(POST, ...values)
      : await connection.write(async (session) => {
          if ((await session.first(THERE, values[0], encodeText(place))) !== undefined) {
            return session.first<Posted>(POST, ...values);
          }
          const gone = await session.first<Posted>(ABSENCE, values[0]);
          if (gone === undefined) throw new StoreError("not_found", `there is no task ${taskId} for ${by} in ${place}`);
          return gone;
        });
  if (answer?.code === "conflict") {
    throw new StoreError("conflict", `task ${taskId} was posted another item under the key ${key}`);
  }
  const posted = accepted(answer, taskId, connection.name);
  if (posted.refusal !== null) throw refused(taskId, requestId, posted.refusal, posted.state);
  const { seq, decision: first, decided_by, decided_at } = posted;
  if (first === null) return receiptOf(taskId, posted);
  const decided = { requestId, decision: first, by: decodeText(decided_by), at: decided_at, seq };
  return { ...receiptOf(taskId, posted), decided };
};

export const showApproval = async (
  connection: Connection,
  { taskId, requestId, frontEnd }: Parameters<Store["showApproval"]>[0],
): Promise<number> => {
  const answer = await connection.first<Judged & { readonly showing: number }>(
    "SELECT * FROM perdure.show_approval($1::text, $2::text, $3::text)",
    ...[encodeText(taskId), encodeText(requestId), encodeText(frontEnd)],
  );
  const shown = accepted(answer, taskId, connection.name);
  if (shown.refusal !== null) throw refused(taskId, requestId, shown.refusal, shown.state);
  return shown.showing;
};

const SHOWINGS = `SELECT request, front_end, showing FROM perdure.showings WHERE task = $1 ORDER BY request, front_end`;
const DECIDED = `SELECT request, decision, by, at, seq FROM perdure.decisions WHERE task = $1 ORDER BY request`;

export const readDecisions = (
  connection: Connection,
  taskId: string,
): Promise<Awaited<ReturnType<Store["readDecisions"]>>> =>
  connection.read(async (session) => {
    const found = await findTask(session, taskId);
    if (found === undefined) return { showings: [], decided: [] };
    const showings = await session.rows<{ request: string; front_end: string; showing: number }>(SHOWINGS, found.task);
    const decided = await session.rows<{ request: string } & Omit<Decided, "requestId">>(DECIDED, found.task);
    return {
      showings: showings.map(({ request, front_end, showing }): Showing => {
        return { requestId: decodeText(request), frontEnd: decodeText(front_end), showing };
      }),
      decided: decided.map(({ request, by, ...rest }): Decided => {
        return { requestId: decodeText(request), by: decodeText(by), ...rest };
      }),
    };
  });
