// Runs the contract suite on the SQLite store.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { temporaryFolder } from "../../../test/sqlite/log-writer.ts";
import { storeContract } from "../store.contract.ts";
import type { Store } from "../store.ts";
import { backupDatabase } from "./backup.ts";
import { restoreDatabase } from "./restore.ts";
import { openSqliteStore } from "./sqlite-store.ts";

storeContract("the SQLite store", async (options) => {
  const folder = temporaryFolder();
  const path = folder.path("tasks.db");
  const stores: Store[] = [];
  const reopen = async (): Promise<Store> => {
    const store = await openSqliteStore({ path, ...options });
    stores.push(store);
    return store;
  };
  return {
    store: await reopen(),
    reopen,
    forget: async (taskId) => {
      const database = new DatabaseSync(path, { timeout: 5_000 });
      database.exec("BEGIN IMMEDIATE");
      const { task } = database.prepare("SELECT task FROM tasks WHERE id = ?").get(taskId) as { task: number };
      const tables = ["events", "inbox", "secrets", "holds", "snapshots", "timers", "tasks"];
      for (const table of tables) database.exec(`DELETE FROM ${table} WHERE task = ${String(task)}`);
      database.prepare("INSERT INTO forgotten (id) VALUES (?)").run(taskId);
      database.exec("COMMIT");
      database.close();
    },
    backup: async () => {
      const to = folder.path(`backup ${String(stores.length)}.db`);
      await backupDatabase({ path: stores.at(-1)?.name ?? path, to, ...options });
      const number = stores.length;
      return async () => {
        const restored = folder.path(`restored ${String(number)} ${String(stores.length)}.db`);
        // As if it were the same path, where the journal of erasures goes on.
        const erasures = `${stores.at(-1)?.name ?? path}.erasures`;
        if (existsSync(erasures)) copyFileSync(erasures, `${restored}.erasures`);
        await restoreDatabase({ from: to, path: restored, replace: false, ...options });
        const store = await openSqliteStore({ path: restored, ...options });
        stores.push(store);
        return store;
      };
    },
    bytes: async () => {
      const database = new DatabaseSync(path, { timeout: 5_000 });
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      database.close();
      // By another process: to open and close the file in this one would drop the store's locks on it.
      return execFileSync("cat", [path, `${path}-wal`], { maxBuffer: 2 ** 28 });
    },
    dispose: async () => {
      for (const store of stores) await store.close();
      folder[Symbol.dispose]();
    },
  };
});
