// Task files, in chunks. A file that is replaced leaves blank chunks behind, which belong to no file (0001).
import type { Connection } from "./connection.ts";
import { findTask, requireTask, type Guarded } from "./tasks.ts";

const CHUNK_BYTES = 256 * 1024;

interface FileRow {
  readonly file: number;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
}

export interface TaskFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export const writeFile = (connection: Connection, { task, id }: Pick<Guarded, "task" | "id">, file: TaskFile): void => {
  const { name, mediaType, bytes } = file;
  const row = connection.get<{ file: number }>(
    `INSERT INTO files (task, name, mediaType, size) VALUES (?, ?, ?, ?) ON CONFLICT (task, name)
     DO UPDATE SET mediaType = excluded.mediaType, size = excluded.size RETURNING file`,
    ...[task, name, mediaType, bytes.length],
  );
  if (row === undefined) throw new Error("an insert that returns its row returned none");
  connection.run("UPDATE chunks SET file = NULL, bytes = x'' WHERE file = ?", row.file);
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    const chunk = connection.seal.seal(bytes.subarray(start, start + CHUNK_BYTES), id);
    connection.run("INSERT INTO chunks (file, n, bytes) VALUES (?, ?, ?)", row.file, start / CHUNK_BYTES, chunk);
  }
};

/** Codes: `not_found`, `forgotten`. */
export const putFile = (connection: Connection, taskId: string, file: TaskFile): void => {
  writeFile(connection, requireTask(connection, taskId), file);
};

const LIST = "SELECT file, name, mediaType, size FROM files WHERE task = ? ORDER BY name";

const bytesOf = (connection: Connection, taskId: string, file: number): Uint8Array => {
  const sql = "SELECT bytes FROM chunks WHERE file = ? ORDER BY n";
  const chunks = connection
    .all<{ bytes: Uint8Array }>(sql, file)
    .map(({ bytes }) => connection.seal.open(bytes, taskId));
  return new Uint8Array(Buffer.concat(chunks));
};

export const getFile = (connection: Connection, taskId: string, name: string): Omit<TaskFile, "name"> | null => {
  const row = findTask(connection, taskId);
  if (row === undefined) return null;
  const found = connection.all<FileRow>(LIST, row.task).find((file) => file.name === name);
  if (found === undefined) return null;
  return { mediaType: found.mediaType, bytes: bytesOf(connection, taskId, found.file) };
};

export const listFiles = (connection: Connection, taskId: string): Omit<FileRow, "file">[] => {
  const row = findTask(connection, taskId);
  if (row === undefined) return [];
  return connection.all<FileRow>(LIST, row.task).map(({ name, mediaType, size }) => ({ name, mediaType, size }));
};

export const filesOf = (connection: Connection, { task, id }: Guarded): TaskFile[] =>
  connection
    .all<FileRow>(LIST, task)
    .map(({ file, name, mediaType }) => ({ name, mediaType, bytes: bytesOf(connection, id, file) }));
