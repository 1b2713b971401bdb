// Database files: perdure's own, and plain ones for the floors, with the same durability.
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../src/store/store.ts";

export const storePath = (folder: string): string => join(folder, "tasks.db");

export const openStore = (folder: string): Promise<Store> => openSqliteStore({ path: storePath(folder) });

/** A connection as perdure's store configures its own. */
export const openPlain = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384");
  return database;
};

/** Of the database alone: close its last connection first, so that nothing stands beside it. */
export const fileBytes = (path: string): number => statSync(path).size;
