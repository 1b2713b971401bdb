// A durable rival beside ours, in turns: steps of one task, and small tasks.
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { Store } from "../../src/store/store.ts";
import { figureOf, ratios } from "../figures.ts";
import type { PostgresServer } from "../postgres/server.ts";
import { prepareRival } from "../rivals/rival.ts";
import { atLeast, atMost, type Bench, type Measured } from "../row.ts";
import { openSmallTasks } from "../small-tasks.ts";
import { runLoop } from "../steady-loop.ts";
import { besideOther, CONNECTIONS, IN_FLIGHT, roundOf, SAMPLES, TASKS, type Small } from "./pg-small.ts";

const ROUNDS = 3;
const STEPS = 1_000;
const STEPS_PER_CYCLE = 2;

export interface DurableRival {
  /** Of the row, and of the folder in `rivals`. */
  readonly row: string;
  readonly folder: string;
  readonly title: string;
  readonly version: string;
  /** What it calls a task of many steps. */
  readonly task: string;
  /** Where it keeps its own: a database of the server, or a folder. */
  readonly place: () => string | Promise<string>;
  /** Whether ours has to be the faster one in small tasks a second; and in the time of one. */
  readonly bars: { readonly small: boolean; readonly times: boolean };
}

/** What ours is kept in. */
export interface Ours {
  readonly name: string;
  /** A new, empty store. */
  open(): Promise<Store>;
}

export const onPostgres = (server: PostgresServer): Ours => ({
  name: "Postgres",
  open: async () => openPostgresStore({ url: await server.database(), max: CONNECTIONS }),
});

interface Round extends Small {
  readonly stepsPerSecond: number;
}

const measure = async (bench: Bench, rival: DurableRival, { name, open }: Ours) => {
  bench.progress(`${rival.row}: installing it, where it is not yet`);
  const runRival = await prepareRival(rival.folder);
  const [store, loops] = [await open(), await open()];
  const ours = await openSmallTasks(store, { concurrency: IN_FLIGHT });
  await roundOf(ours.one);
  await runLoop(loops, { cycles: STEPS / STEPS_PER_CYCLE / 4 });
  const [mine, theirs]: [Round[], Round[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    bench.progress(`${rival.row}: ours on ${name}, round ${String(round)} of ${String(ROUNDS)}`);
    const sizes = [STEPS, SAMPLES, TASKS, IN_FLIGHT].map(String);
    theirs.push((await runRival(await rival.place(), ...sizes)) as Round);
    const before = performance.now();
    await runLoop(loops, { cycles: STEPS / STEPS_PER_CYCLE });
    const stepsPerSecond = STEPS / ((performance.now() - before) / 1_000);
    mine.push({ stepsPerSecond, ...(await roundOf(ours.one)) });
  }
  await ours.close();
  await store.close();
  await loops.close();
  return { mine, theirs };
};

const tableOf = (
  { title, version, task, bars }: DurableRival,
  { name: where }: Ours,
  { mine, theirs }: Awaited<ReturnType<typeof measure>>,
): Measured => {
  const { rate, times } = besideOther(mine, theirs, title);
  const steps = (rounds: readonly Round[]) => rounds.map(({ stepsPerSecond }) => stepsPerSecond);
  const small = `${title} ${version}, ${task} of two steps`;
  return {
    floors: [
      {
        what: `${title} ${version}, one ${task} of ${String(STEPS)} steps`,
        unit: "steps/s",
        figure: figureOf(steps(theirs)),
      },
      { what: `${small}, ${String(IN_FLIGHT)} in flight`, unit: "tasks/s", figure: rate.other },
      ...times.map(({ name, other }) => ({ what: `${small}, one at a time, ${name}`, unit: "ms", figure: other })),
    ],
    results: [
      {
        what: `${where}, one task, ${String(STEPS)} steps, from its creation on`,
        unit: "steps/s",
        figure: figureOf(steps(mine)),
        ratio: { of: title, figure: figureOf(ratios(steps(mine), steps(theirs))) },
        bar: atLeast(1),
      },
      {
        what: `${where}, small tasks beside it, ${String(IN_FLIGHT)} in flight`,
        unit: "tasks/s",
        figure: rate.own,
        ratio: rate.ratio,
        ...(bars.small ? { bar: atLeast(1) } : {}),
      },
      ...times.map(({ name, own, ratio }) => ({
        what: `${where}, small task beside it, start to answer, ${name}`,
        unit: "ms",
        figure: own,
        ratio,
        ...(bars.times ? { bar: atMost(1) } : {}),
      })),
    ],
  };
};

/** Rounds of the rival and of ours, by turns. */
export const measureBesideDurable = async (bench: Bench, rival: DurableRival, ours: Ours): Promise<Measured> =>
  tableOf(rival, ours, await measure(bench, rival, ours));
