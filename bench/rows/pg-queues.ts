// Queues of jobs on one Postgres server, beside ours. A job is one function call and its completion; a small task of ours is
// a log of its own, two model calls and a tool call, each announced before it is made. So nothing here is held to a bar.
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { figureOf, percentile, ratios } from "../figures.ts";
import { withPostgres, type PostgresServer } from "../postgres/server.ts";
import { prepareRival, versionOf } from "../rivals/rival.ts";
import type { Bench, Measured, Row } from "../row.ts";
import { openSmallTasks, perSecond } from "../small-tasks.ts";
import { CONNECTIONS, IN_FLIGHT, TASKS, type Small } from "./pg-small.ts";
import { here } from "./wake.ts";

const ROUNDS = 3;
const SAMPLES = 200;
const JOBS = 1_000;
const QUEUES = ["graphile-worker", "pg-boss"] as const;
const SHARES = [
  ["p50", 0.5],
  ["p99", 0.99],
] as const;

interface Rounds {
  readonly mine: Small[];
  readonly theirs: Readonly<Record<(typeof QUEUES)[number], Small[]>>;
}

const measure = async (bench: Bench, server: PostgresServer): Promise<Rounds> => {
  bench.progress("pg-queues: installing them, where they are not yet");
  const [graphile, boss] = [await prepareRival(QUEUES[0]), await prepareRival(QUEUES[1])];
  const waking = await here(await server.database());
  const store = await openPostgresStore({ url: await server.database(), max: CONNECTIONS });
  const small = await openSmallTasks(store, { concurrency: IN_FLIGHT });
  const rounds: Rounds = { mine: [], theirs: { "graphile-worker": [], "pg-boss": [] } };
  const sizes = [SAMPLES, JOBS, IN_FLIGHT].map(String);
  for (let round = 0; round <= ROUNDS; round += 1) {
    bench.progress(`pg-queues: round ${String(round)} of ${String(ROUNDS)}`);
    const theirs = [await graphile(await server.database(), ...sizes), await boss(await server.database(), ...sizes)];
    const times: number[] = [];
    for (let index = 0; index < SAMPLES; index += 1) times.push(await waking.sample());
    const mine = { times, perSecond: await perSecond(small.one, TASKS, IN_FLIGHT) };
    // The first round warms up.
    if (round === 0) continue;
    rounds.mine.push(mine);
    for (const [index, name] of QUEUES.entries()) rounds.theirs[name].push(theirs[index] as Small);
  }
  await waking.close();
  await small.close();
  await store.close();
  return rounds;
};

const rates = (rounds: readonly Small[]) => rounds.map((each) => each.perSecond);
const at = (rounds: readonly Small[], share: number) => rounds.map(({ times }) => percentile(times, share));

const tableOf = ({ mine, theirs }: Rounds): Measured => ({
  floors: QUEUES.flatMap((name) => {
    const title = `${name} ${versionOf(name, name)}, jobs of one call`;
    return [
      { what: `${title}, ${String(IN_FLIGHT)} in flight`, unit: "jobs/s", figure: figureOf(rates(theirs[name])) },
      ...SHARES.map(([share, value]) => ({
        what: `${title}, added to run, ${share}`,
        unit: "ms",
        figure: figureOf(at(theirs[name], value)),
      })),
    ];
  }),
  results: QUEUES.flatMap((name) => [
    {
      what: `Postgres, small tasks (three steps), ${String(IN_FLIGHT)} in flight`,
      unit: "tasks/s",
      figure: figureOf(rates(mine)),
      ratio: { of: `jobs/s of ${name}`, figure: figureOf(ratios(rates(mine), rates(theirs[name]))) },
    },
    ...SHARES.map(([share, value]) => ({
      what: `Postgres, post to first event, this process, ${share}`,
      unit: "ms",
      figure: figureOf(at(mine, value)),
      ratio: { of: `${name}, added to run`, figure: figureOf(ratios(at(mine, value), at(theirs[name], value))) },
    })),
  ]),
});

export const pgQueues: Row = {
  name: "pg-queues",
  measure: (bench) => withPostgres(bench, async (server) => tableOf(await measure(bench, server))),
};
