// What is done to a server, to its connections and to the clocks of its workers while they work: in small in
// server-faults.test.ts, for long in server-faults.long.ts.
import { withClient } from "./database.ts";
import { runDisturbed, type DisturbedResult } from "./disturbances.ts";
import type { Server } from "./server.ts";

const HOUR_MS = 3_600_000;

/** `pg_ctl stop -m immediate`, which is this signal to the server, and a start. The server waits for its disk. */
export const runRestarts = (server: Server, url: string, times: number): Promise<DisturbedResult> =>
  runDisturbed({
    ...{ url, times, workers: 3, tasks: 8, leaseMs: 3_000 },
    disturb: async () => {
      await server.kill();
      await server.start();
    },
  });

/** `pg_terminate_backend` of every second backend, drawn anew each time; those that listen too. */
export const runTerminations = (url: string, times: number): Promise<DisturbedResult> =>
  runDisturbed({
    ...{ url, times, workers: 3, tasks: 8, leaseMs: 3_000 },
    disturb: () =>
      withClient(url, async (client) => {
        const ours = "datname = current_database() AND pid <> pg_backend_pid()";
        await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ours} AND random() < 0.5`);
      }),
  });

/** The wall clock of one worker goes an hour ahead, an hour back, or right again. */
export const runClocks = (url: string, times: number): Promise<DisturbedResult> =>
  runDisturbed({
    ...{ url, times, workers: 3, tasks: 8, leaseMs: 5_000 },
    disturb: async ({ chance, workers }) => {
      const worker = workers[chance.below(workers.length)];
      const clockOffMs = (chance.below(3) - 1) * HOUR_MS;
      worker?.setClock(clockOffMs);
      await worker?.until((told) => told.clock === clockOffMs);
    },
  });

/** One connection for each worker, and four tasks at a time in each. */
export const runShortPools = (url: string, times: number): Promise<DisturbedResult> => {
  const short = new URL(url);
  short.searchParams.set("max", "1");
  return runDisturbed({
    ...{ url: short.href, times, workers: 2, tasks: 8, leaseMs: 60_000 },
    disturb: () => undefined,
  });
};
