// Opening a database file: told from every other kind of file before anything is written, made when it is not there.
// It is never opened but through SQLite: to close a file drops the locks that SQLite has on it in this process.
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreError } from "../store.ts";
import { systemCode } from "../system-code.ts";
import { isCorrupt, isForeign } from "./refusal.ts";
import { change } from "./transaction.ts";

/** "perd", in the file's header. */
export const APPLICATION_ID = 0x70657264;

/** The one value that a pragma gives. */
export const pragma = (database: DatabaseSync, text: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${text}`).get() ?? {})[0];

const foreign = (path: string, what: string, cause?: unknown): StoreError =>
  new StoreError("damaged", `${path} is ${what}, not a perdure database; it was left as it is`, { cause });

const applicationOf = (location: string | URL): unknown => {
  const database = new DatabaseSync(location, { readOnly: true });
  try {
    return pragma(database, "application_id");
  } finally {
    database.close();
  }
};

/** Reads the mark in the header without a lock or any other trace, so that a file of others stays as it is. */
const lookAt = (path: string): unknown => {
  const url = pathToFileURL(path);
  url.search = "?immutable=1";
  try {
    return applicationOf(url);
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    // The header of a database, but its pages are not those it speaks of: someone may have been copying them in from the
    // log of changes. While there is a log, only a look with a lock can tell; after, the pages are all there, or lost.
    return applicationOf(existsSync(`${path}-wal`) ? path : url);
  }
};

/** Refuses what no perdure wrote. */
const requireOurs = (path: string): void => {
  let application: unknown;
  try {
    application = lookAt(path);
  } catch (error) {
    if (isForeign(error)) throw foreign(path, "some other kind of file", error);
    throw error;
  }
  if (application !== APPLICATION_ID) throw foreign(path, "the database of another application");
};

const requireWritable = (path: string): void => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    throw new StoreError("unavailable", `${path} is read-only here; perdure needs to write to it`, { cause });
  }
};

/** An empty file that nobody else may read, with its directories. Whoever comes second finds it there. */
const createEmpty = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
};

/** Opens the file for reading and writing; nothing is written yet. */
export const openFile = (path: string): DatabaseSync => {
  if (!existsSync(path)) createEmpty(path);
  const file = statSync(path);
  if (!file.isFile()) throw foreign(path, file.isDirectory() ? "a directory" : "no regular file");
  if (file.size > 0) requireOurs(path);
  requireWritable(path);
  // Busy is answered by trying again without blocking (connection.ts), not by SQLite.
  return new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true });
};

/**
 * Marks a file that is empty as ours. The mark is in the file's first page before its changes go to a log beside it, so
 * that a look at the file alone tells what it is, also when this process is killed right after.
 */
export const markNew = (database: DatabaseSync): void => {
  if (pragma(database, "page_count") !== 0) return;
  // Fuller than pages of 4,096 bytes would be with events of some hundred bytes (measured), and no slower to write.
  database.exec("PRAGMA page_size = 8192");
  change(database, () => {
    // Zero still, unless another process was here first.
    if (pragma(database, "application_id") === 0) database.exec(`PRAGMA application_id = ${String(APPLICATION_ID)}`);
  });
};

/** Sets what must be so for as long as the connection lives, and makes sure that it is. */
export const configure = (path: string, database: DatabaseSync): void => {
  const wanted = [
    ["journal_mode", "WAL", "wal"],
    // Every commit is on disk before it is acknowledged.
    ["synchronous", "FULL", 2],
    // What is deleted is overwritten.
    ["secure_delete", "ON", 1],
    ["temp_store", "MEMORY", 2],
    ["cache_size", "-16384", -16_384],
    // A log that grew under a long reader is cut to this when it is used anew.
    ["journal_size_limit", "16777216", 16_777_216],
  ] as const;
  for (const [name, value, expected] of wanted) {
    pragma(database, `${name} = ${value}`);
    const actual = pragma(database, name);
    if (actual !== expected) {
      throw new StoreError("unavailable", `${path}: SQLite has ${name} ${String(actual)}, and ${value} is needed`);
    }
  }
};
