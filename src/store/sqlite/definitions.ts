// Definitions of tools, shared by hash, and which task uses which.
import type { Definition } from "../store.ts";
import type { Connection } from "./connection.ts";

export const useDefinitions = (connection: Connection, task: number, definitions: readonly Definition[]): void => {
  for (const { hash, text } of definitions) {
    connection.run("INSERT INTO definitions (hash, text) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING", hash, text);
    connection.run(
      `INSERT INTO definitionUses (task, definition) SELECT ?, definition FROM definitions WHERE hash = ?
       ON CONFLICT DO NOTHING`,
      ...[task, hash],
    );
  }
};

/** In the order of `hashes`; unknown ones are left out. */
export const getDefinitions = (connection: Connection, hashes: readonly string[]): Definition[] =>
  hashes.flatMap((hash) => {
    const row = connection.get<Definition>("SELECT hash, text FROM definitions WHERE hash = ?", hash);
    return row === undefined ? [] : [{ ...row }];
  });

export const definitionsOf = (connection: Connection, task: number): Definition[] =>
  connection
    .all<Definition>(
      "SELECT hash, text FROM definitionUses JOIN definitions USING (definition) WHERE task = ? ORDER BY hash",
      task,
    )
    .map((row) => ({ ...row }));
