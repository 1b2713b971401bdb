// Definitions of tools, shared by hash, and which task uses which. They are kept by the function use_definitions.
import type { Definition } from "../store.ts";
import type { Connection, Session } from "./connection.ts";
import { jsonValue } from "./drafts.ts";
import { encodeText } from "./text.ts";

export const useDefinitions = async (
  session: Session,
  task: number,
  definitions: readonly Definition[],
): Promise<void> => {
  await session.rows("SELECT perdure.use_definitions($1::bigint, $2::jsonb)", task, jsonValue(definitions));
};

/** In the order of `hashes`; unknown ones are left out. */
export const getDefinitions = async (connection: Connection, hashes: readonly string[]): Promise<Definition[]> => {
  const sql = "SELECT hash, text FROM perdure.definitions WHERE hash = ANY ($1::text[])";
  const rows = await connection.rows<Definition>(sql, hashes.map(encodeText));
  const byHash = new Map(rows.map((row) => [row.hash, row]));
  return hashes.flatMap((hash) => byHash.get(hash) ?? []).map((row) => ({ ...row }));
};

export const definitionsOf = (session: Session, task: number): Promise<Definition[]> =>
  session.rows<Definition>(
    `SELECT hash, text FROM perdure.definition_uses u JOIN perdure.definitions d ON d.definition = u.definition
     WHERE u.task = $1 ORDER BY hash`,
    task,
  );
