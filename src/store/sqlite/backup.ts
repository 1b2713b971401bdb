// A backup: the whole database in one file, as of one moment, while workers go on. It is read in one transaction, which
// keeps no writer out.
import { closeSync, existsSync, openSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Backup, Verify } from "../backup.ts";
import { StoreError, type Finding } from "../store.ts";
import { untilFree } from "./connection.ts";
import { openConnection, type ConnectOptions } from "./open-connection.ts";
import { partFor, putInPlace } from "../part-file.ts";
import { openPart } from "./open-part.ts";
import { refusalOf } from "./refusal.ts";
import { storeOver } from "./sqlite-store.ts";

export interface BackupOptions extends ConnectOptions {
  /** Where to. Must not be there. */
  readonly to: string;
  readonly verify?: Verify;
}

/** Copies the database, without what it has given up, into a file that only its owner may read. */
const copy = async (options: BackupOptions, part: string): Promise<number> => {
  const connection = await openConnection(options);
  try {
    const backupAt = await connection.read((now) => now);
    closeSync(openSync(part, "wx", 0o600));
    await untilFree(connection.name, options.busyMs ?? 10_000, () => connection.run("VACUUM INTO ?", part));
    return backupAt;
  } finally {
    connection.close();
  }
};

const finish = async (part: string, backupAt: number, options: BackupOptions): Promise<readonly Finding[]> => {
  const connection = await openPart(part, options);
  const store = storeOver(connection);
  try {
    await connection.write(() => connection.run("UPDATE place SET backupAt = ?", backupAt));
    return (await options.verify?.(store)) ?? (await store.check());
  } finally {
    await store.close();
  }
};

/**
 * Makes a backup of the database at `path`. The file is whole, or not there. Codes: `conflict` (something is there
 * already), `damaged` (the database cannot be read), `newer_version`, `unavailable`.
 */
export const backupDatabase = async (options: BackupOptions): Promise<Backup> => {
  const to = resolve(options.to);
  if (existsSync(to)) throw new StoreError("conflict", `${to} is there already; it was left as it is`);
  let part: string | undefined;
  try {
    part = partFor(to);
    const backupAt = await copy(options, part);
    const findings = await finish(part, backupAt, options);
    putInPlace(part, to);
    return { path: to, backupAt, bytes: statSync(to).size, findings };
  } catch (error) {
    if (part !== undefined) rmSync(part, { force: true });
    throw refusalOf(to, error);
  }
};
