// The same as transactions.test.ts, at each statement, and at each call of the system that changes a file: in the middle
// of a commit, of copying the log of changes into the file, of cutting it.
import { expect, it } from "vitest";
import { jobs, type JobName } from "./transaction-jobs.ts";
import { sweepJob, sweepMaking, toldOf, whyNoTracing } from "./transactions.ts";

it.each(Object.keys(jobs) as JobName[])("killed before each statement, it leaves all or nothing: %s", async (name) => {
  const sweep = await sweepJob(name, { stride: 1 });
  console.log(toldOf(name, sweep));
  expect(sweep.faults).toEqual([]);
  expect(sweep.nothing).toBeGreaterThan(3);
  expect(sweep.all).toBeGreaterThan(0);
});

it.for(Object.keys(jobs) as JobName[])(
  "killed at each write to a file, it leaves all or nothing: %s",
  async (name, context) => {
    const why = whyNoTracing();
    context.skip(why !== null, why ?? "");
    const sweep = await sweepJob(name, "writes");
    console.log(toldOf(`${name}, at its writes`, sweep));
    expect(sweep.faults).toEqual([]);
    expect(sweep.nothing).toBeGreaterThan(0);
    expect(sweep.all).toBeGreaterThan(0);
  },
);

it.for(["statements", "writes"] as const)(
  "killed at each of its %s while it makes the schema, it leaves a database that the next finishes",
  async (places, context) => {
    const why = places === "writes" ? whyNoTracing() : null;
    context.skip(why !== null, why ?? "");
    const sweep = await sweepMaking(places === "writes" ? "writes" : { stride: 1 });
    console.log(toldOf(`making, at its ${places}`, sweep));
    expect(sweep.faults).toEqual([]);
    expect(sweep.nothing).toBeGreaterThan(0);
    expect(sweep.all).toBeGreaterThan(0);
  },
);
