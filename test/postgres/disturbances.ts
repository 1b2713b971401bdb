// Worker processes on one Postgres and a person who keeps tasks in flight, while something is done to the server, to its
// connections or to the workers, again and again. Nobody is killed here.
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { createChance, type Chance } from "../../src/testing/simulation/chance.ts";
import { noPoints, prepareCountingAgent } from "../kills/counting-agent.ts";
import { judgeAll, type Figures } from "../kills/judgement.ts";
import { Person } from "../kills/person.ts";
import { WorkerHandle, type Told } from "../kills/worker-handle.ts";
import { temporaryFolder } from "../sqlite/log-writer.ts";
import { patientStore } from "./patient-store.ts";

export interface DisturbedOptions {
  readonly url: string;
  readonly times: number;
  readonly workers: number;
  readonly tasks: number;
  readonly leaseMs: number;
  disturb(at: { readonly chance: Chance; readonly workers: readonly WorkerHandle[] }): Promise<void> | void;
}

export interface DisturbedResult {
  readonly faults: readonly string[];
  readonly figures: Figures;
  /** Claims of tasks that the holder before had not given back. */
  readonly takeovers: number;
  /** Appends that were refused, by code. */
  readonly refused: Readonly<Record<string, number>>;
}

/** Appends of all workers between two disturbances: work goes on in between. */
const APPENDS_BETWEEN = 25;

const appended = (workers: readonly WorkerHandle[]): number =>
  workers.reduce((sum, { told }) => sum + told.filter(({ append }) => append === "ok").length, 0);

/** Resolves once the workers have appended so often from now on. */
const untilAppended = async (workers: readonly WorkerHandle[], times: number): Promise<void> => {
  const until = appended(workers) + times;
  while (appended(workers) < until) {
    // The next word of any of them.
    await Promise.race(workers.map((worker) => worker.until((told) => told.append !== undefined, worker.told.length)));
  }
};

const countTold = (told: readonly Told[]): Pick<DisturbedResult, "takeovers" | "refused"> => {
  const refused: Record<string, number> = {};
  for (const { append } of told) {
    if (append !== undefined && append !== "ok") refused[append] = (refused[append] ?? 0) + 1;
  }
  return { takeovers: told.filter(({ claimed }) => (claimed?.attempts ?? 0) > 1).length, refused };
};

export const runDisturbed = async (options: DisturbedOptions): Promise<DisturbedResult> => {
  const { url, times, leaseMs, tasks, disturb } = options;
  using folder = temporaryFolder();
  const effects = folder.path("effects");
  const chance = createChance(Date.now() % 2 ** 32);
  const opened = await openPostgresStore({ url });
  const store = patientStore(opened);
  try {
    const person = new Person({ store, effects, chance, tasks, turns: 3 });
    const tending = person.tend();
    // Its failure is met below.
    tending.catch(() => undefined);
    const workers = Array.from(
      { length: options.workers },
      () => new WorkerHandle(folder.path("."), { leaseMs, url, limits: { storeRetryMs: 60_000 } }),
    );
    await Promise.all(workers.map((worker) => worker.until((told) => told.ready === true)));
    for (let done = 0; done < times; done += 1) {
      await Promise.race([untilAppended(workers, APPENDS_BETWEEN), tending]);
      await disturb({ chance, workers });
    }
    person.goHome();
    await tending;
    const exits = await Promise.all(workers.map((worker) => worker.stop()));
    const { reducers } = await prepareCountingAgent(effects, noPoints);
    const { faults, figures } = await judgeAll({ store, reducers, effects, accepted: person.accepted });
    for (const exit of exits) if (exit.code !== 0) faults.push(`a worker ended so: ${JSON.stringify(exit)}`);
    return { faults, figures, ...countTold(workers.flatMap(({ told }) => told)) };
  } finally {
    await opened.close();
  }
};

/** One line for a person. */
export const toldOf = (what: string, { takeovers, refused, figures }: DisturbedResult): string => {
  const { tasks, ended, events, accepted, writes, unknown, lost, doubled } = figures;
  return `on Postgres, ${what}: ${JSON.stringify({ takeovers, refused, tasks, ended, events, accepted, writes, unknown, lost, doubled })}`;
};
