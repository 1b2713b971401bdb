// The schema: made once, by whoever comes first; refused where it is another's, or a newer perdure's.
import { expect, test } from "vitest";
import { plainSeal } from "../../src/store/seal.ts";
import { Connection } from "../../src/store/postgres/connection.ts";
import { migrate, migrations } from "../../src/store/postgres/migrate.ts";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { createDatabase, type Database } from "./database.ts";
import { claiming, createTask } from "./tasks.ts";

const connect = ({ url }: Database, partitions?: number): Connection =>
  new Connection({
    ...{ url, schema: "perdure", max: 2, timeoutMs: 10_000, seal: plainSeal, clock: undefined, partitions },
    ...{ known: migrations.length, prepared: true },
  });

/** All that the catalog says of a schema's tables, indexes and functions, in words that do not depend on when they came. */
const shape = (database: Database, schema = "perdure") =>
  database.query(
    `SELECT 'column' AS what, table_name || '.' || column_name AS name, concat_ws(' ', data_type, is_nullable,
       column_default, collation_name, generation_expression) AS is
     FROM information_schema.columns WHERE table_schema = $1
     UNION ALL SELECT 'index', indexname, replace(indexdef, $1 || '.', '') FROM pg_indexes WHERE schemaname = $1
     UNION ALL SELECT 'function', proname, replace(prosrc, quote_ident($1) || '.', '') FROM pg_proc
       WHERE pronamespace = $1::regnamespace
     UNION ALL SELECT 'options', relname, reloptions::text FROM pg_class WHERE relnamespace = $1::regnamespace
     UNION ALL SELECT 'partition', relname, pg_get_expr(relpartbound, oid) FROM pg_class
       WHERE relnamespace = $1::regnamespace AND relispartition
     ORDER BY 1, 2, 3`,
    schema,
  );

test.each([undefined, 4])(
  "a schema that came step by step is the one that comes at once (partitions: %s)",
  async (parts) => {
    await using fresh = await createDatabase();
    await using upgraded = await createDatabase();
    const [one, other] = [connect(fresh, parts), connect(upgraded, parts)];
    await migrate(one);
    for (let version = 1; version <= migrations.length; version += 1)
      await migrate(other, migrations.slice(0, version));
    expect(await shape(upgraded)).toEqual(await shape(fresh));
    await Promise.all([one.close(), other.close()]);
  },
);

test("a schema in partitions has the columns, indexes and functions of one in one table, and partitions beside", async () => {
  await using whole = await createDatabase();
  await using divided = await createDatabase();
  const [one, other] = [connect(whole), connect(divided, 4)];
  for (const connection of [one, other]) await migrate(connection);
  const others = (await shape(divided)).filter(({ name }) => !/^events_\d/.test(String(name)));
  // The index of a table that is divided says so.
  const same = ({ is, ...row }: Record<string, unknown>) => ({
    ...row,
    is: is === null ? is : String(is).replace("ON ONLY", "ON"),
  });
  expect(others.map(same)).toEqual((await shape(whole)).map(same));
  await Promise.all([one.close(), other.close()]);
});

test("a migration that fails leaves nothing, and the next one begins where it began", async () => {
  await using database = await createDatabase();
  const connection = connect(database);
  const broken = { version: 2, sql: "CREATE TABLE perdure.half (n integer); SELECT 1 / 0" };
  await expect(migrate(connection, [...migrations.slice(0, 1), broken])).rejects.toThrow("division by zero");
  const half = await database.query("SELECT to_regclass('perdure.half') AS half");
  expect(half).toEqual([{ half: null }]);
  await migrate(connection);
  expect(await database.query("SELECT version FROM perdure.place")).toEqual([{ version: migrations.length }]);
  await connection.close();
});

test("a database of a newer perdure is refused with both versions, and left as it is", async () => {
  await using database = await createDatabase();
  await (await openPostgresStore({ url: database.url })).close();
  await database.query("UPDATE perdure.place SET version = 99");
  const before = await shape(database);
  const told = new RegExp(`version 99 .* up to ${String(migrations.length)}$`);
  await expect(openPostgresStore({ url: database.url })).rejects.toMatchObject({
    code: "newer_version",
    message: expect.stringMatching(told),
  });
  expect(await shape(database)).toEqual(before);
});

test("a store that is open while a newer perdure changes the schema claims nothing more", async () => {
  await using database = await createDatabase();
  const store = await openPostgresStore({ url: database.url });
  await createTask(store);
  await database.query("UPDATE perdure.place SET version = 99");
  await expect(store.claim(claiming())).rejects.toMatchObject({ code: "newer_version" });
  await database.query("DROP FUNCTION perdure.post");
  const item = { type: "Say", text: "a" } as const;
  const posting = store.post({ taskId: "t", by: "a:b", key: "k", item });
  await expect(posting).rejects.toMatchObject({ code: "newer_version" });
  await store.close();
});

test("a schema that lost a table is damaged", async () => {
  await using database = await createDatabase();
  const store = await openPostgresStore({ url: database.url });
  await database.query("DROP TABLE perdure.definitions CASCADE");
  await expect(store.getDefinitions({ hashes: ["a"] })).rejects.toMatchObject({ code: "damaged" });
  await store.close();
});

test("tables of others in the same database are left alone, and a schema of others is refused", async () => {
  await using database = await createDatabase();
  await database.query("CREATE TABLE public.tasks (theirs integer)");
  await database.query("CREATE SCHEMA theirs; CREATE TABLE theirs.tasks (theirs integer)");
  const { url } = database;
  await expect(openPostgresStore({ url, schema: "theirs" })).rejects.toMatchObject({ code: "damaged" });
  const store = await openPostgresStore({ url });
  await createTask(store);
  await store.close();
  const tables = "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('public', 'theirs')";
  expect(await database.query(tables)).toHaveLength(2);
});

test("two schemas of one database are two stores", async () => {
  await using database = await createDatabase();
  const url = `${database.url}?schema=other_one&max=2`;
  const [one, other] = [await openPostgresStore({ url: database.url }), await openPostgresStore({ url })];
  const taskId = await createTask(one, "default", "same");
  expect(await other.getTask({ taskId })).toBeNull();
  await createTask(other, "default", "same");
  expect((await other.claim(claiming()))?.taskId).toBe(taskId);
  expect(await other.check()).toEqual([]);
  expect(await shape(database, "other_one")).toHaveLength((await shape(database)).length);
  await Promise.all([one.close(), other.close()]);
});

test("a store that must be there is not made", async () => {
  await using database = await createDatabase();
  await expect(openPostgresStore({ url: database.url, create: false })).rejects.toMatchObject({ code: "not_found" });
  expect(await database.query("SELECT 1 FROM pg_namespace WHERE nspname = 'perdure'")).toEqual([]);
});

test.each([
  ["postgres://h/d?notify=maybe", "notify in a URL is on or off"],
  ["postgres://h/d?max=none", "max in a URL is a number"],
  ["postgres://h/d?partitions=1", "partitions is a number from 2 to 256, not 1"],
  ["postgres://h/d?partitions=257", "from 2 to 256, not 257"],
  ["postgres://h/d?partitions=16.5", "from 2 to 256"],
  ['postgres://h/d?schema=a"b', "a schema is named in"],
  ["postgres//h", "cannot be read"],
])("%s is refused before anything is asked of a server", async (url, says) => {
  await expect(openPostgresStore({ url })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(says),
  });
});
