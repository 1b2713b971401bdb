// From a path to a connection whose schema is the one that this code knows.
import { resolve } from "node:path";
import { plainSeal } from "../seal.ts";
import type { Clock, Seal } from "../store.ts";
import { systemClock } from "../system-clock.ts";
import { Connection, untilFree } from "./connection.ts";
import { configure, markNew, openFile } from "./database-file.ts";
import { erasureJournal, journalPath } from "../erasures.ts";
import { migrate, requireKnown, schemaCheck } from "./migrate.ts";
import { StoreClock } from "./store-clock.ts";

export interface ConnectOptions {
  /** The file; made with its directories when it is not there. */
  readonly path: string;
  /** The machine's own unless given. */
  readonly clock?: Clock;
  /** Content is stored as it is unless given. */
  readonly seal?: Seal;
  /** How long a transaction is tried again while other processes are in its way (ms). Default 10,000. */
  readonly busyMs?: number;
}

/** Codes: `damaged`, `newer_version`, `unavailable`. A file that is refused is left as it is. */
export const openConnection = async (options: ConnectOptions): Promise<Connection> => {
  const { clock = systemClock(), seal = plainSeal, busyMs = 10_000 } = options;
  const name = resolve(options.path);
  const database = await untilFree(name, busyMs, () => openFile(name));
  try {
    await untilFree(name, busyMs, () => {
      requireKnown(name, database);
      markNew(database);
      configure(name, database);
      migrate(name, database);
    });
    const checkSchema = schemaCheck(name, database);
    const erasures = erasureJournal(journalPath(name));
    return new Connection({ name, database, seal, clock: new StoreClock(clock), busyMs, checkSchema, erasures });
  } catch (error) {
    database.close();
    throw error;
  }
};
