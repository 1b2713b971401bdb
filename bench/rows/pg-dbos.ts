// DBOS beside ours on one Postgres server: steps of one workflow, and small workflows of two steps against our small tasks.
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { figureOf, ratios } from "../figures.ts";
import { withPostgres, type PostgresServer } from "../postgres/server.ts";
import { prepareRival } from "../rivals/rival.ts";
import { atLeast, atMost, type Bench, type Measured, type Row } from "../row.ts";
import { openSmallTasks } from "../small-tasks.ts";
import { runLoop } from "../steady-loop.ts";
import { besideOther, CONNECTIONS, IN_FLIGHT, roundOf, SAMPLES, TASKS, type Small } from "./pg-small.ts";

const ROUNDS = 3;
const STEPS = 400;
const STEPS_PER_CYCLE = 2;

interface Round extends Small {
  readonly stepsPerSecond: number;
}

const measure = async (bench: Bench, server: PostgresServer) => {
  bench.progress("pg-dbos: installing it, where it is not yet");
  const runRival = await prepareRival("dbos");
  const [theirUrl, url] = [await server.database(), await server.database()];
  const store = await openPostgresStore({ url, max: CONNECTIONS });
  const ours = await openSmallTasks(store, { concurrency: IN_FLIGHT });
  const loops = await openPostgresStore({ url: await server.database() });
  await roundOf(ours.one);
  const [mine, theirs]: [Round[], Round[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    bench.progress(`pg-dbos: round ${String(round)} of ${String(ROUNDS)}`);
    const sizes = [STEPS, SAMPLES, TASKS, IN_FLIGHT].map(String);
    theirs.push((await runRival(theirUrl, ...sizes)) as Round);
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

const tableOf = ({ mine, theirs }: Awaited<ReturnType<typeof measure>>): Measured => {
  const of = "DBOS";
  const { rate, times } = besideOther(mine, theirs, of);
  const steps = (rounds: readonly Round[]) => rounds.map(({ stepsPerSecond }) => stepsPerSecond);
  return {
    floors: [
      { what: `DBOS 5.3.0, one workflow of ${String(STEPS)} steps`, unit: "steps/s", figure: figureOf(steps(theirs)) },
      { what: `DBOS, two-step workflows, ${String(IN_FLIGHT)} in flight`, unit: "tasks/s", figure: rate.other },
      ...times.map(({ name, other }) => ({ what: `DBOS, two-step workflow, ${name}`, unit: "ms", figure: other })),
    ],
    results: [
      {
        what: `Postgres, one task, ${String(STEPS)} steps, from its creation on`,
        unit: "steps/s",
        figure: figureOf(steps(mine)),
        ratio: { of, figure: figureOf(ratios(steps(mine), steps(theirs))) },
        bar: atLeast(1),
      },
      {
        what: `Postgres, small tasks beside it, ${String(IN_FLIGHT)} in flight`,
        unit: "tasks/s",
        figure: rate.own,
        ratio: rate.ratio,
        bar: atLeast(1),
      },
      ...times.map(({ name, own, ratio }) => ({
        what: `Postgres, small task beside it, start to answer, ${name}`,
        unit: "ms",
        figure: own,
        ratio,
        bar: atMost(1),
      })),
    ],
  };
};

export const pgDbos: Row = {
  name: "pg-dbos",
  measure: (bench) => withPostgres(bench, async (server) => tableOf(await measure(bench, server))),
};
