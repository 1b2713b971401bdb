// Task files as chunked rows: which size of chunk, on SQLite and on Postgres.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import { best } from "./measure.ts";

const FILE_BYTES = 8 * 1024 * 1024;
export const chunkSizes = [16, 64, 256, 1024, 8192].map((kilobytes) => kilobytes * 1024);

export interface ChunkFigure {
  readonly chunkBytes: number;
  readonly writeMs: number;
  readonly readMs: number;
  /** Bytes on disk for each byte of the file. */
  readonly overhead: number;
}

const chunksOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));

/** In binary the driver takes bytea for text unless it is told. */
const asBuffers = { getTypeParser: () => (value: Buffer) => value } as unknown as pg.CustomTypesConfig;

const timed = async (work: () => unknown): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

const onSqlite = async (chunkBytes: number, bytes: Buffer): Promise<ChunkFigure> => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-files-"));
  const database = new DatabaseSync(join(folder, "f.db"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
  database.exec("CREATE TABLE chunks (task_id TEXT, name TEXT, n INTEGER, bytes BLOB, PRIMARY KEY (task_id, name, n))");
  const insert = database.prepare("INSERT INTO chunks VALUES ('task', ?, ?, ?)");
  const select = database.prepare("SELECT bytes FROM chunks WHERE task_id = 'task' AND name = ? ORDER BY n");
  const writes: number[] = [];
  const reads: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const name = `file-${String(round)}`;
    const write = (): void => {
      database.exec("BEGIN IMMEDIATE");
      for (const [n, chunk] of chunksOf(bytes, chunkBytes).entries()) insert.run(name, n, chunk);
      database.exec("COMMIT");
    };
    writes.push(await timed(write));
    reads.push(await timed(() => Buffer.concat(select.all(name).map((row) => row["bytes"] as Uint8Array))));
  }
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const overhead = statSync(join(folder, "f.db")).size / (4 * bytes.length);
  database.close();
  rmSync(folder, { recursive: true });
  return { chunkBytes, writeMs: best(writes), readMs: best(reads), overhead };
};

const onPostgres = async (client: pg.Client, chunkBytes: number, bytes: Buffer): Promise<ChunkFigure> => {
  const table = `chunks_${String(chunkBytes)}`;
  // Files are often compressed already; EXTERNAL keeps the server from trying again.
  await client.query(`CREATE TABLE ${table} (task_id text, name text, n integer, bytes bytea, PRIMARY KEY (task_id, name, n));
    ALTER TABLE ${table} ALTER bytes SET STORAGE EXTERNAL`);
  const writes: number[] = [];
  const reads: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const name = `file-${String(round)}`;
    const write = async (): Promise<void> => {
      await client.query("BEGIN");
      for (const [n, chunk] of chunksOf(bytes, chunkBytes).entries()) {
        await client.query({
          name: table,
          text: `INSERT INTO ${table} VALUES ('task', $1, $2, $3)`,
          values: [name, n, chunk],
        });
      }
      await client.query("COMMIT");
    };
    const read = async (): Promise<Buffer> => {
      const text = `SELECT bytes FROM ${table} WHERE task_id = 'task' AND name = $1 ORDER BY n`;
      const query = { text, values: [name], binary: true, types: asBuffers };
      const { rows } = await client.query<{ bytes: Buffer }>(query);
      return Buffer.concat(rows.map((row) => row.bytes));
    };
    writes.push(await timed(write));
    reads.push(await timed(read));
  }
  const size = await client.query<{ size: string }>(`SELECT pg_total_relation_size('${table}') AS size`);
  const overhead = Number(size.rows[0]?.size) / (4 * bytes.length);
  return { chunkBytes, writeMs: best(writes), readMs: best(reads), overhead };
};

export const measureChunks = async (client: pg.Client): Promise<{ sqlite: ChunkFigure[]; postgres: ChunkFigure[] }> => {
  const bytes = randomBytes(FILE_BYTES);
  const sqlite: ChunkFigure[] = [];
  const postgres: ChunkFigure[] = [];
  for (const size of chunkSizes) {
    sqlite.push(await onSqlite(size, bytes));
    postgres.push(await onPostgres(client, size, bytes));
  }
  return { sqlite, postgres };
};
