// The store's own consistency: rows that lost what they belong to, and counters. Pages are the server's own to check; logs
// are checked elsewhere.
import { projections } from "../../core/project.ts";
import type { Finding } from "../store.ts";
import type { Connection } from "./connection.ts";

const lost = [
  "secrets",
  "holds",
  "showings",
  "decisions",
  "events",
  "redactions",
  "inbox",
  "snapshots",
  "files",
  "definition_uses",
].concat(Object.keys(projections));

/** Queries that give one row per fault: the task's id, and what is wrong. */
const faults: readonly string[] = [
  ...lost.map(
    (table) => `SELECT '' AS id, 'rows of ${table} belong to task number ' || task || ', which is not there' AS what
      FROM perdure.${table} LEFT JOIN perdure.tasks USING (task) WHERE tasks.id IS NULL GROUP BY task`,
  ),
  `SELECT id, 'its row ends the log at ' || last_seq || ', its events end at ' || coalesce(last, 0) AS what
   FROM perdure.tasks LEFT JOIN (SELECT task, max(seq) AS last FROM perdure.events GROUP BY task) e USING (task)
   WHERE last_seq <> coalesce(last, 0)`,
  `SELECT id, 'its log has ' || n || ' events of ' || last_seq AS what
   FROM perdure.tasks JOIN (SELECT task, count(*) AS n FROM perdure.events GROUP BY task) e USING (task) WHERE n <> last_seq`,
  `SELECT id, 'its row counts ' || redactions || ' redactions of ' || coalesce(n, 0) AS what
   FROM perdure.tasks LEFT JOIN (SELECT task, count(*) AS n FROM perdure.redactions GROUP BY task) r USING (task)
   WHERE redactions <> coalesce(n, 0)`,
  `SELECT id, 'its row ends the inbox at ' || inbox_seq || ', its items end at ' || last AS what
   FROM perdure.tasks JOIN (SELECT task, max(seq) AS last FROM perdure.inbox GROUP BY task) i USING (task)
   WHERE inbox_seq <> last`,
  `SELECT id, 'inbox item ' || inbox.seq || ' is untaken, but blank' AS what
   FROM perdure.inbox JOIN perdure.tasks USING (task) WHERE inbox.seq > inbox_taken AND body IS NULL AND due_at IS NULL`,
  `SELECT id, 'inbox item ' || inbox.seq || ' was taken, but holds content' AS what
   FROM perdure.inbox JOIN perdure.tasks USING (task) WHERE inbox.seq <= inbox_taken AND body IS NOT NULL`,
  `SELECT id, 'it has lost its secret' AS what
   FROM perdure.tasks LEFT JOIN perdure.secrets USING (task) WHERE secret IS NULL`,
  `SELECT id, 'its next timer is at ' || next || ', its row says ' || coalesce(next_timer_at::text, 'none') AS what
   FROM perdure.tasks
   JOIN (SELECT task, min("dueAt")::bigint AS next FROM perdure.timers WHERE inbox_seq IS NULL GROUP BY task) t USING (task)
   WHERE next_timer_at IS DISTINCT FROM next`,
  `SELECT id, 'its file ' || name || ' is not whole' AS what
   FROM perdure.files JOIN perdure.tasks USING (task) LEFT JOIN perdure.chunks USING (file)
   GROUP BY id, file, name, size HAVING count(n) <> coalesce(max(n) + 1, 0) OR (size > 0 AND count(n) = 0)`,
  `SELECT '' AS id, 'the events have ' || n || ' partitions of ' || coalesce(partitions, 0) AS what FROM perdure.place,
   (SELECT count(*) AS n FROM pg_inherits WHERE inhparent = 'perdure.events'::regclass) p WHERE n <> coalesce(partitions, 0)`,
];

/** Everything that is wrong. Ready or not is no counter here: the database derives it. */
export const check = (connection: Connection): Promise<Finding[]> =>
  connection.read(async (session) => {
    const findings: Finding[] = [];
    for (const sql of faults) {
      const rows = await session.rows<{ id: string; what: string }>(sql);
      findings.push(...rows.map(({ id, what }) => ({ taskId: id, seq: null, what })));
    }
    return findings;
  });
