// --single: one process for one database file, taken before the database is opened.
import { lockInstance, type InstanceLock } from "../instance-lock.ts";
import { isPostgresUrl } from "../stores.ts";
import { UsageError } from "./command.ts";
import { makeFolder, type Given } from "./session.ts";

/** Null where nobody asked for it. Rejects with InstanceHeld. */
export const lockWhereAsked = async (
  { settings: { db }, loaded }: Given,
  options: { readonly single?: boolean },
): Promise<InstanceLock | null> => {
  if ((options.single ?? loaded.config.singleProcess) !== true) return null;
  if (isPostgresUrl(db)) {
    throw new UsageError(
      "--single is for a database file: on Postgres, claims let any number of processes work together",
    );
  }
  makeFolder(db);
  return lockInstance(db);
};
