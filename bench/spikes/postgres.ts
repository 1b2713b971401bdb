// Spike: does the store port fit Postgres? Races first, then figures. `npx node bench/spikes/postgres.ts`; about a minute.
import { measureCosts } from "./postgres/costs.ts";
import { measureChunks } from "./postgres/files.ts";
import { measureFormat, measurePointers, measureSealedAppends } from "./postgres/format.ts";
import { explainClaim, fillLog, fillTasks, measureAppends, measureReads, measureSmall } from "./postgres/measure.ts";
import { appendRaces } from "./postgres/append-races.ts";
import type { Arena } from "./postgres/arena.ts";
import { claimAll, otherRaces } from "./postgres/claim-races.ts";
import { measureRemains } from "./postgres/remains.ts";
import { startServer, type Server } from "./postgres/server.ts";
import { measureStored } from "./postgres/stored.ts";

const runRaces = async (server: Server): Promise<number> => {
  const connect = () => server.connect();
  const arena: Arena = {
    server,
    clients: [await connect(), await connect(), await connect(), await connect(), await connect()],
  };
  let failures = 0;
  const report = async (name: string, run: () => Promise<void>): Promise<void> => {
    try {
      await run();
      console.log(`holds   ${name}`);
    } catch (error) {
      failures += 1;
      console.log(`BROKEN  ${name}`, error);
    }
  };
  for (const way of ["statement", "function"] as const) {
    for (const [name, run] of appendRaces) await report(`${way}: ${name}`, () => run(arena, way));
  }
  for (const [name, run] of otherRaces) await report(name, () => run(arena, "function"));
  await report("eight connections claim 300 tasks: each once", () => claimAll(server, 300));
  for (const client of arena.clients) await client.end();
  return failures;
};

const round = (value: number): number => Number(value.toPrecision(3));
const table = (title: string, rows: readonly object[]): void => {
  console.log(`\n${title}`);
  const rounded = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, typeof value === "number" ? round(value) : (value as unknown)]),
    ),
  );
  console.table(rounded);
};

const LOG = "0123456789abcdefghjkmnpqrs";

const measure = async (server: Server): Promise<void> => {
  const client = await server.connect();
  await fillLog(client, LOG, 20_000);
  table("bytes per event, 20,000 events, task id of 26 characters", await measureStored(client, LOG));
  table("reading and parsing 20,000 events, ms", await measureReads(server, LOG, 5));
  table("cycles per second (two appends each)", [
    ...(await measureAppends(server, 1, 12)),
    ...(await measureAppends(server, 8, 6)),
  ]);
  table("small statements, ms", await measureSmall(server, 110));
  table("per event of about 600 bytes", measureCosts());
  table("the format, per event of a steady loop", await measureFormat());
  table("projections", measurePointers());
  table("a seal on SQLite", await measureSealedAppends());
  const chunks = await measureChunks(client);
  table("a file of 8 MiB in chunks, SQLite", chunks.sqlite);
  table("a file of 8 MiB in chunks, Postgres", chunks.postgres);
  table("files that hold the words of a redacted event", await measureRemains(server));
  await fillTasks(client);
  console.log("\na claim among 200,000 tasks\n" + (await explainClaim(client, ["agent:demo"])));
  console.log("\nthe same where none can be served here\n" + (await explainClaim(client, ["x"])));
  await client.end();
};

const server = await startServer();
try {
  await measure(server);
  process.exitCode = (await runRaces(server)) === 0 ? 0 : 1;
} finally {
  await server.stop();
}
process.exit();
