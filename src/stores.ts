// The stores by name. Each is loaded when it is opened: who uses one need not have what the other needs.
import { lockInstance } from "./instance-lock.ts";
import type { PostgresOptions } from "./store/postgres/postgres-store.ts";
import type { SqliteOptions } from "./store/sqlite/sqlite-store.ts";
import type { Store } from "./store/store.ts";

export interface SqliteStoreOptions extends SqliteOptions {
  /**
   * No other process that asks for the same may have this file, under whatever path: it is locked before it is opened, and
   * let go by `close`, or by the end of the process. Rejects with InstanceHeld.
   */
  readonly singleProcess?: boolean;
}

/** One file, several processes of one host. See SqliteOptions. Codes: `damaged`, `newer_version`, `unavailable`. */
export const openSqliteStore = async ({ singleProcess = false, ...options }: SqliteStoreOptions): Promise<Store> => {
  const { openSqliteStore: open } = await import("./store/sqlite/sqlite-store.ts");
  if (!singleProcess) return open(options);
  const lock = await lockInstance(options.path);
  try {
    const store = await open(options);
    return {
      ...store,
      close: async () => {
        await store.close();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
};

/** One database, any number of machines. See PostgresOptions. Codes: `damaged`, `newer_version`, `unavailable`. */
export const openPostgresStore = async (options: PostgresOptions): Promise<Store> =>
  (await import("./store/postgres/postgres-store.ts")).openPostgresStore(options);

/** Whether a name of a database is a URL of Postgres, and not a path. */
export const isPostgresUrl = (db: string): boolean => /^postgres(ql)?:/i.test(db);
