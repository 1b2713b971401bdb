// The contract suite on the Postgres store: one database for all its tests, as one place that lives on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { backupDatabase, backupErasures } from "../../src/store/postgres/backup.ts";
import type { DatabaseClock } from "../../src/store/postgres/connection.ts";
import { openPostgresStore, type PostgresOptions } from "../../src/store/postgres/postgres-store.ts";
import { restoreDatabase } from "../../src/store/postgres/restore.ts";
import { storeContract } from "../../src/store/store.contract.ts";
import type { Clock, Store } from "../../src/store/store.ts";
import { createDatabase, withClient, type Database } from "./database.ts";

/**
 * The database's clock, of which there is one: all handles see it, it outlives them, and it is no process's own. The suite
 * moves a machine's clocks; this one goes with its wall and never back, and leases with the monotonic clock of a boot.
 */
const seen = { wall: 0, monotonic: 0, boot: "", now: 0, leaseNow: 1_000 };
const databaseClock = (clock: Clock): DatabaseClock => {
  const look = (): void => {
    const [wall, monotonic, { boot }] = [clock.wall(), clock.monotonic(), clock];
    const passed = boot === seen.boot ? monotonic - seen.monotonic : Math.max(0, wall - seen.wall);
    Object.assign(seen, { wall, monotonic, boot, leaseNow: seen.leaseNow + passed });
    seen.now = Math.max(wall, seen.now + (wall < seen.now ? passed : 0));
  };
  return {
    now: () => (look(), seen.now),
    leaseNow: () => (look(), seen.leaseNow),
  };
};

export interface Contract extends Omit<PostgresOptions, "url"> {
  /** Where a backup is restored: in the place of what was backed up, or in a database of its own, with the journal brought. */
  readonly restores: "in place" | "elsewhere";
}

/** Runs the suite on stores that are opened with these settings. */
export const postgresContract = (name: string, { restores, ...settings }: Contract): void => {
  const { schema = "perdure" } = settings;
  let database: Database;
  const elsewhere: Database[] = [];
  let folder: string;
  let files = 0;
  let tests = 0;
  beforeAll(async () => {
    database = await createDatabase();
    folder = mkdtempSync(join(tmpdir(), "perdure-backups-"));
  });
  afterAll(async () => {
    for (const each of [database, ...elsewhere]) await each[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  storeContract(name, async ({ clock, seal }) => {
    const stores: Store[] = [];
    tests += 1;
    // A test's clock begins anew: another boot of the machine.
    const begun = `${String(tests)} `;
    const its = clock && {
      wall: () => clock.wall(),
      monotonic: () => clock.monotonic(),
      get boot() {
        return begun + clock.boot;
      },
    };
    const options = {
      url: database.url,
      max: 4,
      ...settings,
      ...(its === undefined ? {} : { clock: databaseClock(its) }),
      ...(seal === undefined ? {} : { seal }),
    };
    const reopen = async (): Promise<Store> => {
      const store = await openPostgresStore(options);
      stores.push(store);
      return store;
    };
    const close = async (): Promise<void> => {
      for (const store of stores) await store.close();
    };
    const restore = async (from: string): Promise<void> => {
      if (restores === "in place") {
        await close();
        await restoreDatabase({ ...options, from, replace: true });
        return;
      }
      const erasures = join(folder, `${String((files += 1))}.erasures`);
      await backupErasures({ ...options, to: erasures });
      const other = await createDatabase();
      elsewhere.push(other);
      options.url = other.url;
      await restoreDatabase({ ...options, from, erasures, replace: false });
    };
    return {
      store: await reopen(),
      reopen,
      forget: (taskId) =>
        withClient(database.url, async (client) => {
          await client.query("BEGIN");
          const { rows } = await client.query(`DELETE FROM ${schema}.tasks WHERE id = $1 RETURNING task`, [taskId]);
          for (const table of ["events", "inbox", "secrets", "holds", "snapshots", "timers", "redactions"]) {
            await client.query(`DELETE FROM ${schema}.${table} WHERE task = $1`, [(rows[0] as { task: string }).task]);
          }
          await client.query(`INSERT INTO ${schema}.forgotten VALUES ($1)`, [taskId]);
          await client.query("COMMIT");
        }),
      // What its rows hold. What its pages held before is the server's own (decision 0020).
      bytes: () =>
        withClient(database.url, async (client) => {
          const tables = await client.query<{ name: string }>(
            `SELECT relname AS name FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r'`,
          );
          const held: Buffer[] = [];
          for (const { name } of tables.rows) {
            const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${schema}.${name}`);
            for (const row of rows) {
              for (const value of Object.values(row))
                held.push(Buffer.isBuffer(value) ? value : Buffer.from(String(value)));
            }
          }
          return Buffer.concat(held);
        }),
      backup: async () => {
        const to = join(folder, `${String((files += 1))}.backup`);
        await backupDatabase({ ...options, to });
        return async () => {
          await restore(to);
          return reopen();
        };
      },
      dispose: close,
    };
  });
};
