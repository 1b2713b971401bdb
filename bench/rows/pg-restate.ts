// Restate, a server of its own on a folder of its own, beside ours on Postgres; both on this machine's disk.
import { withPostgres } from "../postgres/server.ts";
import { versionOf } from "../rivals/rival.ts";
import type { Row } from "../row.ts";
import { measureBesideDurable } from "./beside-durable.ts";

export const pgRestate: Row = {
  name: "pg-restate",
  measure: (bench) =>
    withPostgres(bench, (server) =>
      measureBesideDurable(bench, server, {
        row: "pg-restate",
        folder: "restate",
        title: "Restate",
        version: versionOf("restate", "@restatedev/restate-server"),
        task: "invocation",
        place: () => bench.folder(),
        bars: { small: false, times: false },
      }),
    ),
};
