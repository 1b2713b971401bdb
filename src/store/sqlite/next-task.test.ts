// What the choice of the next task costs: index look-ups alone, whatever else stands in the file.
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { migrate } from "./migrate.ts";
import { LEASED, NEXT_OWNER, READY_BY_AGE, READY_OF_OWNER } from "./next-task.ts";

it.each([
  ["the oldest that are ready", READY_BY_AGE, "tasksReady (lane=? AND priority=? AND readyAt>? AND readyAt<?)"],
  ["the next principal", NEXT_OWNER, "tasksReadyByOwner (lane=? AND priority=? AND owner>?)"],
  [
    "a principal's oldest",
    READY_OF_OWNER,
    "tasksReadyByOwner (lane=? AND priority=? AND owner=? AND readyAt>? AND readyAt<?)",
  ],
])("finds %s in an index alone, without sorting", (_, sql, index) => {
  const database = new DatabaseSync(":memory:");
  migrate("memory", database);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
  const [first, ...rest] = plan.map(({ detail }) => detail);
  expect(first).toBe(`SEARCH tasks USING COVERING INDEX ${index}`);
  expect(rest.filter((detail) => /SCAN|TEMP B-TREE/.test(detail.replace("SCALAR SUBQUERY", "")))).toEqual([]);
});

it("counts leases in the index of those that run alone", () => {
  const database = new DatabaseSync(":memory:");
  migrate("memory", database);
  const [first] = database.prepare(`EXPLAIN QUERY PLAN ${LEASED}`).all() as { detail: string }[];
  expect(first?.detail).toBe("SEARCH tasks USING COVERING INDEX tasksLeased (leaseUntil>?)");
});
