// Workers on a server that dies and comes back, that ends their connections, that lends them one each; and clocks that are
// an hour off.
import { expect, it } from "vitest";
import { createDatabase } from "./database.ts";
import { toldOf, type DisturbedResult } from "./disturbances.ts";
import { runClocks, runRestarts, runShortPools, runTerminations } from "./server-faults.ts";
import { startServer } from "./server.ts";

const expectWhole = (what: string, result: DisturbedResult): void => {
  console.log(toldOf(what, result));
  expect(result.faults).toEqual([]);
  expect(result.figures).toMatchObject({ lost: 0, doubled: 0, ended: result.figures.tasks });
};

it("workers on a server that is stopped at once and started again lose nothing and do nothing twice", async () => {
  const server = await startServer({ quick: false });
  try {
    const { url } = await createDatabase(server.url);
    const result = await runRestarts(server, url, 4);
    expectWhole("4 immediate stops", result);
    expect(result.refused["unavailable"]).toBeGreaterThan(0);
  } finally {
    await server.stop();
  }
});

it("workers whose backends are terminated lose nothing and do nothing twice", async () => {
  await using database = await createDatabase();
  expectWhole("8 rounds of terminated backends", await runTerminations(database.url, 8));
});

it("workers whose wall clocks go an hour off lose no more than a claim, and the times in their logs never go back", async () => {
  await using database = await createDatabase();
  const result = await runClocks(database.url, 8);
  expectWhole("8 clocks set an hour off", result);
  // One that jumps while a renewal is under way gives its claim up, as if it had stood still: a takeover, and no harm. What
  // it had under way then is refused, and nothing else is, but for a Waiting that an item came before.
  const { not_owner: late = 0, inbox_moved: _, ...others } = result.refused as Readonly<Record<string, number>>;
  expect(others).toEqual({});
  expect(late).toBeLessThanOrEqual(result.takeovers);
  // The database's clock, and nobody else's.
  const [{ back, off } = {}] = await database.query(`SELECT count(*) FILTER (WHERE at < before)::integer AS back,
    count(*) FILTER (WHERE abs(at - perdure.clock_ms()) > 1800000)::integer AS off
    FROM (SELECT at, lag(at) OVER (PARTITION BY task ORDER BY seq) AS before FROM perdure.events) e`);
  expect({ back, off }).toEqual({ back: 0, off: 0 });
});

it("eight tasks of two workers with one connection each come to their ends, and nobody loses a claim", async () => {
  await using database = await createDatabase();
  const result = await runShortPools(database.url, 4);
  expectWhole("one connection for each worker", result);
  expect(result.takeovers).toBe(0);
});
