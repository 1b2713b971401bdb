// The same as kills.test.ts, for long, on a server that waits for its disk: what docs/reliability.md tells. `KILLS=n` sets
// how many.
import { expect, it } from "vitest";
import { runKillLoop, toldOf } from "../kills/kill-loop.ts";
import { createDatabase } from "./database.ts";
import { startServer } from "./server.ts";

const kills = Number(process.env["KILLS"] ?? 1_000);

it("eight workers on one Postgres that are killed 1,000 times lose nothing and do nothing twice", async () => {
  const server = await startServer({ quick: false });
  try {
    const { url } = await createDatabase(server.url);
    const result = await runKillLoop({ kills, seed: Date.now() % 2 ** 32, url, processes: 8, tasks: 12 });
    console.log(`on Postgres: ${toldOf(result)}`);
    expect(result.faults).toEqual([]);
    expect(result).toMatchObject({ kills, figures: { lost: 0, doubled: 0 } });
    expect(result.takeovers).toBeGreaterThan(0);
    expect(result.figures.ended).toBe(result.figures.tasks);
  } finally {
    await server.stop();
  }
});
