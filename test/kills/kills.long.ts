// The same as kills.test.ts, for long: what docs/reliability.md tells.
import { expect, it } from "vitest";
import { runKillLoop, toldOf } from "./kill-loop.ts";

it("three workers on one file that are killed 1,000 times lose nothing and do nothing twice", async () => {
  const result = await runKillLoop({ kills: 1_000, seed: Date.now() % 2 ** 32 });
  console.log(toldOf(result));
  expect(result.faults).toEqual([]);
  expect(result).toMatchObject({ kills: 1_000, figures: { lost: 0, doubled: 0 } });
  // Every point was met, and every way that an interrupted call goes on.
  for (const [point, times] of Object.entries(result.byPoint)) expect(times, point).toBeGreaterThan(0);
  const { rerun, redispatched, verified, attested, skipped, ended, tasks } = result.figures;
  for (const times of [rerun, redispatched, verified, attested, skipped]) expect(times).toBeGreaterThan(0);
  expect(ended).toBe(tasks);
});
