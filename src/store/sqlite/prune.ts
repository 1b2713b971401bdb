// Pruning: ended tasks go whole, and what is left is that their ids were used.
import type { PruneParams } from "../store.ts";
import type { Connection } from "./connection.ts";
import { eraseTask } from "./erase-task.ts";

/** Ended tasks of some age that no task which stays has as parent or folds, at any distance. */
const OLD = `WITH RECURSIVE needed (id) AS (
    SELECT needs FROM edges JOIN tasks USING (task)
    WHERE status <> 'gone' AND (status <> 'ended' OR updatedAt >= :endedBefore)
    UNION SELECT needs FROM needed JOIN tasks USING (id) JOIN edges USING (task)
  ), edges (task, needs) AS (
    SELECT task, parent FROM tasks WHERE parent IS NOT NULL
    UNION ALL SELECT task, historyFrom FROM tasks WHERE historyFrom IS NOT NULL
  )
  SELECT task, id FROM tasks INDEXED BY tasksByStatus
  WHERE status = 'ended' AND updatedAt < :endedBefore AND id NOT IN needed ORDER BY task DESC LIMIT :limit`;

/** The ids of what was pruned, newest first. */
export const prune = (connection: Connection, { endedBefore, limit, dryRun }: PruneParams): string[] => {
  const old = connection.all<{ task: number; id: string }>(OLD, { endedBefore, limit });
  if (dryRun === true) return old.map(({ id }) => id);
  connection.erasures?.note(old.map(({ id }) => ({ pruned: id })));
  for (const { task, id } of old) {
    eraseTask(connection, task);
    connection.run("INSERT INTO pruned (id) VALUES (?)", id);
  }
  return old.map(({ id }) => id);
};
