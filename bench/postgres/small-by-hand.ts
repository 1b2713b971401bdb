// The floor under a small task on Postgres: the same events in the same number of commits, one statement each, without a
// lease, hashes, or anything that is kept beside the log.
import pg from "pg";
import type { AppendParams } from "../../src/store/store.ts";
import { connect } from "./server.ts";

const SCHEMA = `CREATE SCHEMA hand;
  CREATE TABLE hand.tasks (task bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE,
    seq integer NOT NULL, fence integer NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE hand.events (task bigint, seq integer, type text NOT NULL, body bytea NOT NULL, PRIMARY KEY (task, seq))`;
const CREATE = `WITH t AS (INSERT INTO hand.tasks (id, seq, fence) VALUES ($1, 1, 0) RETURNING task)
  INSERT INTO hand.events SELECT task, 1, 'TaskCreated', $2 FROM t`;
const CLAIM = "UPDATE hand.tasks SET fence = fence + 1 WHERE id = $1 RETURNING task, fence, seq";
const LOAD = "SELECT seq, type, convert_from(body, 'UTF8') AS body FROM hand.events WHERE task = $1 ORDER BY seq";
const APPEND = `WITH t AS (UPDATE hand.tasks SET seq = seq + $3 WHERE task = $1 AND fence = $2 RETURNING task, seq - $3 AS seq)
  INSERT INTO hand.events SELECT t.task, t.seq + e.n, e.type, e.body
    FROM t, unnest($4::text[], $5::bytea[]) WITH ORDINALITY e (type, body, n)`;

export interface SmallByHand {
  one(): Promise<void>;
  close(): Promise<void>;
}

/** `appends`: those of one task of ours. */
export const openSmallByHand = async (
  url: string,
  appends: readonly AppendParams[],
  connections: number,
): Promise<SmallByHand> => {
  const first = await connect(url);
  await first.query(SCHEMA);
  await first.end();
  const pool = new pg.Pool({ connectionString: url, max: connections, application_name: "bench" });
  let made = 0;
  return {
    one: async () => {
      made += 1;
      const id = `task ${String(made)}`;
      await pool.query({ name: "create", text: CREATE, values: [id, Buffer.from(`{"objective":"Go on."}`)] });
      const claimed = await pool.query<{ task: string; fence: number }>({ name: "claim", text: CLAIM, values: [id] });
      const row = claimed.rows[0];
      if (row === undefined) throw new Error("the task is not there");
      const loaded = await pool.query<{ body: string }>({ name: "load", text: LOAD, values: [row.task] });
      for (const { body } of loaded.rows) JSON.parse(body);
      for (const { drafts } of appends) {
        const values = [
          ...[row.task, row.fence, drafts.length, drafts.map(({ type }) => type)],
          drafts.map(({ body }) => Buffer.from(body)),
        ];
        await pool.query({ name: "append", text: APPEND, values });
      }
    },
    close: () => pool.end(),
  };
};
