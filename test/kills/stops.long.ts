// The same as stops.test.ts, for long: 50 workers that stand still past their lease, at any moment.
import { expect, it } from "vitest";
import { runStops } from "./stop-series.ts";

const ROUNDS = 50;

it("50 workers that stand still past their lease append nothing and start nothing afterwards", async () => {
  const { faults, figures } = await runStops(ROUNDS);
  console.log(`stood still past the lease: ${JSON.stringify(figures)}`);
  expect(faults).toEqual([]);
  expect(figures).toMatchObject({ appended: 0, started: 0, effects: 0, said: ROUNDS, lost: 0, doubled: 0 });
  expect(figures.refused).toBeGreaterThan(0);
});
