// Eight worker processes on one Postgres, killed again and again.
import { expect, it } from "vitest";
import { runKillLoop, toldOf } from "../kills/kill-loop.ts";
import { createDatabase } from "./database.ts";

it("eight workers on one Postgres that are killed again and again lose nothing and do nothing twice", async () => {
  await using database = await createDatabase();
  const { url } = database;
  const seed = Date.now() % 2 ** 32;
  const result = await runKillLoop({ kills: 30, seed, url, processes: 8, tasks: 12, withinMs: 25_000 });
  console.log(`on Postgres: ${toldOf(result)}`);
  expect(result.faults).toEqual([]);
  expect(result).toMatchObject({ figures: { lost: 0, doubled: 0 } });
  // A busy machine gets fewer done in the time.
  expect(result.kills).toBeGreaterThan(0);
  expect(result.figures.ended).toBe(result.figures.tasks);
});
