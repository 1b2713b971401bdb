// From a post to the first event of an idle worker on Postgres, in this process and in another, beside the same by hand.
import { BenchProcess } from "../child-process.ts";
import { HandWritten } from "../postgres/hand-written.ts";
import { withPostgres } from "../postgres/server.ts";
import type { Row } from "../row.ts";
import { elsewhere, here, measureBeside, millisecondsBetween, type Party } from "./wake.ts";

const byHandHere = async (url: string): Promise<Party> => {
  const [poster, worker] = [await HandWritten.make(url), await HandWritten.open(url)];
  return {
    sample: async () => {
      const before = performance.now();
      await poster.post("Go on.");
      if (!(await worker.claimAndAppend())) throw new Error("the hand-written worker found nothing");
      return performance.now() - before;
    },
    close: async () => {
      await poster.close();
      await worker.close();
    },
  };
};

const byHandElsewhere = async (url: string): Promise<Party> => {
  const poster = await HandWritten.make(url);
  const worker = new BenchProcess("hand-written-postgres.ts", url);
  await worker.next("ready");
  return {
    sample: async () => {
      const before = process.hrtime.bigint();
      await poster.post("Go on.");
      await poster.notify();
      return millisecondsBetween(before, BigInt(await worker.next("took")));
    },
    close: async () => {
      await worker.close();
      await poster.close();
    },
  };
};

export const pgWake: Row = {
  name: "pg-wake",
  measure: (bench) =>
    withPostgres(bench, async (server) => {
      bench.progress("pg-wake: in this process");
      const [ours, byHand] = [await here(await server.database()), await byHandHere(await server.database())];
      const inside = await measureBeside("Postgres, this process", ours, byHand);
      await ours.close();
      await byHand.close();
      bench.progress("pg-wake: in another process");
      const other = await elsewhere(await server.database());
      const byHandOther = await byHandElsewhere(await server.database());
      const outside = await measureBeside("Postgres, another process", other, byHandOther);
      await other.close();
      await byHandOther.close();
      return { floors: [...inside.floors, ...outside.floors], results: [...inside.results, ...outside.results] };
    }),
};
