// Tasks, drafts and items for the spike, and the two ways to append.
import { createHash, randomBytes } from "node:crypto";
import type pg from "pg";
import { FIRST_CHAIN, sealEvents } from "../../../src/core/envelope.ts";
import type { Event } from "../../../src/core/events.ts";
import { nodeHasher } from "../../../src/store/node-hasher.ts";
import type { Draft } from "../../../src/store/store.ts";
import { appendFunctionText, appendFunctionValues } from "./append-function.ts";
import { appendStatement } from "./append-statement.ts";
import type { Append, AppendAnswer, Item } from "./shapes.ts";

export type Way = "statement" | "function";

interface AnswerRow {
  code: string;
  at: string;
  inbox_seq: number;
  timer_due: boolean;
}

const names = new Map<string, string>();
/** A prepared statement's name for a text: the same text is planned once per connection. */
const nameOf = (text: string): string => {
  const name = names.get(text) ?? `append-${String(names.size)}`;
  names.set(text, name);
  return name;
};

export const append = async (client: pg.Client, way: Way, params: Append): Promise<AppendAnswer> => {
  const { text, values } =
    way === "function" ? { text: appendFunctionText, values: appendFunctionValues(params) } : appendStatement(params);
  const answer = await client.query<AnswerRow>({ name: nameOf(text), text, values: [...values] });
  const row = answer.rows[0];
  if (row === undefined) throw new Error("an append answered nothing");
  return { code: row.code, at: Number(row.at), inboxSeq: row.inbox_seq, timerDue: row.timer_due };
};

export interface PostAnswer {
  readonly code: string;
  readonly seq: number | null;
  readonly duplicate: boolean;
  /** The key was used before with another body. */
  readonly differs: boolean;
}

export const itemOf = (taskId: string, key: string, text: string): Item => {
  const body = Buffer.from(JSON.stringify({ type: "Say", text }));
  const salt = randomBytes(16);
  return { taskId, by: "local:root", key, body, salt, hash: createHash("sha256").update(salt).update(body).digest() };
};

export const post = async (client: pg.Client, item: Item): Promise<PostAnswer> => {
  const answer = await client.query<{
    code: string;
    seq: number | null;
    duplicate: boolean;
    salt: Buffer | null;
    hash: Buffer | null;
  }>({
    name: "post",
    text: "SELECT * FROM post($1, $2, $3, $4, $5, $6)",
    values: [item.taskId, item.by, item.key, item.body, item.salt, item.hash],
  });
  const row = answer.rows[0];
  if (row === undefined) throw new Error("a post answered nothing");
  const { code, seq, duplicate, salt, hash } = row;
  const same =
    salt === null || hash === null || createHash("sha256").update(salt).update(item.body).digest().equals(hash);
  return { code, seq, duplicate, differs: duplicate && !same };
};

/** A lane's number; made when it is new. */
export const laneOf = async (client: pg.Client, requires: readonly string[]): Promise<number> => {
  const text = `INSERT INTO lanes (queue, requires) VALUES ('default', $1)
    ON CONFLICT (queue, requires) DO UPDATE SET queue = excluded.queue RETURNING lane`;
  return (await client.query<{ lane: number }>(text, [requires])).rows[0]?.lane ?? 0;
};

/** A task's row with no events, already claimed under fence 1. */
export const addTask = async (
  client: pg.Client,
  taskId: string,
  columns: Record<string, unknown> = {},
  requires: readonly string[] = ["agent:demo"],
): Promise<void> => {
  const row = {
    agent: "demo",
    owner: "local:root",
    place: "cli",
    root: taskId,
    status: "running",
    lane: await laneOf(client, requires),
    last_seq: 0,
    chain: Buffer.from(FIRST_CHAIN),
    fence: 1,
    created_at: Date.now(),
    updated_at: Date.now(),
    ready_at: Date.now(),
    lease_until: Date.now() + 3_600_000,
    ...columns,
  };
  const fields = Object.keys(row);
  await client.query(
    `INSERT INTO tasks (task_id, ${fields.join(", ")}) VALUES ($1, ${fields.map((_, n) => `$${String(n + 2)}`).join(", ")})`,
    [taskId, ...Object.values(row)],
  );
  await client.query("INSERT INTO secrets VALUES ($1, $2)", [taskId, randomBytes(32)]);
};

const words = "the agent reads a file and runs the tests before it writes the result ".repeat(20);

/** The events of one model-and-tool cycle, in the sizes of a real one. `index` makes them differ. */
export const cycle = (index: number, outputChars = 450): Event[] => {
  const callId = `c${String(index)}_0`;
  const hash = createHash("sha256").update(String(index)).digest("hex");
  return [
    {
      type: "ModelCalled",
      model: "some-model-large",
      requestHash: hash,
      attempt: 1,
      purpose: "turn",
      prefixHash: hash,
      messages: index,
      revision: 0,
    },
    {
      type: "ModelReplied",
      message: {
        parts: [
          { type: "text", text: words.slice(index % 60, 300 + (index % 60)) },
          { type: "call", name: "Read", input: { file_path: `/src/${String(index)}.ts`, limit: 200 } },
        ],
      },
      stopReason: "tool_use",
      usage: { tokens: { input: 4000 + index, output: 300, cacheRead: 3900 }, durationMs: 1200 },
    },
    {
      type: "ToolStarted",
      callId,
      name: "Read",
      input: { file_path: `/src/${String(index)}.ts`, limit: 200 },
      effect: "read",
      definition: hash,
      invocationId: callId,
      attempt: 1,
    },
    {
      type: "ToolFinished",
      callId,
      status: "ok",
      content: [{ type: "text", text: words.repeat(Math.ceil(outputChars / words.length)).slice(0, outputChars) }],
    },
  ] as Event[];
};

/** Drafts that follow `seq`; the chain begins anew, which no guard looks at. */
export const draftsAfter = (seq: number, events: readonly Event[]): Draft[] =>
  sealEvents(nodeHasher, { seq, chain: FIRST_CHAIN }, events, () => randomBytes(16));

/** One plain event at `seq`. */
export const draft = (seq: number): Draft[] => draftsAfter(seq - 1, cycle(seq).slice(0, 1));

export const waiting = (seq: number): Draft[] => draftsAfter(seq - 1, [{ type: "Waiting", on: "input", detail: {} }]);
