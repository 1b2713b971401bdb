// What the store holds, in bytes: counts and metadata alone.
import type { StoreStats } from "../store.ts";
import type { Connection } from "./connection.ts";

const TYPES = `SELECT name AS type, count(*) AS events, sum(octet_length(body)) AS bytes
  FROM perdure.events e JOIN perdure.types t ON t.type = e.type GROUP BY name ORDER BY bytes DESC`;

const SIZE = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS n
  FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND relkind IN ('r', 'p')`;

export const stats = (connection: Connection): Promise<StoreStats> =>
  connection.read(async (session) => {
    const count = async (sql: string, ...values: unknown[]): Promise<number> =>
      (await session.first<{ n: number }>(sql, ...values))?.n ?? 0;
    return {
      tasks: await count("SELECT count(*) AS n FROM perdure.tasks"),
      types: await session.rows<StoreStats["types"][number]>(TYPES),
      snapshotBytes: await count("SELECT coalesce(sum(octet_length(bytes)), 0) AS n FROM perdure.snapshots"),
      fileBytes: await count("SELECT coalesce(sum(octet_length(bytes)), 0) AS n FROM perdure.chunks"),
      storeBytes: await count(SIZE, connection.schema),
    };
  });
