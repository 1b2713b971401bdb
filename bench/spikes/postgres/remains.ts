// How long the words of a redacted event stay in the server's own files.
import { randomBytes } from "node:crypto";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { addTask, append, draftsAfter } from "./fixture.ts";
import { redact } from "./redact.ts";
import type { Server } from "./server.ts";

const holds = async (path: string, needle: Buffer): Promise<boolean> => {
  const file = await open(path).catch(() => null);
  if (file === null) return false;
  try {
    return (await file.readFile()).includes(needle);
  } finally {
    await file.close();
  }
};

const found = async (folder: string, needle: Buffer): Promise<number> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  let count = 0;
  for (const file of files) if (await holds(file, needle)) count += 1;
  return count;
};

export interface Remains {
  readonly after: string;
  /** Files that still hold the words: of tables, and of the write-ahead log. */
  readonly tables: number;
  readonly log: number;
}

export const measureRemains = async (server: Server): Promise<Remains[]> => {
  const client = await server.connect();
  const word = `needle-${randomBytes(12).toString("hex")}`;
  const taskId = "remains";
  await addTask(client, taskId);
  const events = Array.from({ length: 40 }, (_, n) => ({
    type: "Compacted" as const,
    through: n,
    summary: n === 20 ? word : "plain",
    kept: [],
  }));
  await append(client, "function", { taskId, fence: 1, revision: 0, drafts: draftsAfter(0, events) });
  const look = async (after: string): Promise<Remains> => {
    await client.query("CHECKPOINT");
    const needle = Buffer.from(word);
    const tables = await found(join(server.dataFolder, "base"), needle);
    return { after, tables, log: await found(join(server.dataFolder, "pg_wal"), needle) };
  };
  const remains = [await look("the append")];
  await redact(client, taskId, [{ seq: 21, body: "{}", digest: randomBytes(32) }], randomBytes(32));
  remains.push(await look("redact"));
  await client.query("VACUUM events");
  remains.push(await look("VACUUM"));
  await client.query("VACUUM FULL events");
  remains.push(await look("VACUUM FULL"));
  await client.end();
  return remains;
};
