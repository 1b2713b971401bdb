// The schema: numbered SQL files, each applied in one transaction under the version that the database keeps.
import type { DatabaseSync } from "node:sqlite";
import { readMigrations, type Migration } from "../migration.ts";
import { StoreError } from "../store.ts";
import { pragma } from "./database-file.ts";
import { change } from "./transaction.ts";

/** What this code knows, in order, from version 1 on. */
export const migrations = readMigrations(new URL("./migrations/", import.meta.url));

const versionOf = (database: DatabaseSync): number => Number(pragma(database, "user_version"));

/** Refuses (`newer_version`) a database that is beyond `known`. Gives its version. */
export const requireKnown = (path: string, database: DatabaseSync, known = migrations.length): number => {
  const version = versionOf(database);
  if (version <= known) return version;
  throw new StoreError(
    "newer_version",
    `${path} has schema ${String(version)}, written by a newer perdure; this one knows schemas up to ${String(known)}`,
  );
};

/** Refuses (`newer_version`) once a newer perdure has changed the schema under an open connection. */
export const schemaCheck = (path: string, database: DatabaseSync, known = migrations.length): (() => void) => {
  const statement = database.prepare("PRAGMA user_version");
  return () => {
    if (statement.get()?.["user_version"] !== known) requireKnown(path, database, known);
  };
};

/**
 * Applies the next migration that the database lacks, if any. Safe to be killed at any point and run again, and to be
 * run by several processes at once. False when there was none.
 */
const applyNext = (path: string, database: DatabaseSync, known: readonly Migration[]): boolean => {
  if (requireKnown(path, database, known.length) === known.length) return false;
  return change(database, () => {
    const next = known[requireKnown(path, database, known.length)];
    if (next === undefined) return false;
    database.exec(next.sql);
    database.exec(`PRAGMA user_version = ${String(next.version)}`);
    return true;
  });
};

/** Brings the schema to the newest version that `known` has. Codes: `newer_version`. */
export const migrate = (path: string, database: DatabaseSync, known: readonly Migration[] = migrations): void => {
  while (applyNext(path, database, known));
};
