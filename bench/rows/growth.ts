// What a cycle costs late in a task's life, against early. Snapshots are on, as they are by default.
import { figureOf, median, ratios } from "../figures.ts";
import { atMost, type Row } from "../row.ts";
import { openStore } from "../sqlite-files.ts";
import { costPerCycle, runLoop } from "../steady-loop.ts";

const ROUNDS = 3;
/** Short tasks beside each long one: a hundred cycles are over too soon to be measured once. */
const SHORT_TASKS = 8;
/** Wide enough that the snapshots that fall due around there are in it. */
const EARLY = { first: 50, last: 150 };
const LATE = { first: 4_500, last: 5_500 };
const MICROSECONDS = 1_000;

export const growth: Row = {
  name: "growth",
  async measure(bench) {
    const store = await openStore(bench.folder());
    const costOf = async ({ first, last }: typeof EARLY): Promise<number> =>
      costPerCycle(await runLoop(store, { cycles: last }), first, last) * MICROSECONDS;
    const early: number[] = [];
    const late: number[] = [];
    await costOf(EARLY);
    for (let round = 1; round <= ROUNDS; round += 1) {
      bench.progress(`growth: round ${String(round)} of ${String(ROUNDS)}`);
      const short: number[] = [];
      for (let index = 0; index < SHORT_TASKS / 2; index += 1) short.push(await costOf(EARLY));
      late.push(await costOf(LATE));
      for (let index = 0; index < SHORT_TASKS / 2; index += 1) short.push(await costOf(EARLY));
      early.push(median(short));
    }
    await store.close();
    return {
      floors: [],
      results: [
        { what: "cost of a cycle, around the 100th", unit: "µs", figure: figureOf(early) },
        {
          what: "cost of a cycle, around the 5,000th",
          unit: "µs",
          figure: figureOf(late),
          ratio: { of: "the 100th's", figure: figureOf(ratios(late, early)) },
          bar: atMost(1.2),
        },
      ],
    };
  },
};
