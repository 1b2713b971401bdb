// Workers on one database file, killed again and again.
import { expect, it } from "vitest";
import { runKillLoop, toldOf } from "./kill-loop.ts";

it("three workers on one file that are killed 40 times lose nothing and do nothing twice", async () => {
  const result = await runKillLoop({ kills: 40, seed: Date.now() % 2 ** 32 });
  console.log(toldOf(result));
  expect(result.faults).toEqual([]);
  expect(result).toMatchObject({ kills: 40, figures: { lost: 0, doubled: 0 } });
  expect(result.takeovers).toBeGreaterThan(0);
  expect(result.figures.ended).toBe(result.figures.tasks);
});
