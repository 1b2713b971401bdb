// What was erased since a backup is erased again, before anybody can read or claim what was restored from it.
import { randomBytes } from "node:crypto";
import { toHex } from "../../core/envelope.ts";
import type { Connection } from "./connection.ts";
import { eraseTask } from "./erase-task.ts";
import { keyDigest, type Erasure, type Redacted } from "../erasures.ts";
import { readEnvelopes } from "./log.ts";
import { redact } from "./redaction.ts";
import { findTask } from "./tasks.ts";

/** The task's content that the entry names and the backup still has. True when there was any. */
const redactAgain = (connection: Connection, { redacted: taskId, events, items }: Redacted): boolean => {
  const row = findTask(connection, taskId);
  if (row === undefined) return false;
  const seqs = events.filter(([seq, digest]) => {
    const [event] = readEnvelopes(connection, row, { after: seq - 1, through: seq });
    return event !== undefined && event.salt !== null && toHex(event.digest) === digest;
  });
  const keys = new Set(items);
  const untaken = connection
    .all<{ seq: number; key: string }>("SELECT seq, key FROM inbox WHERE task = ? AND body IS NOT NULL", row.task)
    .filter(({ key }) => keys.has(keyDigest(taskId, key)));
  const secret = new Uint8Array(randomBytes(32));
  const { revision } = redact(connection, {
    ...{ taskId, secret },
    seqs: seqs.map(([seq]) => seq),
    items: untaken.map(({ seq }) => seq),
  });
  return revision > row.revision;
};

const eraseAgain = (connection: Connection, taskId: string, marks: "pruned" | "forgotten"): boolean => {
  const row = findTask(connection, taskId);
  if (row !== undefined) eraseTask(connection, row.task);
  connection.run(`INSERT INTO ${marks} (id) VALUES (?) ON CONFLICT DO NOTHING`, taskId);
  return row !== undefined;
};

const apply = (connection: Connection, entry: Erasure): boolean => {
  if ("redacted" in entry) return redactAgain(connection, entry);
  if ("pruned" in entry) return eraseAgain(connection, entry.pruned, "pruned");
  if ("forgotten" in entry) return eraseAgain(connection, entry.forgotten, "forgotten");
  return false;
};

/** How many of them found something to erase. Codes: `newer_version`, `damaged`. */
export const applyErasures = (connection: Connection, entries: readonly Erasure[]): number =>
  entries.filter((entry) => apply(connection, entry)).length;
