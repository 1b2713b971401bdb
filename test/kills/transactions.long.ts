// The same as transactions.test.ts, at each statement, and for migrations at each question that SQLite asks.
import { expect, it } from "vitest";
import { jobs, type JobName } from "./transaction-jobs.ts";
import { sweepJob, sweepMaking, toldOf } from "./transactions.ts";

it.each(Object.keys(jobs) as JobName[])("killed before each statement, it leaves all or nothing: %s", async (name) => {
  const sweep = await sweepJob(name);
  console.log(toldOf(name, sweep));
  expect(sweep.faults).toEqual([]);
  expect(sweep.nothing).toBeGreaterThan(3);
  expect(sweep.all).toBeGreaterThan(0);
});

it("killed anywhere while it makes the schema, it leaves a database that the next finishes", async () => {
  const sweep = await sweepMaking(1, "every");
  console.log(toldOf("making", sweep));
  expect(sweep.faults).toEqual([]);
  expect(sweep.nothing).toBeGreaterThan(3);
  expect(sweep.all).toBeGreaterThan(0);
});
