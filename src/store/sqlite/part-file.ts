// A database file in the making, under a name that nobody takes for a whole one: put in place in one step, or not at all.
import { closeSync, fsyncSync, linkSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { plainSeal } from "../seal.ts";
import { StoreError, type Clock, type Seal } from "../store.ts";
import { systemClock } from "../system-clock.ts";
import { Connection, untilFree } from "./connection.ts";
import { openFile, pragma } from "./database-file.ts";
import { syncFolder } from "./erasures.ts";
import { migrate, requireKnown, schemaCheck } from "./migrate.ts";
import { systemCode } from "./refusal.ts";
import { StoreClock } from "./store-clock.ts";

const BUSY_MS = 10_000;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) !== "ESRCH";
  }
};

/** Removes what processes of this host that were killed have left of a file for `target`. */
const removeLeftovers = (target: string): void => {
  const start = `${basename(target)}.${hostname()}.`;
  for (const name of readdirSync(dirname(target))) {
    const [, pid] =
      /^(\d+)\.part(-journal|-wal|-shm)?$/.exec(name.startsWith(start) ? name.slice(start.length) : "") ?? [];
    if (pid === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    rmSync(join(dirname(target), name), { force: true });
  }
};

/** The name under which a file for `target` is made. Nothing is there. */
export const partFor = (target: string): string => {
  removeLeftovers(target);
  return `${target}.${hostname()}.${String(process.pid)}.part`;
};

/** Opens a part, which nobody else does: with the newest schema, without a log of changes beside it, noting no erasures. */
export const openPart = async (
  path: string,
  { clock = systemClock(), seal = plainSeal }: { readonly clock?: Clock; readonly seal?: Seal } = {},
): Promise<Connection> => {
  const database = await untilFree(path, BUSY_MS, () => openFile(path));
  try {
    await untilFree(path, BUSY_MS, () => {
      requireKnown(path, database);
      pragma(database, "journal_mode = DELETE");
      pragma(database, "synchronous = FULL");
      pragma(database, "secure_delete = ON");
      migrate(path, database);
    });
    const checkSchema = schemaCheck(path, database);
    return new Connection({ name: path, database, seal, clock: new StoreClock(clock), busyMs: BUSY_MS, checkSchema });
  } catch (error) {
    database.close();
    throw error;
  }
};

const syncFile = (path: string): void => {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** Gives a part that is closed the name `target`, which must be free (`conflict`). */
export const putInPlace = (part: string, target: string): void => {
  syncFile(part);
  try {
    linkSync(part, target);
  } catch (cause) {
    if (systemCode(cause) !== "EEXIST") throw cause;
    throw new StoreError("conflict", `${target} is there already; it was left as it is`, { cause });
  }
  rmSync(part);
  syncFolder(target);
};

/** Gives a part that is closed the name of the file at `target`, which keeps the name `aside`. One of them is always there. */
export const putInPlaceOf = (part: string, target: string, aside: string): void => {
  syncFile(part);
  linkSync(target, aside);
  renameSync(part, target);
  syncFolder(target);
};
