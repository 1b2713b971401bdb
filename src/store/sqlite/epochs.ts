// Epochs: each restore begins one. A task is in the epoch that it was created in, until its log tells of a later one.
import { FENCES_OF_AN_EPOCH } from "../backup.ts";
import type { Connection } from "./connection.ts";

export const epochOf = (connection: Connection): number => {
  const place = connection.get<{ epoch: number }>("SELECT epoch FROM place");
  if (place === undefined) throw new Error(`${connection.name}: the table "place" has lost its row`);
  return place.epoch;
};

/** The time of the earliest backup that the task's log does not tell of, a bundle being one; as an expression. */
export const RESTORED_FROM = `(SELECT min(backupAt) FROM (
  SELECT backupAt FROM restores WHERE restores.epoch > tasks.epoch UNION ALL SELECT tasks.bundleAt))`;

/** The same for one task; null if there is none. */
export const restoredFrom = (connection: Connection, task: number): number | null => {
  const sql = `SELECT ${RESTORED_FROM} AS backupAt FROM tasks WHERE task = ?`;
  return connection.get<{ backupAt: number | null }>(sql, task)?.backupAt ?? null;
};

/**
 * Begins `epoch`: the logs are those of a backup of the time `backupAt`. Nobody holds anything, and fences go on above any
 * that was given out since the backup. What may have gone on after it is ready, so that it is told of soon.
 */
export const beginEpoch = (
  connection: Connection,
  { epoch, backupAt }: { readonly epoch: number; readonly backupAt: number },
  now: number,
): void => {
  const raised = (epoch - epochOf(connection)) * FENCES_OF_AN_EPOCH;
  connection.run("UPDATE place SET epoch = ?, backupAt = NULL", epoch);
  connection.run("INSERT INTO restores (epoch, backupAt) VALUES (?, ?)", epoch, backupAt);
  connection.run(
    `UPDATE tasks SET fence = fence + ?, attempts = 0, claimedBy = NULL, leaseUntil = NULL, leaseBoot = NULL,
       leaseEndsAt = NULL`,
    raised,
  );
  connection.run(
    `UPDATE tasks SET readyAt = iif(status <> 'waiting' OR outcome IS NULL OR inboxSeq > inboxTaken, ?, nextTimerAt)
     WHERE status NOT IN ('ended', 'gone')`,
    now,
  );
};
