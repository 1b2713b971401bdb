// Snapshots: the newest per version, two versions at most. One that is replaced is blanked, never deleted (0001).
import type { Snapshot } from "../store.ts";
import type { Connection } from "./connection.ts";
import { findTask, type Guarded } from "./tasks.ts";

const VERSIONS = 2;

export const blankSnapshots = (connection: Connection, task: number): void => {
  connection.run("UPDATE snapshots SET bytes = NULL WHERE task = ? AND bytes IS NOT NULL", task);
};

/** False, and nothing kept, where the task has ended or moved on, or a newer one of that version is there. */
export const putSnapshot = (connection: Connection, taskId: string, snapshot: Snapshot): boolean => {
  const { version, seq, revision } = snapshot;
  const row = findTask(connection, taskId);
  if (row === undefined || row.status === "ended" || row.revision !== revision) return false;
  const kept = "WHERE task = ? AND version = ? AND bytes IS NOT NULL";
  const known = connection.get<{ seq: number }>(`SELECT seq FROM snapshots ${kept}`, row.task, version);
  if (known !== undefined && known.seq > seq) return false;
  connection.run(`UPDATE snapshots SET bytes = NULL ${kept}`, row.task, version);
  connection.run(
    "INSERT INTO snapshots (task, version, seq, revision, bytes) VALUES (?, ?, ?, ?, ?)",
    ...[row.task, version, seq, revision, connection.seal.seal(snapshot.bytes, taskId)],
  );
  // Whatever was not written for longest goes.
  connection.run(
    `UPDATE snapshots SET bytes = NULL WHERE snapshot IN (SELECT snapshot FROM snapshots
       WHERE task = ? AND bytes IS NOT NULL ORDER BY snapshot DESC LIMIT -1 OFFSET ?)`,
    ...[row.task, VERSIONS],
  );
  return true;
};

export const snapshotOf = (connection: Connection, row: Guarded, version: string): Snapshot | null => {
  const found = connection.get<Snapshot>(
    `SELECT seq, version, revision, bytes FROM snapshots
     WHERE task = ? AND version = ? AND revision = ? AND bytes IS NOT NULL`,
    ...[row.task, version, row.revision],
  );
  if (found === undefined) return null;
  return { ...found, bytes: connection.seal.open(found.bytes, row.id) };
};

export const getSnapshot = (connection: Connection, taskId: string, version: string): Snapshot | null => {
  const row = findTask(connection, taskId);
  return row === undefined ? null : snapshotOf(connection, row, version);
};
