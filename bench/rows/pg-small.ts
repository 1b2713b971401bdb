// Small tasks on Postgres: how many a second with 50 in flight, and how long one takes from start to answer.
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { AppendParams } from "../../src/store/store.ts";
import { figureOf, percentile, ratios, timed } from "../figures.ts";
import { openSmallByHand } from "../postgres/small-by-hand.ts";
import { withPostgres, type PostgresServer } from "../postgres/server.ts";
import type { Bench, Measured, Row } from "../row.ts";
import { openSmallTasks, perSecond } from "../small-tasks.ts";

const ROUNDS = 5;
export const IN_FLIGHT = 50;
export const TASKS = 400;
export const SAMPLES = 150;
/** As many as DBOS is given. */
export const CONNECTIONS = 20;

const SHARES = [
  ["p50", 0.5],
  ["p99", 0.99],
] as const;

/** One round: small tasks a second, and times of one at a time (ms). */
export interface Small {
  readonly perSecond: number;
  readonly times: readonly number[];
}

type One = () => Promise<void>;

export const roundOf = async (one: One): Promise<Small> => {
  const times: number[] = [];
  for (let index = 0; index < SAMPLES; index += 1) times.push(await timed(one));
  return { perSecond: await perSecond(one, TASKS, IN_FLIGHT), times };
};

const measure = async (bench: Bench, server: PostgresServer) => {
  const url = await server.database();
  const store = await openPostgresStore({ url, max: CONNECTIONS });
  const appends: AppendParams[] = [];
  let hears = true;
  const onAppend = (params: AppendParams): void => {
    if (hears) appends.push(params);
  };
  const ours = await openSmallTasks(store, { concurrency: IN_FLIGHT, onAppend });
  await ours.one();
  hears = false;
  const byHand = await openSmallByHand(await server.database(), appends, CONNECTIONS);
  const commits = appends.length;
  const [mine, floors]: [Small[], Small[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round += 1) {
    bench.progress(`pg-small: round ${String(round)} of ${String(ROUNDS)}`);
    const [floor, own] = [await roundOf(byHand.one), await roundOf(ours.one)];
    // The first round warms up.
    if (round === 0) continue;
    floors.push(floor);
    mine.push(own);
  }
  await ours.close();
  await byHand.close();
  await store.close();
  return { mine, floors, commits };
};

/** Rates and times of `mine` beside those of another. */
export const besideOther = (mine: readonly Small[], other: readonly Small[], of: string) => {
  const rates = (rounds: readonly Small[]) => rounds.map((each) => each.perSecond);
  const at = (rounds: readonly Small[], share: number) => rounds.map(({ times }) => percentile(times, share));
  return {
    rate: {
      own: figureOf(rates(mine)),
      other: figureOf(rates(other)),
      ratio: { of, figure: figureOf(ratios(rates(mine), rates(other))) },
    },
    times: SHARES.map(([name, share]) => ({
      name,
      own: figureOf(at(mine, share)),
      other: figureOf(at(other, share)),
      ratio: { of, figure: figureOf(ratios(at(mine, share), at(other, share))) },
    })),
  };
};

const tableOf = ({ mine, floors, commits }: Awaited<ReturnType<typeof measure>>): Measured => {
  const { rate, times } = besideOther(mine, floors, "by hand");
  const byHand = `small task by hand on Postgres`;
  return {
    floors: [
      { what: `${byHand}, ${String(IN_FLIGHT)} in flight`, unit: "tasks/s", figure: rate.other },
      ...times.map(({ name, other }) => ({ what: `${byHand}, start to answer, ${name}`, unit: "ms", figure: other })),
    ],
    results: [
      {
        what: `Postgres, small tasks, ${String(IN_FLIGHT)} in flight`,
        unit: "tasks/s",
        figure: rate.own,
        ratio: rate.ratio,
        note: `created, two model calls, one tool call, ended: ${String(commits)} appends beside the creation and the claim.`,
      },
      ...times.map(({ name, own, ratio }) => ({
        what: `Postgres, small task, start to answer, ${name}`,
        unit: "ms",
        figure: own,
        ratio,
      })),
    ],
  };
};

export const pgSmall: Row = {
  name: "pg-small",
  measure: (bench) => withPostgres(bench, async (server) => tableOf(await measure(bench, server))),
};
