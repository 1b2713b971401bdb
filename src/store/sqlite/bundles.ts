// Tasks whole, out of a store and into one. What comes in is verified before anything is kept.
import { checkBundle, mayHaveGoneOn } from "../check-bundle.ts";
import type { Bundle, Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { insertTask, requireNew } from "./creation.ts";
import { definitionsOf, useDefinitions } from "./definitions.ts";
import { filesOf, writeFile } from "./files.ts";
import { nextTimer } from "./inbox.ts";
import { insertEvent, knowTypes, readEnvelopes, readRedactions, type LogOf } from "./log.ts";
import { writeRows } from "./projections.ts";
import { insertRedaction } from "./redaction.ts";
import { changeTask, getTask, readyFrom, requireTask } from "./tasks.ts";

/** Codes: `not_found`, `forgotten`. */
export const exportTask = (connection: Connection, taskId: string, now: number): Bundle => {
  const row = requireTask(connection, taskId);
  const shown = getTask(connection, taskId, now);
  if (shown === null) throw new Error(`task ${taskId} vanished in its own transaction`);
  return {
    format: "perdure-task/1",
    row: shown,
    entries: readEnvelopes(connection, row, {}),
    redactions: readRedactions(connection, taskId),
    definitions: definitionsOf(connection, row.task),
    files: filesOf(connection, row),
  };
};

const insertLog = (connection: Connection, log: LogOf, { entries, redactions }: Bundle): void => {
  knowTypes(
    connection,
    entries.map((entry) => entry.type),
  );
  for (const entry of entries) insertEvent(connection, log, entry.at, entry);
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  for (const redaction of redactions) {
    const entry = bySeq.get(redaction.seq);
    if (entry === undefined) throw new Error(`a bundle that was checked lacks event ${String(redaction.seq)}`);
    insertRedaction(connection, log, { ...redaction, eventDigest: entry.digest, body: entry.body });
  }
};

/** Codes: `conflict`, `forgotten`, `damaged`. */
export const importTask = (connection: Connection, params: Parameters<Store["importTask"]>[0], now: number): void => {
  const { taskId, bundle, secret, columns, bundleAt = null } = params;
  requireNew(connection, taskId);
  checkBundle(bundle);
  const { row, entries } = bundle;
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) throw new Error("a bundle that was checked has no events");
  const task = insertTask(connection, { taskId, columns, secret }, entries.length, first.at);
  const log = { task, id: taskId };
  insertLog(connection, log, bundle);
  writeRows(connection, task, params.rows);
  useDefinitions(connection, task, bundle.definitions);
  for (const file of bundle.files) writeFile(connection, log, file);
  changeTask(connection, task, {
    updatedAt: last.at,
    lastSeq: last.seq,
    head: last.chain,
    redactions: bundle.redactions.length,
    // Hashes in the log were made under the old secret: another revision tells that they no longer compare.
    revision: row.revision + 1,
    // Seqs go on, so that what the log has taken is never taken for something seen of the new inbox.
    inboxSeq: row.inboxSeq,
    inboxTaken: row.inboxSeq,
    nextTimerAt: nextTimer(connection, task),
    bundleAt,
  });
  const ready = bundleAt !== null && mayHaveGoneOn(columns) ? now : readyFrom(requireTask(connection, taskId), now);
  changeTask(connection, task, { readyAt: ready });
};
