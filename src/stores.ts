// The stores by name. Each is loaded when it is opened: who uses one need not have what the other needs.
import type { PostgresOptions } from "./store/postgres/postgres-store.ts";
import type { SqliteOptions } from "./store/sqlite/sqlite-store.ts";
import type { Store } from "./store/store.ts";

/** One file, several processes of one host. See SqliteOptions. Codes: `damaged`, `newer_version`, `unavailable`. */
export const openSqliteStore = async (options: SqliteOptions): Promise<Store> =>
  (await import("./store/sqlite/sqlite-store.ts")).openSqliteStore(options);

/** One database, any number of machines. See PostgresOptions. Codes: `damaged`, `newer_version`, `unavailable`. */
export const openPostgresStore = async (options: PostgresOptions): Promise<Store> =>
  (await import("./store/postgres/postgres-store.ts")).openPostgresStore(options);

/** Whether a name of a database is a URL of Postgres, and not a path. */
export const isPostgresUrl = (db: string): boolean => /^postgres(ql)?:/i.test(db);
