// A file in the making, under a name that nobody takes for a whole one: put in place in one step, or not at all.
import { closeSync, fsyncSync, linkSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "./erasures.ts";
import { StoreError } from "./store.ts";
import { systemCode } from "./system-code.ts";

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
