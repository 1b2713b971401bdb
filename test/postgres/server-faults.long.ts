// The same as server-faults.test.ts, for long: what docs/reliability.md tells. `TIMES=n` sets how often each is done.
import { expect, it } from "vitest";
import { createDatabase } from "./database.ts";
import { toldOf } from "./disturbances.ts";
import { runClocks, runRestarts, runTerminations } from "./server-faults.ts";
import { startServer } from "./server.ts";

const times = Number(process.env["TIMES"] ?? 100);

it.each([
  ["immediate stops", runRestarts],
  ["rounds of terminated backends", (_: unknown, url: string) => runTerminations(url, times)],
  ["clocks set an hour off", (_: unknown, url: string) => runClocks(url, times)],
] as const)("workers that meet 100 %s lose nothing and do nothing twice", async (what, run) => {
  const server = await startServer({ quick: false });
  try {
    const { url } = await createDatabase(server.url);
    const result = await run(server, url, times);
    console.log(toldOf(`${String(times)} ${what}`, result));
    expect(result.faults).toEqual([]);
    expect(result.figures).toMatchObject({ lost: 0, doubled: 0, ended: result.figures.tasks });
  } finally {
    await server.stop();
  }
});
