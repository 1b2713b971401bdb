// What an ended task leaves in its row.
import { expect, test } from "vitest";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { createDatabase } from "./database.ts";
import { appending, claimTask, createTask } from "./tasks.ts";

test("an ended task keeps no lease, which would lapse and cost a later claim a write", async () => {
  await using database = await createDatabase();
  const store = await openPostgresStore({ url: database.url });
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  const leases = () => database.query("SELECT lease_until IS NULL AS over FROM perdure.tasks");
  expect(await leases()).toEqual([{ over: false }]);
  const log = { seq: claim.lastSeq, chain: claim.chain };
  await store.append(appending(claim, log, [{ type: "TaskEnded", outcome: "done" }]));
  expect(await leases()).toEqual([{ over: true }]);
  await store.close();
});
