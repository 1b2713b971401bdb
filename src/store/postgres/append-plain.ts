// The append of a steady loop: events, at most a row of usage, and nothing else. One prepared statement without a function,
// which costs the server about half. It reads no table but the task's row, so what it saw before a lock cannot be old.
import { projections } from "../../core/project.ts";
import { sealText } from "../seal.ts";
import type { AppendParams, AppendReceipt } from "../store.ts";
import type { Connection } from "./connection.ts";
import { typeCodes } from "./drafts.ts";
import { encodeText } from "./text.ts";

const MOST_DRAFTS = 4;
const columns = Object.entries(projections.usage);

/** Whether all of an append is events that follow one another, and at most one whole row of usage. */
export const isPlain = ({ columns: changed, rows, drafts, ...rest }: AppendParams): boolean => {
  const { taken, inboxSeen, posts = [], children = [], definitions = [] } = rest;
  if (taken !== undefined || inboxSeen !== undefined) return false;
  if (posts.length + children.length + definitions.length + Object.keys(changed).length > 0) return false;
  const first = drafts[0]?.seq ?? 0;
  if (first < 1 || drafts.length > MOST_DRAFTS) return false;
  if (!drafts.every(({ seq, type }, index) => seq === first + index && type !== "TaskEnded")) return false;
  return rows.length === 0 || (rows.length === 1 && isWholeUsage(rows[0]));
};

const isWholeUsage = (row: AppendParams["rows"][number] | undefined): boolean =>
  row?.table === "usage" &&
  columns.every(([name, type]) => {
    const value = row.set?.[name];
    return value === null || typeof value === (type === "text" ? "string" : "number");
  });

const HEADER = 5;
const PER_DRAFT = 4;

const texts = new Map<string, string>();

const textFor = (drafts: number, usage: boolean): string => {
  const name = `${String(drafts)} ${String(usage)}`;
  let text = texts.get(name);
  if (text === undefined) {
    text = compose(drafts, usage);
    texts.set(name, text);
  }
  return text;
};

const compose = (drafts: number, usage: boolean): string => {
  const at = (index: number, field: number): string => `$${String(HEADER + index * PER_DRAFT + field)}`;
  const events = Array.from({ length: drafts }, (_, index) => {
    const seq = `$4::integer + ${String(index + 1)}`;
    return `(${seq}, ${at(index, 1)}::smallint, ${at(index, 2)}::bytea, ${at(index, 3)}::bytea, ${at(index, 4)}::bytea)`;
  });
  const names = ["key", ...columns.map(([column]) => `"${column}"`)];
  const values = ["text", ...columns.map(([, type]) => (type === "text" ? "text" : "double precision"))];
  const counted = `, u AS (INSERT INTO perdure.usage (task, ${names.join(", ")})
    SELECT t.task, ${values.map((type, index) => `${at(drafts, index + 1)}::${type}`).join(", ")} FROM t
    ON CONFLICT (task, key) DO UPDATE SET ${names
      .slice(1)
      .map((column) => `${column} = excluded.${column}`)
      .join(", ")})`;
  const now = "coalesce(($5::bigint[])[1], perdure.clock_ms())";
  return `WITH t AS (UPDATE perdure.tasks SET last_seq = $4::integer + ${String(drafts)}, head = ${at(drafts - 1, 3)},
      updated_at = greatest(${now}, updated_at)
    WHERE id = $1 AND fence = $2 AND revision = $3 AND last_seq = $4::integer AND claimed_by IS NOT NULL AND status <> 'ended'
    RETURNING task, updated_at, inbox_seq, next_timer_at),
  e AS (INSERT INTO perdure.events (task, seq, at, type, salt, chain, body)
    SELECT t.task, v.seq, t.updated_at, v.type, v.salt, v.chain, v.body
    FROM t, LATERAL (VALUES ${events.join(", ")}) v (seq, type, salt, chain, body))
  ${usage ? counted : ""}
  SELECT updated_at AS at, inbox_seq, next_timer_at IS NOT NULL AND next_timer_at <= ${now} AS timer_due FROM t`;
};

interface Appended {
  readonly at: number;
  readonly inbox_seq: number;
  readonly timer_due: boolean;
}

/** Appends what is plain. Undefined, and nothing done, where a guard refuses: which one, it does not tell. */
export const appendPlain = async (
  connection: Connection,
  { taskId, fence, revision, drafts, rows }: AppendParams,
): Promise<AppendReceipt | undefined> => {
  const [usage] = rows;
  const values: unknown[] = [encodeText(taskId), fence, revision, (drafts[0]?.seq ?? 0) - 1, connection.clock];
  for (const { type, salt, chain, body } of drafts) {
    values.push(
      typeCodes[type],
      Buffer.from(salt),
      Buffer.from(chain),
      Buffer.from(sealText(connection.seal, taskId, body)),
    );
  }
  if (usage !== undefined) {
    values.push(encodeText(usage.key));
    for (const [name, type] of columns) {
      const value = usage.set?.[name] ?? null;
      values.push(type === "text" && value !== null ? encodeText(String(value)) : value);
    }
  }
  const row = await connection.first<Appended>(textFor(drafts.length, usage !== undefined), ...values);
  if (row === undefined) return undefined;
  return { lastSeq: drafts.at(-1)?.seq ?? 0, at: row.at, inboxSeq: row.inbox_seq, timerDue: row.timer_due };
};
