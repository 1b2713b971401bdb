// Claims of a long log on Postgres, as in the row `claim`.
import { createLoopingModel, prepareLoopingAgent } from "../looping-agent.ts";
import { openReader } from "../postgres/raw-reads.ts";
import { withPostgres } from "../postgres/server.ts";
import { createProgram } from "../program.ts";
import type { Row } from "../row.ts";
import { openStoreAt } from "../stores.ts";
import { measureClaims } from "./claim.ts";

export const pgClaim: Row = {
  name: "pg-claim",
  measure: (bench) =>
    withPostgres(bench, async (server) => {
      const url = await server.database();
      const store = await openStoreAt(url);
      const model = createLoopingModel({ isLast: () => true });
      const program = await createProgram({ store, agent: await prepareLoopingAgent({ outputChars: 500 }), model });
      const reader = await openReader(url);
      const { floors, results } = await measureClaims(program, reader, (message) => bench.progress(`pg-${message}`));
      await reader.close();
      await store.close();
      return {
        floors: floors.map((floor) => ({ ...floor, what: `Postgres, ${floor.what}` })),
        results: results.map((result) => ({ ...result, what: `Postgres, ${result.what}` })),
      };
    }),
};
