// A process that is killed between the statements of a change leaves all of it or nothing, and a database that goes on.
// Here at some statements, others each time; transactions.long.ts does it at each.
import { describe, expect, it } from "vitest";
import { jobs, type JobName } from "./transaction-jobs.ts";
import { sweepJob, sweepMaking, toldOf } from "./transactions.ts";

describe("killed between its statements", () => {
  it.each(Object.keys(jobs) as JobName[])("of a transaction, it leaves all or nothing: %s", async (name) => {
    const sweep = await sweepJob(name, { stride: 5 });
    console.log(toldOf(name, sweep));
    expect(sweep.faults).toEqual([]);
    expect(sweep.nothing).toBeGreaterThan(0);
    expect(sweep.all).toBeGreaterThan(0);
  });

  it("case-40: while it makes the schema, it leaves a database that the next finishes, the same as any other", async () => {
    const sweep = await sweepMaking({ stride: 8 });
    console.log(toldOf("making", sweep));
    expect(sweep.faults).toEqual([]);
    expect(sweep.nothing).toBeGreaterThan(0);
    expect(sweep.all).toBeGreaterThan(0);
  });
});
