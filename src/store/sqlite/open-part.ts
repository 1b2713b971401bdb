// Opens a database file in the making (part-file.ts).
import { plainSeal } from "../seal.ts";
import type { Clock, Seal } from "../store.ts";
import { systemClock } from "../system-clock.ts";
import { Connection, untilFree } from "./connection.ts";
import { openFile, pragma } from "./database-file.ts";
import { migrate, requireKnown, schemaCheck } from "./migrate.ts";
import { StoreClock } from "./store-clock.ts";

const BUSY_MS = 10_000;

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
