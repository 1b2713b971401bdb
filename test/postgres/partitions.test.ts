// Events in partitions: made once, found again by whatever store opens, one of them for each task, and kept by a backup.
// What a store does on them is the contract's (contract-partitioned.test.ts).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { backupDatabase } from "../../src/store/postgres/backup.ts";
import { BackupReader } from "../../src/store/postgres/backup-file.ts";
import { LOAD } from "../../src/store/postgres/load.ts";
import { ENVELOPES } from "../../src/store/postgres/log.ts";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { restoreDatabase } from "../../src/store/postgres/restore.ts";
import type { Store } from "../../src/store/store.ts";
import { createDatabase, withClient, type Database } from "./database.ts";
import { startProxy } from "./proxy.ts";
import { appending, claimTask, createTask, endOf, told } from "./tasks.ts";

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-partitions-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

const openStore = async (url: string, partitions?: number): Promise<Store> => {
  const store = await openPostgresStore({ url, ...(partitions === undefined ? {} : { partitions }) });
  onTestFinished(() => store.close());
  return store;
};

/** A task whose log has two events. */
const beginTask = async (store: Store): Promise<string> => {
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  await store.append(appending(claim, endOf(claim), [told("a")], { columns: { status: "running" } }));
  return taskId;
};

/** How many partitions there are; 0 for one table. */
const partitionsOf = async (database: Database): Promise<number> => {
  const found = await database.query("SELECT FROM pg_inherits WHERE inhparent = 'perdure.events'::regclass");
  return found.length;
};

/** Where each task's events are. */
const places = (database: Database) =>
  database.query(
    `SELECT id, array_agg(DISTINCT e.tableoid::regclass::text) AS tables, count(*)::integer AS events
     FROM perdure.events e JOIN perdure.tasks USING (task) GROUP BY id`,
  );

test("a schema is made with the partitions of its URL, each task in one; it opens with their number and without", async () => {
  await using database = await createDatabase();
  const store = await openStore(`${database.url}?partitions=16`);
  for (let n = 0; n < 20; n += 1) await beginTask(store);
  expect(await partitionsOf(database)).toBe(16);
  const found = await places(database);
  expect(found).toHaveLength(20);
  for (const place of found) expect(place).toMatchObject({ tables: [expect.stringMatching(/events_\d+/)], events: 2 });
  expect(new Set(found.map(({ tables }) => String(tables))).size).toBeGreaterThan(4);
  for (const again of [await openStore(database.url, 16), await openStore(database.url)]) {
    expect(await again.listTasks({ limit: 50 })).toHaveLength(20);
    expect(await again.check()).toEqual([]);
  }
});

test.each([
  [16, 8, "are in 16 partitions, and partitions=8"],
  [undefined, 4, "are in one table, and partitions=4"],
])(
  "a schema made with %s partitions is not opened with %s: both are named, and what to do",
  async (made, asked, says) => {
    await using database = await createDatabase();
    await openStore(database.url, made);
    const refused = { code: "conflict", message: expect.stringMatching(new RegExp(`${says} .* leave the number out`)) };
    await expect(openPostgresStore({ url: database.url, partitions: asked })).rejects.toMatchObject(refused);
    const to = join(temporaryFolder(), "b");
    await expect(backupDatabase({ url: `${database.url}?partitions=${String(asked)}`, to })).rejects.toMatchObject(
      refused,
    );
    expect(await partitionsOf(database)).toBe(made ?? 0);
  },
);

test("of stores that make one schema at once with different numbers one number wins, and only who asked for it gets in", async () => {
  await using database = await createDatabase();
  const opened = await Promise.allSettled([2, 3, 2, 3].map((partitions) => openStore(database.url, partitions)));
  const number = await partitionsOf(database);
  expect([2, 3]).toContain(number);
  expect(opened.map(({ status }) => status === "fulfilled")).toEqual([2, 3, 2, 3].map((asked) => asked === number));
});

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Loops": number;
  readonly Plans?: readonly Plan[];
}

const scansIn = (plan: Plan): string[] => [
  ...(/^events(_\d+)?$/.test(plan["Relation Name"] ?? "") && plan["Actual Loops"] > 0
    ? [`${plan["Node Type"]} of ${plan["Relation Name"] ?? ""}`]
    : []),
  ...(plan.Plans ?? []).flatMap(scansIn),
];

/** The scans of events that a statement of the store's makes, planned for its values or once for all. */
const scansOf = (database: Database, mode: string, sql: string, values: string): Promise<string[]> =>
  withClient(database.url, async (client) => {
    await client.query(`SET plan_cache_mode = ${mode}`);
    await client.query(`PREPARE its AS ${sql}`);
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE its (${values})`,
    );
    return rows.flatMap((row) => scansIn(row["QUERY PLAN"][0].Plan));
  });

test.each(["force_custom_plan", "force_generic_plan"])(
  "a read of one task, its claim's load and the end of its log look into one partition, by its index (%s)",
  async (mode) => {
    await using database = await createDatabase();
    const store = await openStore(database.url, 16);
    const taskId = await beginTask(store);
    await database.query(`INSERT INTO perdure.events SELECT task, 1, seq, 4, NULL, '', convert_to(repeat('x', 200), 'UTF8')
      FROM generate_series(1000, 1400) task, generate_series(1, 50) seq`);
    await database.query("ANALYZE");
    const [own] = await database.query(
      "SELECT task, e.tableoid::regclass::text AS name FROM perdure.events e JOIN perdure.tasks USING (task) WHERE seq = 1",
    );
    const partition = String(own?.["name"]).replace("perdure.", "");
    const byIndex = [expect.stringMatching(new RegExp(`^(Index|Bitmap Heap) Scan of ${partition}$`))];
    const all = `'${taskId}', 0, 1000000, 1000000, true`;
    expect(await scansOf(database, mode, ENVELOPES, all)).toEqual(byIndex);
    expect(await scansOf(database, mode, ENVELOPES, `'${taskId}', 1, 2, 10, true`)).toEqual(byIndex);
    expect(await scansOf(database, mode, LOAD, `${String(own?.["task"])}, NULL, 'b', 10, 10, true`)).toEqual(byIndex);
  },
);

test("an append to a task in partitions is one statement", async () => {
  await using database = await createDatabase();
  await using proxy = await startProxy(database.url);
  const store = await openPostgresStore({ url: proxy.url, partitions: 16, notify: false });
  const claim = await claimTask(store, await createTask(store));
  const before = proxy.count(/./);
  await store.append(appending(claim, endOf(claim), [told("a"), told("b")]));
  expect(proxy.count(/./) - before).toBe(1);
  await store.close();
});

test("a partition that is gone is found by the check", async () => {
  await using database = await createDatabase();
  const store = await openStore(database.url, 4);
  await database.query("ALTER TABLE perdure.events DETACH PARTITION perdure.events_2");
  expect(await store.check()).toContainEqual({ taskId: "", seq: null, what: "the events have 3 partitions of 4" });
});

test.each([
  { made: 4, named: undefined, restored: 4 },
  { made: 4, named: 8, restored: 8 },
  { made: undefined, named: 8, restored: 8 },
  { made: undefined, named: undefined, restored: 0 },
])("a backup of $made partitions, restored where the URL names $named, is in $restored", async (numbers) => {
  await using database = await createDatabase();
  await using other = await createDatabase();
  const from = join(temporaryFolder(), "b");
  const store = await openStore(database.url, numbers.made);
  const taskIds = [await beginTask(store), await beginTask(store), await beginTask(store)];
  expect((await backupDatabase({ url: database.url, to: from })).findings).toEqual([]);
  const reader = await BackupReader.open(from);
  expect((await reader.header()).partitions).toBe(numbers.made ?? null);
  await reader.close();
  const query = numbers.named === undefined ? "" : `?partitions=${String(numbers.named)}`;
  expect((await restoreDatabase({ url: other.url + query, from, replace: false })).findings).toEqual([]);
  expect(await partitionsOf(other)).toBe(numbers.restored);
  const there = await openStore(other.url + query);
  for (const taskId of taskIds) expect(await there.read({ taskId })).toEqual(await store.read({ taskId }));
  const task = await createTask(there);
  expect(await there.read({ taskId: task })).toHaveLength(1);
});
