// Restate, a server of its own with a folder of its own, beside ours: on SQLite, which keeps a folder too, and on Postgres.
import { withPostgres } from "../postgres/server.ts";
import { versionOf } from "../rivals/rival.ts";
import type { Row } from "../row.ts";
import { openStore } from "../sqlite-files.ts";
import { measureBesideDurable, onPostgres, type DurableRival } from "./beside-durable.ts";

export const restate: Row = {
  name: "restate",
  measure: (bench) => {
    const rival: DurableRival = {
      row: "restate",
      folder: "restate",
      title: "Restate",
      version: versionOf("restate", "@restatedev/restate-server"),
      task: "invocation",
      place: () => bench.folder(),
      bars: { small: false, times: false },
    };
    return withPostgres(bench, async (server) => {
      const besideFile = await measureBesideDurable(bench, rival, {
        name: "SQLite",
        open: () => openStore(bench.folder()),
      });
      const besideServer = await measureBesideDurable(bench, rival, onPostgres(server));
      return {
        floors: [...besideFile.floors, ...besideServer.floors],
        results: [...besideFile.results, ...besideServer.results],
      };
    });
  },
};
