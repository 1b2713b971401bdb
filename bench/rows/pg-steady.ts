// The steady loop on Postgres, one task and eight, beside its own appends sent by hand; and on a disk that takes 1 ms more
// for each commit, as one in a cloud does.
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { figureOf, ratios } from "../figures.ts";
import { openByHand, recordLoop } from "../postgres/by-hand.ts";
import { withPostgres } from "../postgres/server.ts";
import { atLeast, type Bench, type Measured, type Row } from "../row.ts";
import { costPerCycle, runLoop, runTogether } from "../steady-loop.ts";

const ROUNDS = 7;
const APPENDS = 600;
const CYCLES = 600;
const WARM_UP = 50;
const TASKS = 8;
const COMMITS_PER_CYCLE = 2;
const STEPS_PER_CYCLE = 2;

interface Times {
  readonly floors: number[];
  readonly cycles: number[];
}

/** By hand before and after each of ours. */
const turn = async (times: Times, byHand: () => Promise<number>, ours: () => Promise<number>): Promise<void> => {
  const before = await byHand();
  const cycles = await ours();
  const after = await byHand();
  times.floors.push(2 / (1 / before + 1 / after));
  times.cycles.push(cycles);
};

const measure = async (bench: Bench, row: string, url: string): Promise<readonly [one: Times, eight: Times]> => {
  const store = await openPostgresStore({ url });
  const recorded = await recordLoop(store);
  const [hand1, hand8] = [await openByHand(url, store, recorded, 1), await openByHand(url, store, recorded, TASKS)];
  const one: Times = { floors: [], cycles: [] };
  const eight: Times = { floors: [], cycles: [] };
  const loopOne = async (): Promise<number> =>
    1_000 / costPerCycle(await runLoop(store, { cycles: CYCLES }), WARM_UP, CYCLES);
  for (let round = 0; round <= ROUNDS; round += 1) {
    bench.progress(`${row}: round ${String(round)} of ${String(ROUNDS)}`);
    await turn(one, () => hand1.run(APPENDS / 2), loopOne);
    await turn(
      eight,
      () => hand8.run(APPENDS / 4),
      () => runTogether(store, { tasks: TASKS, cycles: CYCLES / 3 }),
    );
    // The first round warms up.
    if (round === 0) for (const list of [one.floors, one.cycles, eight.floors, eight.cycles]) list.length = 0;
  }
  await hand1.close();
  await hand8.close();
  await store.close();
  return [one, eight];
};

const resultsOf = (where: string, [one, eight]: readonly [Times, Times]): Measured => {
  const ofHalf = ({ floors, cycles }: Times) => ({
    of: "appends/s by hand / 2",
    figure: figureOf(
      ratios(
        cycles,
        floors.map((perSecond) => perSecond / COMMITS_PER_CYCLE),
      ),
    ),
  });
  const parts = [
    ["one task", "1 connection", one],
    [`${String(TASKS)} tasks in total`, `${String(TASKS)} connections`, eight],
  ] as const;
  return {
    floors: parts.map(([, connections, { floors }]) => ({
      what: `its appends by hand, ${connections}${where}`,
      unit: "commits/s",
      figure: figureOf(floors),
    })),
    results: parts.flatMap(([what, , times]) => [
      {
        what: `Postgres, steady loop, ${what}${where}`,
        unit: "cycles/s",
        figure: figureOf(times.cycles),
        ratio: ofHalf(times),
        bar: atLeast(0.7),
        note: `${figureOf(times.cycles.map((each) => each * STEPS_PER_CYCLE)).median.toFixed(0)} steps/s.`,
      },
    ]),
  };
};

export const pgSteady: Row = {
  name: "pg-steady",
  measure: (bench) =>
    withPostgres(bench, async (server) => resultsOf("", await measure(bench, "pg-steady", await server.database()))),
};

/** What Postgres waits before each flush of its log (µs), however few commits are under way. */
const SLOW = ["commit_delay=1000", "commit_siblings=0"];

export const pgSteadyDelay: Row = {
  name: "pg-steady-1ms",
  measure: (bench) =>
    withPostgres(
      bench,
      async (server) =>
        resultsOf(", 1 ms more a commit", await measure(bench, "pg-steady-1ms", await server.database())),
      { settings: SLOW },
    ),
};
