// A claim is kept by a thread while this one is blocked.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimLog, claiming, createLog, manualClock, temporaryFolder } from "../../../test/sqlite/log-writer.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** Blocks this thread, as a tool that computes for long does, until `done`. */
const block = (done: () => boolean): void => {
  const deadline = performance.now() + 20_000;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!done()) {
    if (performance.now() > deadline) throw new Error("nothing happened while this thread was blocked");
    Atomics.wait(cell, 0, 0, 5);
  }
};

it("renews a guarded claim while this thread is blocked, until it is told to stop", { timeout: 60_000 }, async () => {
  const path = folder.path("tasks.db");
  const store = await openSqliteStore({ path });
  const log = await createLog(store);
  const leaseMs = 300;
  const { fence } = await claimLog(store, log, { leaseMs });
  const stop = store.guard?.({ taskId: log.taskId, fence, leaseMs });
  if (stop === undefined) throw new Error("this store guards no claims");
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  const leaseUntil = (): number => Number(database.prepare("SELECT leaseUntil FROM tasks").get()?.["leaseUntil"]);
  const first = leaseUntil();
  block(() => leaseUntil() > first + leaseMs);
  expect(await store.claim(claiming({ worker: "w2" }))).toBeNull();
  stop();
  await store.close();
  const last = leaseUntil();
  database.close();
  const again = await openSqliteStore({ path });
  block(() => Number(process.hrtime.bigint() / 1_000_000n) > last);
  expect(await again.claim(claiming({ worker: "w2" }))).toMatchObject({ taskId: log.taskId, attempts: 2 });
  await again.close();
});

it("guards nothing by a clock that a thread cannot see", async () => {
  const store = await openSqliteStore({ path: folder.path("tasks.db"), clock: manualClock(1) });
  expect(store.guard).toBeUndefined();
  await store.close();
});
