// The store that the processes of a test share: a file in the test's folder, or the Postgres that a URL names.
import { join } from "node:path";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";

export interface StorePlace {
  readonly folder: string;
  /** A database of Postgres. Undefined: the file. */
  readonly url?: string | undefined;
  /** Of a file: how long a locked one is waited for. */
  readonly busyMs?: number | undefined;
}

export const openStore = ({ folder, url, busyMs }: StorePlace): Promise<Store> => {
  if (url !== undefined) return openPostgresStore({ url });
  return openSqliteStore({ path: join(folder, "tasks.db"), ...(busyMs === undefined ? {} : { busyMs }) });
};
