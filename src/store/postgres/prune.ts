// Pruning: ended tasks go whole, and what is left is that their ids were used.
import { projections } from "../../core/project.ts";
import type { PruneParams } from "../store.ts";
import type { Connection, Session } from "./connection.ts";
import { note } from "./erasures.ts";
import { vacuum } from "./redaction.ts";
import { decodeText } from "./text.ts";

/** Ended tasks of some age that no task which stays has as parent or folds, at any distance. */
const OLD = `WITH RECURSIVE edges (id, needs, stays) AS (
    SELECT id, parent, NOT (is_over AND updated_at < $1) FROM perdure.tasks WHERE parent IS NOT NULL
    UNION ALL
    SELECT id, history_from, NOT (is_over AND updated_at < $1) FROM perdure.tasks WHERE history_from IS NOT NULL
  ), needed (id) AS (
    SELECT needs FROM edges WHERE stays
    UNION SELECT e.needs FROM needed n JOIN edges e ON e.id = n.id
  )
  SELECT task, id FROM perdure.tasks t
  WHERE is_over AND updated_at < $1 AND NOT EXISTS (SELECT FROM needed n WHERE n.id = t.id)
  ORDER BY task DESC LIMIT $2`;

const TABLES: readonly string[] = [
  ...[
    "events",
    "redactions",
    "inbox",
    "snapshots",
    "files",
    "holds",
    "showings",
    "decisions",
    "secrets",
    "definition_uses",
  ],
  ...Object.keys(projections),
  "tasks",
];

/** Removes all that there is of tasks. */
export const eraseTasks = async (session: Session, tasks: readonly number[]): Promise<void> => {
  for (const table of TABLES) await session.rows(`DELETE FROM perdure.${table} WHERE task = ANY ($1::bigint[])`, tasks);
};

/** The ids of what was pruned, newest first. */
export const prune = async (connection: Connection, { endedBefore, limit, dryRun }: PruneParams): Promise<string[]> => {
  const ids = await connection.write(async (session) => {
    const old = await session.rows<{ task: number; id: string }>(OLD, endedBefore, limit);
    if (dryRun !== true && old.length > 0) {
      await eraseTasks(
        session,
        old.map(({ task }) => task),
      );
      await note(
        session,
        old.map(({ id }) => ({ pruned: decodeText(id) })),
      );
      await session.rows(
        "INSERT INTO perdure.pruned SELECT unnest($1::text[])",
        old.map(({ id }) => id),
      );
    }
    return old.map(({ id }) => decodeText(id));
  });
  if (dryRun !== true && ids.length > 0) await vacuum(connection);
  return ids;
};
