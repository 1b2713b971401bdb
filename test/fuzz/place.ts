// A SQLite file as the place of a fuzzed log, or of one that is gone on with. The store is open before the time that it
// goes by begins.
import { rmSync } from "node:fs";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { Clock } from "../../src/store/store.ts";
import type { Place } from "./fuzz.ts";
import { rawLogInFile } from "./raw-log.ts";

/** Runs `use` with a store in a new file, which is gone afterwards. */
export const inFile = async <T>(path: string, use: (place: Place) => Promise<T>): Promise<T> => {
  let shown: Clock = { wall: () => 0, monotonic: () => 0, boot: "simulated" };
  const clock: Clock = { wall: () => shown.wall(), monotonic: () => shown.monotonic(), boot: "simulated" };
  const store = await openSqliteStore({ path, clock });
  const open = (other: Clock) => {
    shown = other;
    return store;
  };
  try {
    return await use({ store: open, raw: rawLogInFile(path) });
  } finally {
    await store.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
  }
};
