// What the store holds, in bytes: counts and metadata alone.
import type { StoreStats } from "../store.ts";
import type { Connection } from "./connection.ts";

const count = (connection: Connection, sql: string): number => connection.get<{ n: number }>(sql)?.n ?? 0;

export const stats = (connection: Connection): StoreStats => ({
  tasks: count(connection, "SELECT count(*) AS n FROM tasks WHERE status <> 'gone'"),
  types: connection
    .all<StoreStats["types"][number]>(
      `SELECT name AS type, count(*) AS events, sum(length(events.body) + ifnull(length(redactions.body), 0)) AS bytes
       FROM events JOIN types USING (type)
       LEFT JOIN redactions ON salt IS NULL AND redactions.task = events.task AND redactions.seq = events.seq
       -- Of a task that is gone no chain is left.
       WHERE length(events.chain) > 0
       GROUP BY name ORDER BY bytes DESC`,
    )
    .map((row) => ({ ...row })),
  snapshotBytes: count(connection, "SELECT ifnull(sum(length(bytes)), 0) AS n FROM snapshots"),
  fileBytes: count(connection, "SELECT ifnull(sum(length(bytes)), 0) AS n FROM chunks"),
  storeBytes: count(connection, "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size"),
});
