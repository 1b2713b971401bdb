-- Restores: each begins an epoch, with the time of the backup that it was made from.
CREATE TABLE restores (
  epoch INTEGER PRIMARY KEY,
  backupAt INTEGER NOT NULL
) STRICT;

-- In a backup's file alone: when it was made.
ALTER TABLE place ADD COLUMN backupAt INTEGER;

-- Of the task's creation, or of the restore that its log tells of last.
ALTER TABLE tasks ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;

-- Ids of tasks that were pruned. The row of a task that is gone stays, blank and with the status "gone", for its blank
-- rows elsewhere to belong to (see 0001).
CREATE TABLE pruned (
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
