// Transactions beside other processes, and on a disk that is full.
import { setImmediate as turn } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { appendTo, appending, claimLog, createLog, temporaryFolder, told } from "../../../test/sqlite/log-writer.ts";
import type { Store } from "../store.ts";
import { openConnection } from "./open-connection.ts";
import { openSqliteStore, storeOver } from "./sqlite-store.ts";

let folder: ReturnType<typeof temporaryFolder>;
let stores: Store[];
beforeEach(() => {
  folder = temporaryFolder();
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  folder[Symbol.dispose]();
});

const open = async (busyMs = 10_000): Promise<Store> => {
  const store = await openSqliteStore({ path: folder.path("tasks.db"), busyMs });
  stores.push(store);
  return store;
};

/** Another connection that has the database to itself until it commits. */
const lock = (): { release(): void } => {
  const database = new DatabaseSync(folder.path("tasks.db"));
  database.exec("BEGIN IMMEDIATE");
  return {
    release: () => {
      database.exec("COMMIT");
      database.close();
    },
  };
};

const hello = { by: "local:root", key: "k", item: { type: "Say", text: "hello" } } as const;

it("case-37: waits while another has the database, without holding up this process", async () => {
  const store = await open();
  const log = await createLog(store);
  const other = lock();
  const posted = store.post({ taskId: log.taskId, ...hello });
  // Each turn of the loop is one that a blocking wait would not have let happen.
  for (let turns = 0; turns < 100; turns += 1) await turn();
  expect(await store.getTask({ taskId: log.taskId })).toMatchObject({ inboxSeq: 0 });
  other.release();
  expect(await posted).toMatchObject({ seq: 1 });
});

it("case-37: says that nothing can be said when the other does not let go, and works again after", async () => {
  const store = await open(20);
  const log = await createLog(store);
  const other = lock();
  await expect(store.post({ taskId: log.taskId, ...hello })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("another process has had it locked for 20 ms"),
  });
  other.release();
  expect(await store.post({ taskId: log.taskId, ...hello })).toMatchObject({ seq: 1, duplicate: false });
});

it("tries the whole transaction again, so that what was guarded is what is committed", async () => {
  const store = await open();
  const rival = await open();
  const log = await createLog(store);
  const claim = await claimLog(store, log);
  const params = appending(log, claim, [told("a")]);
  const other = lock();
  const [mine, theirs] = [store.append(params), rival.append(appending(log, claim, [told("b")]))];
  await turn();
  other.release();
  const outcomes = await Promise.allSettled([mine, theirs]);
  expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find((outcome) => outcome.status === "rejected")?.reason).toMatchObject({ code: "conflict" });
  expect(await store.read({ taskId: log.taskId })).toHaveLength(2);
});

it("refuses an append that does not fit, whole, and takes it once there is room", async () => {
  const connection = await openConnection({ path: folder.path("tasks.db") });
  const store = storeOver(connection);
  stores.push(store);
  const log = await createLog(store);
  const claim = await claimLog(store, log);
  const pages = connection.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
  connection.get(`PRAGMA max_page_count = ${String(pages + 5)}`);
  const before = [await store.getTask({ taskId: log.taskId }), await store.read({ taskId: log.taskId })];
  const more = { rows: [{ table: "collaborators", key: "discord:1", set: { seq: 2, by: "local:root" } }] } as const;
  const big = appending(log, claim, [told("small"), told("x".repeat(100_000))], more);
  await expect(store.append(big)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("full"),
  });
  expect([await store.getTask({ taskId: log.taskId }), await store.read({ taskId: log.taskId })]).toEqual(before);
  expect(await store.readRows({ taskId: log.taskId })).toEqual([]);
  await appendTo(store, log, claim, [told("it goes on with what fits")]);
  connection.get("PRAGMA max_page_count = 1000000");
  await appendTo(store, log, claim, [told("x".repeat(100_000))]);
  expect(await store.read({ taskId: log.taskId })).toHaveLength(3);
  expect(await store.check()).toEqual([]);
});
