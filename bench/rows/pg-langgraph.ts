// LangGraph on Postgres beside one task of ours: the same loop, the same server.
import { figureOf, ratios } from "../figures.ts";
import { withPostgres } from "../postgres/server.ts";
import { prepareRival } from "../rivals/rival.ts";
import { atLeast, type Row } from "../row.ts";
import { runLoop } from "../steady-loop.ts";
import { openStoreAt } from "../stores.ts";

const ROUNDS = 3;
const STEPS = 300;
const STEPS_PER_CYCLE = 2;
const OUTPUT_CHARS = 500;
const KINDS = [
  ["whole", "the message list whole"],
  ["delta", "its experimental changes of messages"],
] as const;

export const pgLanggraph: Row = {
  name: "pg-langgraph",
  measure: (bench) =>
    withPostgres(bench, async (server) => {
      bench.progress("pg-langgraph: installing it, where it is not yet");
      const runRival = await prepareRival("langgraph-postgres");
      const store = await openStoreAt(await server.database());
      await runLoop(store, { cycles: STEPS });
      const mine: number[] = [];
      const theirs = { whole: [] as number[], delta: [] as number[] };
      for (let round = 1; round <= ROUNDS; round += 1) {
        bench.progress(`pg-langgraph: round ${String(round)} of ${String(ROUNDS)}`);
        for (const [kind] of KINDS) {
          const told = await runRival(await server.database(), String(STEPS), String(OUTPUT_CHARS), kind);
          theirs[kind].push((told as { stepsPerSecond: number }).stepsPerSecond);
        }
        const before = performance.now();
        await runLoop(store, { cycles: STEPS / STEPS_PER_CYCLE, outputChars: OUTPUT_CHARS });
        mine.push(STEPS / ((performance.now() - before) / 1_000));
      }
      await store.close();
      return {
        floors: KINDS.map(([kind, what]) => ({
          what: `LangGraph 1.7.3 on Postgres, ${String(STEPS)} steps, ${what}`,
          unit: "steps/s",
          figure: figureOf(theirs[kind]),
        })),
        results: KINDS.map(([kind, what]) => ({
          what: `Postgres, one task, ${String(STEPS)} steps, from its creation on`,
          unit: "steps/s",
          figure: figureOf(mine),
          ratio: { of: `LangGraph, ${what}`, figure: figureOf(ratios(mine, theirs[kind])) },
          bar: atLeast(1),
        })),
      };
    }),
};
