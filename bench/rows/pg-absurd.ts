// absurd beside ours on one Postgres server. Its schema is in no package of npm: ABSURD_SCHEMA names the file `sql/absurd.sql`
// of its repository, and without that the row is left out.
import { withPostgres } from "../postgres/server.ts";
import { versionOf } from "../rivals/rival.ts";
import type { Row } from "../row.ts";
import { measureBesideDurable, onPostgres } from "./beside-durable.ts";

export const pgAbsurd: Row = {
  name: "pg-absurd",
  measure: async (bench) => {
    if (process.env["ABSURD_SCHEMA"] === undefined) {
      bench.progress("pg-absurd: left out. Name its schema: ABSURD_SCHEMA=<sql/absurd.sql of absurd's repository>");
      return { floors: [], results: [] };
    }
    return withPostgres(bench, (server) => {
      const rival = {
        row: "pg-absurd",
        folder: "absurd",
        title: "absurd",
        version: versionOf("absurd", "absurd-sdk"),
        task: "task",
        place: () => server.database(),
        bars: { small: true, times: false },
      };
      return measureBesideDurable(bench, rival, onPostgres(server));
    });
  },
};
