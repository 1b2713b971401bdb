// The schema: the same by every way to it, and never changed under code that does not know it.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createLog, temporaryFolder } from "../../../test/sqlite/log-writer.ts";
import { projections } from "../../core/project.ts";
import { migrate, migrations } from "./migrate.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

const schemaOf = (database: DatabaseSync): unknown[] =>
  database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all();

const fresh = (): DatabaseSync => {
  const database = new DatabaseSync(":memory:");
  migrate("memory", database);
  return database;
};

it("case-40: gives an upgraded database the schema of a fresh one, whatever version it had", () => {
  expect(migrations.length).toBeGreaterThan(1);
  for (const { version } of migrations) {
    const database = new DatabaseSync(":memory:");
    migrate("memory", database, migrations.slice(0, version));
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: version });
    migrate("memory", database);
    expect(schemaOf(database)).toEqual(schemaOf(fresh()));
  }
});

it("leaves nothing of a migration that fails", () => {
  const database = new DatabaseSync(":memory:");
  const [first, second] = migrations;
  if (first === undefined || second === undefined) throw new Error("there are two migrations");
  const broken = { version: 2, sql: `${second.sql}; SELECT no_such_function()` };
  expect(() => migrate("memory", database, [first, broken])).toThrow("no_such_function");
  expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  migrate("memory", database);
  expect(schemaOf(database)).toEqual(schemaOf(fresh()));
});

it("has a table for every projection, with its columns", () => {
  const database = fresh();
  for (const [table, columns] of Object.entries(projections)) {
    const there = database.prepare(`SELECT name, type FROM pragma_table_info('${table}')`).all();
    const wanted = Object.entries(columns).map(([name, type]) => ({ name, type: type.toUpperCase() }));
    const own = [{ name: "task", type: "INTEGER" }, { name: "key", type: "TEXT" }, ...wanted];
    expect(there).toEqual(table === "timers" ? [...own, { name: "inboxSeq", type: "INTEGER" }] : own);
  }
});

it("case-40: refuses to write, but not to read, once a newer perdure has changed the schema", async () => {
  const path = folder.path("tasks.db");
  const store = await openSqliteStore({ path });
  const log = await createLog(store);
  const newer = new DatabaseSync(path);
  newer.exec("PRAGMA user_version = 99");
  newer.close();
  await expect(createLog(store)).rejects.toMatchObject({ code: "newer_version" });
  expect(await store.read({ taskId: log.taskId })).toHaveLength(1);
  await store.close();
});
