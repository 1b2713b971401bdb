// A restore: a database made from a backup, in a new epoch, with what was erased since erased again, and put in place
// whole. Killed at any point, it can be run again.
import { chmodSync, constants, copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError, type Clock, type Seal } from "../store.ts";
import { applyErasures } from "./apply-erasures.ts";
import type { Restored, Verify } from "../backup.ts";
import type { Connection } from "./connection.ts";
import { openFile, pragma } from "./database-file.ts";
import { beginEpoch, epochOf } from "./epochs.ts";
import { erasureJournal, journalPath, readErasures, type Erasures } from "../erasures.ts";
import { partFor, putInPlace, putInPlaceOf } from "../part-file.ts";
import { openPart } from "./open-part.ts";
import { isBusy, isDamage, refusalOf } from "./refusal.ts";
import { storeOver } from "./sqlite-store.ts";

export interface RestoreOptions {
  readonly from: string;
  /** The database to make. */
  readonly path: string;
  /** Moves a database that is there aside; otherwise it is refused. */
  readonly replace: boolean;
  /** A journal of erasures that stands elsewhere, applied beside the database's own. */
  readonly erasures?: string;
  readonly verify?: Verify;
  readonly clock?: Clock;
  readonly seal?: Seal;
}

const isThere = (path: string): boolean => existsSync(path) || existsSync(`${path}-wal`);

const inUse = (path: string, cause?: unknown): StoreError =>
  new StoreError("unavailable", `${path} is open in another process; stop the workers first`, { cause });

/** Copies the backup's file, which is left as it is. */
const copyOf = (from: string, part: string): void => {
  if (!existsSync(from)) throw new StoreError("not_found", `there is no backup at ${from}`);
  if (existsSync(`${from}-wal`)) throw inUse(from);
  copyFileSync(from, part, constants.COPYFILE_EXCL);
  chmodSync(part, 0o600);
};

/** When the backup was made. Of a file that was copied by hand that is not known better than by its newest event. */
const backupTime = (connection: Connection): number =>
  connection.get<{ at: number }>(
    "SELECT ifnull(backupAt, (SELECT ifnull(max(updatedAt), 0) FROM tasks)) AS at FROM place",
  )?.at ?? 0;

/** The epoch of the database to be replaced, as far as it can be read. */
const epochAt = (path: string): number => {
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      return Number(database.prepare("SELECT epoch FROM place").get()?.["epoch"] ?? 0);
    } finally {
      database.close();
    }
  } catch {
    return 0;
  }
};

const journalsOf = ({ path, erasures }: RestoreOptions): Erasures => {
  const own = readErasures(journalPath(path));
  if (erasures === undefined) return own;
  if (!existsSync(erasures)) throw new StoreError("not_found", `there is no journal of erasures at ${erasures}`);
  const other = readErasures(erasures);
  return { entries: [...own.entries, ...other.entries], unreadable: own.unreadable + other.unreadable };
};

type Renewed = Pick<Restored, "backupAt" | "epoch" | "open" | "erased" | "findings">;

const count = (connection: Connection, sql: string): number => connection.get<{ n: number }>(sql)?.n ?? 0;

/** Makes the copy a database of a new epoch. */
const renew = async (part: string, options: RestoreOptions, { entries }: Erasures): Promise<Renewed> => {
  const connection = await openPart(part, options);
  const store = storeOver(connection);
  try {
    const broken = (await store.check()).find(({ taskId }) => taskId === "");
    if (broken !== undefined) throw new StoreError("damaged", `${options.from} is damaged: ${broken.what}`);
    const known = entries.map((entry) => ("epoch" in entry ? entry.epoch : 0));
    const backupAt = await connection.read(() => backupTime(connection));
    const before = await connection.read(() => epochOf(connection));
    const epoch = known.reduce((a, b) => Math.max(a, b), Math.max(before, epochAt(options.path))) + 1;
    // Noted before anybody can be in it: no later restore takes it again.
    erasureJournal(journalPath(options.path)).note([{ epoch }]);
    const { erased, open } = await connection.write((now) => {
      beginEpoch(connection, { epoch, backupAt }, now);
      const made = applyErasures(connection, entries);
      const n = count(connection, "SELECT count(*) AS n FROM tasks WHERE status NOT IN ('ended', 'gone')");
      return { erased: made, open: n };
    });
    const findings = (await options.verify?.(store)) ?? (await store.check());
    return { backupAt, epoch, open, erased, findings };
  } finally {
    await store.close();
  }
};

/** A name for the database that was there. */
const asideOf = (path: string): string => {
  const stem = `${path}.replaced-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? stem : `${stem}-${String(n)}`;
    if (!existsSync(name)) return name;
  }
};

/** Folds the log of changes into the file, and makes sure that nobody else has it open. False when it is damaged. */
const quiesce = (path: string): boolean => {
  let database: DatabaseSync | undefined;
  try {
    database = openFile(path);
    // Leaving WAL takes the whole file: whoever has it open, even idle, is in the way.
    if (pragma(database, "journal_mode = DELETE") !== "delete") throw inUse(path);
    return true;
  } catch (error) {
    if (isBusy(error)) throw inUse(path, error);
    if (isDamage(error) || (error instanceof StoreError && error.code === "damaged")) return false;
    throw error;
  } finally {
    database?.close();
  }
};

/** `unchanged`: nothing was erased in it since the journal was read. */
const replace = (part: string, path: string, unchanged: () => boolean): string => {
  const aside = asideOf(path);
  const whole = existsSync(path) && quiesce(path);
  if (!unchanged())
    throw new StoreError("unavailable", `${path} was used meanwhile; stop the workers, and restore again`);
  if (!whole) {
    // What is left beside a damaged file belongs to it, and would be taken for the new one's.
    for (const end of ["-wal", "-shm"]) if (existsSync(path + end)) renameSync(path + end, aside + end);
  }
  if (existsSync(path)) putInPlaceOf(part, path, aside);
  else putInPlace(part, path);
  return aside;
};

/**
 * Restores. Codes: `not_found` (no backup there), `conflict` (a database is there already), `damaged`, `newer_version`,
 * `unavailable` (another process has the database to be replaced open).
 */
export const restoreDatabase = async (options: RestoreOptions): Promise<Restored> => {
  const given = { ...options, from: resolve(options.from), path: resolve(options.path) };
  const { from, path } = given;
  const taken = isThere(path);
  if (taken && !given.replace) {
    throw new StoreError("conflict", `there is a database at ${path}; with --replace it is moved aside`);
  }
  let part: string | undefined;
  try {
    if (taken && existsSync(path)) quiesce(path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    part = partFor(path);
    copyOf(from, part);
    const journals = journalsOf(given);
    const renewed = await renew(part, given, journals);
    let aside: string | null = null;
    // The journal has one more line now: that of the epoch.
    const unchanged = (): boolean => journalsOf(given).entries.length === journals.entries.length + 1;
    if (taken) aside = replace(part, path, unchanged);
    else putInPlace(part, path);
    return { path, aside, unreadable: journals.unreadable, ...renewed };
  } catch (error) {
    if (part !== undefined) rmSync(part, { force: true });
    throw refusalOf(path, error);
  }
};
