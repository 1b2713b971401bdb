// From the SIGKILL of a worker to another worker making its model call, on Postgres.
import { withPostgres } from "../postgres/server.ts";
import type { Row } from "../row.ts";
import { measureTakeover } from "./takeover.ts";

export const pgTakeover: Row = {
  name: "pg-takeover",
  measure: (bench) =>
    withPostgres(bench, async (server) => {
      bench.progress("pg-takeover: workers are killed");
      return measureTakeover(() => server.database(), ", Postgres");
    }),
};
