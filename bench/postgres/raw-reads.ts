// The floors under a claim on Postgres: the stored columns of a log, or a snapshot, read by hand and parsed.
import { gunzipSync } from "node:zlib";
import { connect } from "./server.ts";

export interface Reader {
  log(taskId: string): Promise<unknown>;
  snapshot(taskId: string): Promise<unknown>;
  close(): Promise<void>;
}

const TASK = "(SELECT task FROM perdure.tasks WHERE id = $1)";
const LOG = `SELECT seq, at, type, convert_from(body, 'UTF8') FROM perdure.events WHERE task = ${TASK} ORDER BY seq`;
const SNAPSHOT = `SELECT bytes FROM perdure.snapshots WHERE task = ${TASK}`;

export const openReader = async (url: string): Promise<Reader> => {
  const client = await connect(url);
  return {
    log: async (taskId) => {
      const query = { name: "log", text: LOG, values: [taskId], rowMode: "array" } as const;
      const { rows } = await client.query<[number, string, number, string]>(query);
      return rows.map(([seq, at, type, body]) => ({ seq, at: Number(at), type, event: JSON.parse(body) as unknown }));
    },
    snapshot: async (taskId) => {
      const { rows } = await client.query<{ bytes: Buffer }>({ name: "snapshot", text: SNAPSHOT, values: [taskId] });
      if (rows[0] === undefined) throw new Error(`task ${taskId} has no snapshot`);
      return JSON.parse(gunzipSync(rows[0].bytes).toString("utf8")) as unknown;
    },
    close: () => client.end(),
  };
};
