// What SQLite and the file system refuse, told as one of the store's refusals.
import { StoreError } from "../store.ts";
import { systemCode } from "../system-code.ts";

interface SqliteError extends Error {
  /** SQLite's extended result code. */
  readonly errcode: number;
}

const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number";

/** Result codes of sqlite.org/rescode.html; an extended code holds its primary one in the low byte. */
const primary = (error: unknown): number => (isSqliteError(error) ? error.errcode & 0xff : 0);

const BUSY = 5;
const LOCKED = 6;

/** Another connection is in the way; nothing was done, and the same may succeed a moment later. */
export const isBusy = (error: unknown): boolean => [BUSY, LOCKED].includes(primary(error));

const unavailable = new Map([
  [7, "there is not enough memory"],
  [8, "it is read-only"],
  [9, "it was interrupted"],
  [10, "its disk reports an error"],
  [13, "it is full: the disk, or the limit of its size"],
  [14, "the file, or a file beside it, cannot be opened"],
  [15, "its lock file is in a state that SQLite does not know"],
]);

const CORRUPT = 11;
const NOT_A_DATABASE = 26;

const damaged = new Map([
  [CORRUPT, "the file is damaged"],
  [NOT_A_DATABASE, "the file is not a database"],
]);

/** It is a database, but not what was written, or not all of it. */
export const isCorrupt = (error: unknown): boolean => primary(error) === CORRUPT;

/** It never was a database. */
export const isForeign = (error: unknown): boolean => primary(error) === NOT_A_DATABASE;

/** The file is not what was written. */
export const isDamage = (error: unknown): boolean => damaged.has(primary(error));

/** The refusal that `error` is; errors that are none (a bug, a refusal already) come back as they are. */
export const refusalOf = (name: string, error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  const told = error.message;
  if (systemCode(error) !== undefined) return new StoreError("unavailable", `${name}: ${told}`, { cause: error });
  const code = primary(error);
  const out = unavailable.get(code);
  if (out !== undefined) return new StoreError("unavailable", `${name}: ${out} (${told})`, { cause: error });
  const broken = damaged.get(code);
  if (broken !== undefined) return new StoreError("damaged", `${name}: ${broken} (${told})`, { cause: error });
  return error;
};
