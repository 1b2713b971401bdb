// The same as stops.test.ts, for long: what docs/reliability.md tells. `ROUNDS=n` sets how many.
import { expect, it } from "vitest";
import { runStops } from "../kills/stop-series.ts";
import { createDatabase } from "./database.ts";
import { startServer } from "./server.ts";

const rounds = Number(process.env["ROUNDS"] ?? 200);

it("200 workers that stand still past their lease append nothing and start nothing afterwards", async () => {
  const server = await startServer({ quick: false });
  try {
    const { url } = await createDatabase(server.url);
    const { faults, figures } = await runStops(rounds, url);
    console.log(`on Postgres, stood still past the lease: ${JSON.stringify(figures)}`);
    expect(faults).toEqual([]);
    expect(figures).toMatchObject({ appended: 0, started: 0, effects: 0, said: rounds, lost: 0, doubled: 0 });
    expect(figures.refused).toBeGreaterThan(0);
  } finally {
    await server.stop();
  }
});
