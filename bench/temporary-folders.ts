// Temporary folders on a real disk: in memory a commit costs nothing, and every ratio would be another.
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Of linux/magic.h: tmpfs and ramfs. */
const IN_MEMORY = [0x0102_1994, 0x8584_58f6];

export interface TemporaryFolders {
  /** A new, empty one. */
  make(): string;
  /** Removes them all. */
  remove(): void;
}

/** Below `parent`. Throws if that is no disk. */
export const createTemporaryFolders = (parent = process.env["PERDURE_BENCH_DIR"] ?? tmpdir()): TemporaryFolders => {
  if (IN_MEMORY.includes(statfsSync(parent).type)) {
    throw new Error(`${parent} is in memory, not on a disk. Name a folder on a disk in PERDURE_BENCH_DIR.`);
  }
  const made: string[] = [];
  return {
    make: () => {
      const folder = mkdtempSync(join(parent, "perdure-bench-"));
      made.push(folder);
      return folder;
    },
    remove: () => {
      for (const folder of made) rmSync(folder, { recursive: true, force: true });
    },
  };
};
