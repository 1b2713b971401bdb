// The store's own consistency: pages, rows that lost what they belong to, and counters. Logs are checked elsewhere.
import type { Finding } from "../store.ts";
import type { Connection } from "./connection.ts";
import { isDamage } from "./refusal.ts";

/** Queries that give one row per fault: the task's id, the event's seq or null, and what is wrong. */
const faults: readonly string[] = [
  `SELECT id, NULL AS seq, 'its row ends the log at ' || lastSeq || ', its events end at ' || ifnull(last, 0) AS what
   FROM tasks LEFT JOIN (SELECT task, max(seq) AS last FROM events GROUP BY task) USING (task)
   WHERE lastSeq <> ifnull(last, 0)`,
  `SELECT id, NULL AS seq, 'its log has ' || n || ' events of ' || lastSeq AS what
   FROM tasks JOIN (SELECT task, count(*) AS n FROM events GROUP BY task) USING (task) WHERE n <> lastSeq`,
  `SELECT id, NULL AS seq, 'its row counts ' || redactions || ' redactions of ' || ifnull(n, 0) AS what
   FROM tasks LEFT JOIN (SELECT task, count(*) AS n FROM redactions GROUP BY task) USING (task)
   WHERE redactions <> ifnull(n, 0)`,
  `SELECT id, NULL AS seq, 'its row ends the inbox at ' || inboxSeq || ', its items end at ' || last AS what
   FROM tasks JOIN (SELECT task, max(seq) AS last FROM inbox GROUP BY task) USING (task) WHERE inboxSeq <> last`,
  `SELECT id, NULL AS seq, 'inbox item ' || inbox.seq || ' is untaken, but blank' AS what
   FROM inbox JOIN tasks USING (task) WHERE inbox.seq > inboxTaken AND body IS NULL`,
  `SELECT id, NULL AS seq, 'inbox item ' || inbox.seq || ' was taken, but holds content' AS what
   FROM inbox JOIN tasks USING (task) WHERE inbox.seq <= inboxTaken AND body IS NOT NULL`,
  `SELECT id, NULL AS seq, 'it has lost its secret' AS what
   FROM tasks LEFT JOIN secrets USING (task) WHERE secret IS NULL`,
  `SELECT id, NULL AS seq, 'its next timer is at ' || next || ', its row says ' || ifnull(nextTimerAt, 'none') AS what
   FROM tasks JOIN (SELECT task, min(dueAt) AS next FROM timers WHERE inboxSeq IS NULL GROUP BY task) USING (task)
   WHERE nextTimerAt IS NOT next`,
  `SELECT id, NULL AS seq, 'it has something to do, but no worker would find it' AS what FROM tasks
   WHERE leaseUntil IS NULL AND readyAt IS NULL AND status NOT IN ('ended', 'gone')
     AND (status <> 'waiting' OR inboxSeq > inboxTaken OR nextTimerAt IS NOT NULL)`,
  `SELECT id, NULL AS seq, 'its file ' || name || ' is not whole' AS what
   FROM files JOIN tasks USING (task) LEFT JOIN chunks USING (file)
   GROUP BY file HAVING count(n) <> ifnull(max(n) + 1, 0) OR (size > 0 AND count(n) = 0)`,
];

const ofStore = (what: string): Finding => ({ taskId: "", seq: null, what });

const pageFaults = (connection: Connection): Finding[] =>
  connection
    .all<{ integrity_check: string }>("PRAGMA integrity_check")
    .filter((row) => row.integrity_check !== "ok")
    .map((row) => ofStore(row.integrity_check));

const lostRows = (connection: Connection): Finding[] =>
  connection
    .all<{ table: string; rowid: number | null; parent: string }>("PRAGMA foreign_key_check")
    .map(({ table, rowid, parent }) => ofStore(`row ${String(rowid)} of ${table} belongs to no row of ${parent}`));

const counters = (connection: Connection): Finding[] =>
  faults.flatMap((sql) =>
    connection
      .all<{ id: string; seq: number | null; what: string }>(sql)
      .map(({ id, seq, what }) => ({ taskId: id, seq, what })),
  );

/** Everything that is wrong, pages first. What cannot be read for damage is a finding, not an error. */
export const check = (connection: Connection): Finding[] =>
  [pageFaults, lostRows, counters].flatMap((look) => {
    try {
      return look(connection);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return [ofStore(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`)];
    }
  });
