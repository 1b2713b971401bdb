// What check finds when a database is not what the store made of it.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { appendTo, claimLog, createLog, randomSecret, temporaryFolder, told } from "../../../test/sqlite/log-writer.ts";
import type { Store } from "../store.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await openSqliteStore({ path: folder.path("tasks.db") });
  const log = await createLog(store, "task-1");
  const item = { type: "Say", text: "hello" } as const;
  for (const key of ["a", "b"]) await store.post({ taskId: "task-1", by: "local:root", key, item });
  const rows = [{ table: "timers", key: "t", set: { dueAt: 9e12, callId: null, seq: 1 } }] as const;
  await appendTo(store, log, await claimLog(store, log), [told("a"), told("b")], { taken: 1, rows });
  await store.putFile({ taskId: "task-1", name: "f", mediaType: "t", bytes: new Uint8Array(600_000) });
  await store.redact({ taskId: "task-1", seqs: [2], secret: randomSecret() });
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

it("finds nothing wrong with what the store wrote", async () => {
  expect(await store.check()).toEqual([]);
});

const changes: readonly (readonly [string, RegExp])[] = [
  ["DELETE FROM events WHERE seq = 3", /its events end at 2/],
  ["DELETE FROM events WHERE seq = 1", /has 2 events of 3/],
  ["UPDATE tasks SET lastSeq = 4", /its row ends the log at 4/],
  ["DELETE FROM redactions", /counts 1 redactions of 0/],
  ["DELETE FROM inbox WHERE seq = 2", /its items end at 1/],
  ["UPDATE inbox SET body = NULL WHERE seq = 2", /item 2 is untaken, but blank/],
  ["UPDATE inbox SET body = x'7b7d' WHERE seq = 1", /item 1 was taken, but holds content/],
  ["DELETE FROM secrets", /lost its secret/],
  ["UPDATE tasks SET nextTimerAt = NULL", /its next timer is at 9000000000000, its row says none/],
  ["UPDATE tasks SET leaseUntil = NULL", /no worker would find it/],
  ["DELETE FROM chunks WHERE n = 1", /its file f is not whole/],
];

it.each(changes)("finds that task 1 is not whole after %s", async (sql, what) => {
  const database = new DatabaseSync(folder.path("tasks.db"));
  database.exec(sql);
  database.close();
  const findings = await store.check();
  expect(findings).toContainEqual({ taskId: "task-1", seq: null, what: expect.stringMatching(what) });
});

it("finds rows whose task is gone, and an event of a type that nobody named", async () => {
  const database = new DatabaseSync(folder.path("tasks.db"), { enableForeignKeyConstraints: false });
  database.exec("UPDATE events SET type = 77 WHERE seq = 3; DELETE FROM tasks");
  database.close();
  const found = (await store.check()).map((finding) => finding.what).join("\n");
  expect(found).toMatch(/of events belongs to no row of types/);
  expect(found).toMatch(/of inbox belongs to no row of tasks/);
});
