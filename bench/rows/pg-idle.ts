// What a worker costs while 10,000 tasks are parked on Postgres: its own processor time and that of its connections.
import { readFileSync } from "node:fs";
import { figureOf } from "../figures.ts";
import { withClient, withPostgres } from "../postgres/server.ts";
import { atMost, type Row } from "../row.ts";
import { idleBeside, parkTasks } from "./idle.ts";

const MANY = 10_000;
const FEW = 10;

/** Of the worker's connections: how many, and their processor time since they began (ms). */
interface Backends {
  readonly count: number;
  readonly usedMs: number;
  readonly aliveMs: number;
}

const OWN = `SELECT pid, extract(epoch FROM clock_timestamp() - backend_start)::float8 * 1000 AS alive
  FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'perdure%'`;

const backendsOf = (url: string): Promise<Backends> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number; alive: number }>(OWN);
    const used = rows.map(({ pid }) => Number(readFileSync(`/proc/${String(pid)}/schedstat`, "utf8").split(" ")[0]));
    return {
      count: rows.length,
      usedMs: used.reduce((sum, one) => sum + one, 0) / 1_000_000,
      aliveMs: Math.max(...rows.map(({ alive }) => alive)),
    };
  });

export const pgIdle: Row = {
  name: "pg-idle",
  measure: (bench) =>
    withPostgres(bench, async (server) => {
      bench.progress(`pg-idle: parking ${String(MANY)} tasks`);
      const many = await parkTasks(await server.database(), MANY);
      const few = await parkTasks(await server.database(), FEW);
      await withClient(many, (client) => client.query("VACUUM ANALYZE"));
      bench.progress("pg-idle: watching idle workers for ten seconds");
      const ofMany = await idleBeside(many, () => backendsOf(many));
      const ofFew = await idleBeside(few, () => backendsOf(few));
      const percent = (share: number) => figureOf([share * 100]);
      const server10k = ofMany.seen.usedMs / ofMany.seen.aliveMs;
      return {
        floors: [],
        results: [
          {
            what: `Postgres, an idle worker, ${String(FEW)} parked tasks`,
            unit: "% of a core",
            figure: percent(ofFew.share),
          },
          {
            what: `Postgres, an idle worker, ${MANY.toLocaleString("en")} parked tasks`,
            unit: "% of a core",
            figure: percent(ofMany.share),
            bar: atMost(1, "%"),
          },
          {
            what: "its connections' processor time in the server",
            unit: "% of a core",
            figure: percent(server10k),
            note: "since they were opened, so with what they did at first.",
          },
          {
            what: "connections that it has open",
            unit: "connections",
            figure: figureOf([ofMany.seen.count]),
            ratio: { of: `those with ${String(FEW)}`, figure: figureOf([ofMany.seen.count / ofFew.seen.count]) },
            bar: atMost(1),
          },
        ],
      };
    }),
};
