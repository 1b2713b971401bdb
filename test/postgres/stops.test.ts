// Workers on one Postgres that stand still past their lease find that their claims are another's.
import { expect, it } from "vitest";
import { runStops } from "../kills/stop-series.ts";
import { createDatabase } from "./database.ts";

const ROUNDS = 5;

it("workers that stand still past their lease append nothing and start nothing afterwards", async () => {
  await using database = await createDatabase();
  const { faults, figures } = await runStops(ROUNDS, database.url);
  console.log(`on Postgres, stood still past the lease: ${JSON.stringify(figures)}`);
  expect(faults).toEqual([]);
  expect(figures).toMatchObject({ appended: 0, started: 0, effects: 0, said: ROUNDS, lost: 0, doubled: 0 });
});
