// A task that goes whole. Its rows stay, blank, where rows hold content (0001); so does its own row, for them to belong to.
import { projections } from "../../core/project.ts";
import type { Connection } from "./connection.ts";

/** What a row of these gives up is overwritten; none is made longer. */
const blanks: readonly string[] = [
  "UPDATE events SET salt = NULL, chain = x'', body = x'' WHERE task = ?",
  "UPDATE redactions SET eventDigest = x'', digest = x'', chain = x'', body = x'' WHERE task = ?",
  "UPDATE inbox SET by = '', key = CAST(seq AS TEXT), hash = NULL, body = NULL WHERE task = ?",
  "UPDATE snapshots SET bytes = NULL WHERE task = ?",
  "UPDATE chunks SET file = NULL, bytes = x'' WHERE file IN (SELECT file FROM files WHERE task = ?)",
  "UPDATE secrets SET secret = zeroblob(length(secret)) WHERE task = ?",
];

const tables: readonly string[] = [
  "files",
  "holds",
  "showings",
  "decisions",
  "definitionUses",
  ...Object.keys(projections),
];

const GONE = `UPDATE tasks SET status = 'gone', key = NULL, keyPlace = '', agent = '', owner = '', frontEnd = '', place = '',
    conversation = '', parent = NULL, root = '', historyFrom = NULL, waitingOn = NULL, outcome = NULL, reason = NULL,
    claimedBy = NULL, leaseUntil = NULL, leaseBoot = NULL, leaseEndsAt = NULL, nextTimerAt = NULL, readyAt = NULL,
    inboxTaken = inboxSeq
  WHERE task = ?`;

/** Removes log, inbox, rows, snapshots, files and secret. The caller marks the id, as pruned or as forgotten. */
export const eraseTask = (connection: Connection, task: number): void => {
  for (const sql of blanks) connection.run(sql, task);
  for (const table of tables) connection.run(`DELETE FROM ${table} WHERE task = ?`, task);
  connection.run(GONE, task);
};
