// What was erased since a backup is erased again, before anybody can read or claim what was restored from it.
import { randomBytes } from "node:crypto";
import { toHex } from "../../core/envelope.ts";
import { keyDigest, type Erasure, type Redacted } from "../erasures.ts";
import type { Connection, Session } from "./connection.ts";
import { readLog } from "./log.ts";
import { eraseTasks } from "./prune.ts";
import { redactIn } from "./redaction.ts";
import { findTask } from "./tasks.ts";
import { encodeText } from "./text.ts";

const UNTAKEN = "SELECT seq, key FROM perdure.inbox WHERE task = $1 AND body IS NOT NULL";

/** The task's content that the entry names and the backup still has. True when there was any. */
const redactAgain = async (
  connection: Connection,
  session: Session,
  { redacted: taskId, events, items }: Redacted,
): Promise<boolean> => {
  const row = await findTask(session, taskId);
  if (row === undefined) return false;
  const seqs: number[] = [];
  for (const [seq, digest] of events) {
    const { entries } = await readLog(connection, session, { taskId, after: seq - 1, through: seq }, false);
    const [event] = entries;
    if (event !== undefined && event.salt !== null && toHex(event.digest) === digest) seqs.push(seq);
  }
  const keys = new Set(items);
  const untaken = (await session.rows<{ seq: number; key: string }>(UNTAKEN, row.task)).filter(({ key }) =>
    keys.has(keyDigest(taskId, key)),
  );
  const secret = new Uint8Array(randomBytes(32));
  const redaction = { taskId, secret, seqs, items: untaken.map(({ seq }) => seq) };
  return (await redactIn(connection, session, redaction)).erasure !== null;
};

const eraseAgain = async (session: Session, taskId: string, marks: "pruned" | "forgotten"): Promise<boolean> => {
  const row = await findTask(session, taskId);
  if (row !== undefined) await eraseTasks(session, [row.task]);
  await session.rows(`INSERT INTO perdure.${marks} (id) VALUES ($1) ON CONFLICT DO NOTHING`, encodeText(taskId));
  return row !== undefined;
};

const apply = async (connection: Connection, session: Session, entry: Erasure): Promise<boolean> => {
  if ("redacted" in entry) return redactAgain(connection, session, entry);
  if ("pruned" in entry) return eraseAgain(session, entry.pruned, "pruned");
  if ("forgotten" in entry) return eraseAgain(session, entry.forgotten, "forgotten");
  return false;
};

/** How many of them found something to erase. Codes: `newer_version`, `damaged`. */
export const applyErasures = async (
  connection: Connection,
  session: Session,
  entries: readonly Erasure[],
): Promise<number> => {
  let made = 0;
  for (const entry of entries) if (await apply(connection, session, entry)) made += 1;
  return made;
};
