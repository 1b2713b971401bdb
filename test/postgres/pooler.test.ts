// Workers and a front end whose every transaction may have another connection, as behind a transaction pooler.
import { expect, it } from "vitest";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { createDatabase, withClient } from "./database.ts";
import { runDisturbed, toldOf } from "./disturbances.ts";
import { startPooler } from "./pooler.ts";
import { appending, claimTask, createTask, creation, endOf, told } from "./tasks.ts";

const through = (url: string): string => {
  const its = new URL(url);
  its.searchParams.set("notify", "off");
  return its.href;
};

it("workers behind a transaction pooler of three connections lose nothing and do nothing twice", async () => {
  await using database = await createDatabase();
  await using pooler = await startPooler(database.url, 3);
  const options = { times: 4, workers: 3, tasks: 8, leaseMs: 60_000, disturb: () => undefined };
  const result = await runDisturbed({ ...options, url: through(pooler.url) });
  console.log(toldOf("behind a transaction pooler", result));
  expect(result.faults).toEqual([]);
  expect(result.figures).toMatchObject({ lost: 0, doubled: 0, ended: result.figures.tasks });
  expect(result).toMatchObject({ takeovers: 0, refused: {} });
  expect(pooler.changes()).toBeGreaterThan(100);
});

it("transactions of several statements are whole behind a transaction pooler, and leave no setting behind", async () => {
  await using database = await createDatabase();
  await using pooler = await startPooler(database.url, 2);
  const store = await openPostgresStore({ url: through(pooler.url) });
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  const child = creation("default");
  await store.append(appending(claim, endOf(claim), [told("a")], { children: [child] }));
  expect(await store.getTask({ taskId: child.task.taskId })).toMatchObject({ lastSeq: 1 });
  await store.redact({ taskId, seqs: [2], secret: new Uint8Array(32) });
  expect(await store.readRedactions({ taskId })).toMatchObject([{ seq: 2 }]);
  await store.close();
  await withClient(pooler.url, async (client) => {
    for (let turn = 0; turn < 2; turn += 1) {
      const { rows } = await client.query("SHOW idle_in_transaction_session_timeout");
      expect(rows).toEqual([{ idle_in_transaction_session_timeout: "0" }]);
    }
  });
});

it("a store that keeps statements prepared does not work behind it, and says so instead of going wrong", async () => {
  await using database = await createDatabase();
  await using pooler = await startPooler(database.url, 2);
  const store = await openPostgresStore({ url: through(pooler.url) });
  const taskId = await createTask(store);
  await store.close();
  const prepared = await openPostgresStore({ url: through(pooler.url), prepared: true, max: 1 });
  const asking = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) await prepared.getTask({ taskId });
  };
  await expect(asking()).rejects.toThrow(/prepared statement/);
  await prepared.close();
});
