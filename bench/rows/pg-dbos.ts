// DBOS beside ours on one Postgres server: steps of one workflow, and workflows of two steps against our small tasks.
import { withPostgres } from "../postgres/server.ts";
import { versionOf } from "../rivals/rival.ts";
import type { Row } from "../row.ts";
import { measureBesideDurable, onPostgres } from "./beside-durable.ts";

export const pgDbos: Row = {
  name: "pg-dbos",
  measure: (bench) =>
    withPostgres(bench, async (server) => {
      const url = await server.database();
      const rival = {
        row: "pg-dbos",
        folder: "dbos",
        title: "DBOS",
        version: versionOf("dbos", "@dbos-inc/dbos-sdk"),
        task: "workflow",
        place: () => url,
        bars: { small: true, times: true },
      };
      return measureBesideDurable(bench, rival, onPostgres(server));
    }),
};
