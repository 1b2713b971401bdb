// Task files, in chunks.
import type { Connection, Session } from "./connection.ts";
import { findTask, lockTask, type Guarded } from "./tasks.ts";
import { encodeText } from "./text.ts";

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

export const writeFile = async (
  connection: Connection,
  session: Session,
  { task, id }: Pick<Guarded, "task" | "id">,
  file: TaskFile,
): Promise<void> => {
  const { name, mediaType, bytes } = file;
  await session.rows("DELETE FROM perdure.files WHERE task = $1 AND name = $2", task, encodeText(name));
  const row = await session.first<{ file: number }>(
    "INSERT INTO perdure.files (task, name, media_type, size) VALUES ($1, $2, $3, $4) RETURNING file",
    ...[task, encodeText(name), encodeText(mediaType), bytes.length],
  );
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    const chunk = connection.seal.seal(bytes.subarray(start, start + CHUNK_BYTES), id);
    const sql = "INSERT INTO perdure.chunks (file, n, bytes) VALUES ($1, $2, $3)";
    await session.rows(sql, row?.file, start / CHUNK_BYTES, Buffer.from(chunk));
  }
};

/** Codes: `not_found`, `forgotten`. */
export const putFile = (connection: Connection, taskId: string, file: TaskFile): Promise<void> => {
  // The caller may change its bytes before they are all sent.
  const own = { ...file, bytes: Uint8Array.from(file.bytes) };
  return connection.write(async (session) =>
    writeFile(connection, session, await lockTask(connection, session, taskId), own),
  );
};

const LIST = `SELECT file, name, media_type AS "mediaType", size FROM perdure.files WHERE task = $1 ORDER BY name`;

const bytesOf = async (connection: Connection, session: Session, taskId: string, file: number) => {
  const sql = "SELECT bytes FROM perdure.chunks WHERE file = $1 ORDER BY n";
  const chunks = await session.rows<{ bytes: Uint8Array }>(sql, file);
  return new Uint8Array(Buffer.concat(chunks.map(({ bytes }) => connection.seal.open(bytes, taskId))));
};

export const filesOf = async (connection: Connection, session: Session, row: Guarded): Promise<TaskFile[]> => {
  const files: TaskFile[] = [];
  for (const { file, name, mediaType } of await session.rows<FileRow>(LIST, row.task)) {
    files.push({ name, mediaType, bytes: await bytesOf(connection, session, row.id, file) });
  }
  return files;
};

export const getFile = (connection: Connection, taskId: string, name: string): Promise<Omit<TaskFile, "name"> | null> =>
  connection.read(async (session) => {
    const row = await findTask(session, taskId);
    if (row === undefined) return null;
    const found = (await session.rows<FileRow>(LIST, row.task)).find((file) => file.name === name);
    if (found === undefined) return null;
    return { mediaType: found.mediaType, bytes: await bytesOf(connection, session, taskId, found.file) };
  });

export const listFiles = async (connection: Connection, taskId: string): Promise<Omit<FileRow, "file">[]> => {
  const row = await findTask(connection, taskId);
  if (row === undefined) return [];
  return (await connection.rows<FileRow>(LIST, row.task)).map(({ name, mediaType, size }) => ({
    name,
    mediaType,
    size,
  }));
};
