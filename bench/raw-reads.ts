// The floors under a claim: the stored columns of a log, or a snapshot, read by hand and parsed, and nothing done with them.
import { gunzipSync } from "node:zlib";
import { openPlain } from "./sqlite-files.ts";

export interface Reader {
  log(taskId: string): unknown[];
  snapshot(taskId: string): unknown;
  close(): void;
}

const decoder = new TextDecoder();

export const openReader = (path: string): Reader => {
  const database = openPlain(path);
  const columns = database.prepare(
    `SELECT seq, at, type, body FROM events
     WHERE task = (SELECT task FROM tasks WHERE id = ?) ORDER BY seq`,
  );
  columns.setReturnArrays(true);
  const snapshots = database.prepare(
    "SELECT bytes FROM snapshots WHERE task = (SELECT task FROM tasks WHERE id = ?) AND bytes IS NOT NULL",
  );
  return {
    log: (taskId) => {
      const rows = columns.all(taskId) as unknown as [number, number, number, Uint8Array][];
      return rows.map(([seq, at, type, body]) => ({
        seq,
        at,
        type,
        event: JSON.parse(decoder.decode(body)) as unknown,
      }));
    },
    snapshot: (taskId) => {
      const { bytes } = snapshots.get(taskId) as { bytes: Uint8Array };
      return JSON.parse(gunzipSync(bytes).toString("utf8")) as unknown;
    },
    close: () => {
      database.close();
    },
  };
};
