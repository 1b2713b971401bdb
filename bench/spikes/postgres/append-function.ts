// The append as a call of the database function of functions.sql.
import type { Append } from "./shapes.ts";

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));
const base64 = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64");

const types =
  "text integer integer integer text[] integer[] bytea bytea jsonb jsonb jsonb integer integer text[] jsonb jsonb";
export const appendFunctionText = `SELECT * FROM append(${types
  .split(" ")
  .map((type, index) => `$${String(index + 1)}::${type}`)
  .join(", ")})`;

const posts = (append: Append) =>
  append.posts?.map(({ taskId, by, key, body, salt, hash }) => ({
    task_id: taskId,
    author: by,
    key,
    body: base64(body),
    salt: base64(salt),
    hash: base64(hash),
  }));

const children = (append: Append) =>
  append.children?.map(({ taskId, drafts }) => ({
    task_id: taskId,
    events: drafts.map(({ seq, type, body, salt, digest, chain }) => ({
      seq,
      type,
      body: base64(body),
      salt: base64(salt),
      digest: base64(digest),
      chain: base64(chain),
    })),
  }));

export const appendFunctionValues = (append: Append): unknown[] => {
  const { drafts } = append;
  const bodies = drafts.map((draft) => Buffer.from(draft.body));
  return [
    append.taskId,
    append.fence,
    append.revision,
    (drafts[0]?.seq ?? 1) - 1,
    drafts.map((draft) => draft.type),
    bodies.map((body) => body.length),
    Buffer.concat(bodies),
    Buffer.concat(drafts.flatMap((draft) => [draft.salt, draft.digest, draft.chain])),
    json(append.columns),
    json(append.usage),
    json(append.timers?.map(({ key, dueAt, seq }) => ({ key, due_at: dueAt, seq }))),
    append.taken ?? null,
    append.inboxSeen ?? null,
    append.sources ?? null,
    json(posts(append)),
    json(children(append)),
  ];
};
