// Snapshots: the newest per version, two versions at most.
import type { Snapshot } from "../store.ts";
import type { Connection } from "./connection.ts";
import { encodeText } from "./text.ts";

const PUT = "SELECT perdure.put_snapshot($1::text, $2::text, $3::integer, $4::integer, $5::bytea) AS kept";

/** False, and nothing kept, where the task has ended or moved on, or a newer one of that version is there. */
export const putSnapshot = async (connection: Connection, taskId: string, snapshot: Snapshot): Promise<boolean> => {
  const { version, seq, revision, bytes } = snapshot;
  // Copied: the caller may change its bytes before they are sent.
  const sealed = Buffer.from(connection.seal.seal(bytes, taskId));
  const values = [encodeText(taskId), encodeText(version), seq, revision, sealed];
  return (await connection.first<{ kept: boolean }>(PUT, ...values))?.kept ?? false;
};

const GET = `SELECT s.seq, s.revision, s.bytes FROM perdure.tasks t JOIN perdure.snapshots s
    ON s.task = t.task AND s.revision = t.revision
  WHERE t.id = $1 AND s.version = $2`;

export const getSnapshot = async (
  connection: Connection,
  taskId: string,
  version: string,
): Promise<Snapshot | null> => {
  const found = await connection.first<Omit<Snapshot, "version">>(GET, encodeText(taskId), encodeText(version));
  if (found === undefined) return null;
  const { seq, revision, bytes } = found;
  return { seq, version, revision, bytes: connection.seal.open(bytes, taskId) };
};
