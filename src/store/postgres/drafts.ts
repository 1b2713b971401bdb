// Events, rows, columns and items as the database functions take them.
import { encodeItem } from "../../core/codec.ts";
import type { EventType } from "../../core/events.ts";
import { mergeRows, projections, type Row, type TaskColumns, type Value } from "../../core/project.ts";
import { nodeHasher } from "../node-hasher.ts";
import { sealText } from "../seal.ts";
import type { Draft, Post, Seal } from "../store.ts";
import { encodeText } from "./text.ts";

/** As migration 0001 has them. */
export const typeCodes: Readonly<Record<EventType, number>> = {
  TaskCreated: 1,
  InputTaken: 2,
  ModelCalled: 3,
  ModelReplied: 4,
  ToolStarted: 5,
  ToolFinished: 6,
  Compacted: 7,
  Waiting: 8,
  TaskEnded: 9,
  ExtensionRecorded: 10,
};

const SALT = 16;
const CHAIN = 32;

/** `p_types, p_lengths, p_bodies, p_proofs`. */
export const draftValues = (seal: Seal, taskId: string, drafts: readonly Draft[]): unknown[] => {
  const bodies = drafts.map((draft) => sealText(seal, taskId, draft.body));
  const proofs = Buffer.allocUnsafe(drafts.length * (SALT + CHAIN));
  for (const [index, { salt, chain }] of drafts.entries()) {
    if (salt.length !== SALT || chain.length !== CHAIN) throw new Error(`a draft of task ${taskId} has another form`);
    proofs.set(salt, index * (SALT + CHAIN));
    proofs.set(chain, index * (SALT + CHAIN) + SALT);
  }
  return [
    `{${drafts.map((draft) => typeCodes[draft.type]).join()}}`,
    `{${bodies.map((body) => body.length).join()}}`,
    Buffer.concat(bodies),
    proofs,
  ];
};

const fitted = (value: Value | undefined, type: "text" | "integer" | "real"): Value => {
  if (value === undefined || value === null) return null;
  if (type === "text") return encodeText(String(value));
  return typeof value === "number" ? value : null;
};

/** `p_rows`: by table the rows to set, and under `gone` those to remove. A value that does not fit is stored as null. */
export const rowValues = (rows: readonly Row[]): string | null => {
  if (rows.length === 0) return null;
  const by: Record<string, Record<string, unknown>[]> = {};
  for (const { table, key, set } of mergeRows(rows)) {
    const named: Record<string, unknown> = { key: encodeText(key) };
    if (set === null) {
      (by["gone"] ??= []).push({ ...named, table });
      continue;
    }
    for (const [column, type] of Object.entries(projections[table])) {
      if (Object.hasOwn(set, column)) named[column] = fitted(set[column], type);
    }
    (by[table] ??= []).push(named);
  }
  return JSON.stringify(by);
};

const encoded = (value: unknown): unknown => {
  if (typeof value === "string") return encodeText(value);
  if (Array.isArray(value)) return value.map(encoded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, encoded(part)]));
};

/** `p_columns`; null where nothing is named. */
export const columnValues = (columns: Partial<TaskColumns>): string | null =>
  Object.keys(columns).length === 0 ? null : JSON.stringify(encoded(columns));

/** JSON of plain values, with their texts as the database takes them. */
export const jsonValue = (value: unknown): string => JSON.stringify(encoded(value));

/** What the database takes of an item's text in place of the text itself: it keeps a hash of this under the secret. */
export const itemDigest = (body: string): Uint8Array => nodeHasher.sha256(body);

/** `p_by, p_keys, p_item_lengths, p_items, p_digests`; nulls where there is none. */
export const itemValues = (seal: Seal, posts: readonly Post[]): unknown[] => {
  if (posts.length === 0) return [null, null, null, null, null];
  const texts = posts.map((post) => encodeItem(post.item));
  const bodies = posts.map((post, index) => sealText(seal, post.taskId, texts[index] ?? ""));
  return [
    posts.map((post) => encodeText(post.by)),
    posts.map((post) => encodeText(post.key)),
    `{${bodies.map((body) => body.length).join()}}`,
    Buffer.concat(bodies),
    Buffer.concat(texts.map(itemDigest)),
  ];
};
