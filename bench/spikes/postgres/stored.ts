// What an event takes on disk beyond its JSON text, by what is kept of its envelope and how its task is named.
import type pg from "pg";

export interface StoredFigure {
  readonly kept: string;
  readonly json: number;
  /** Bytes of table and index per event, less the JSON text. */
  readonly beyond: number;
}

/** Columns of a table and what to fill them with from `events`; bytes aligned to 8 first, variable ones last. */
const variants = {
  "task id, type in words, salt, digest, chain": [
    "task_id text, seq integer, at bigint, type text, salt bytea, digest bytea, chain bytea, body bytea",
    "task_id, seq, at, type, salt, digest, chain, body",
  ],
  "the same without the digest": [
    "at bigint, seq integer, task_id text, type text, salt bytea, chain bytea, body bytea",
    "at, seq, task_id, type, salt, chain, body",
  ],
  "and the type as a number": [
    "at bigint, seq integer, type smallint, task_id text, salt bytea, chain bytea, body bytea",
    "at, seq, 1, task_id, salt, chain, body",
  ],
  "and the task as a number": [
    "at bigint, task_id bigint, seq integer, type smallint, salt bytea, chain bytea, body bytea",
    "at, 1, seq, 1, salt, chain, body",
  ],
} as const;

export const measureStored = async (client: pg.Client, taskId: string): Promise<StoredFigure[]> => {
  const figures: StoredFigure[] = [];
  for (const [kept, [columns, values]] of Object.entries(variants)) {
    await client.query(`CREATE TABLE variant (${columns}, PRIMARY KEY (task_id, seq))`);
    await client.query(`INSERT INTO variant SELECT ${values} FROM events WHERE task_id = $1 ORDER BY seq`, [taskId]);
    await client.query("VACUUM variant");
    const sizes = await client.query<{ all: number; json: number }>(
      `SELECT pg_total_relation_size('variant')::float8 / count(*) AS all, avg(length(body))::float8 AS json FROM variant`,
    );
    const { all = 0, json = 0 } = sizes.rows[0] ?? {};
    figures.push({ kept, json, beyond: all - json });
    await client.query("DROP TABLE variant");
  }
  return figures;
};
