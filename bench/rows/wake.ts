// From a post to the first event of an idle worker, in this process and in another, beside the same written by hand.
import { BenchProcess } from "../child-process.ts";
import { figureOf, percentile, ratios } from "../figures.ts";
import { openHandWritten } from "../hand-written.ts";
import { createLoopingModel, prepareLoopingAgent } from "../looping-agent.ts";
import { createProgram, newTask, work, type Program } from "../program.ts";
import { atMost, type Bench, type Measured, type Row } from "../row.ts";
import { openStoreAt } from "../stores.ts";
import { tellingInput } from "../telling-input.ts";

const ROUNDS = 5;
const SAMPLES = 200;
const WARM_UP = 50;
const POSTS_PER_TASK = 4;
const SHARES = [
  ["p50", 0.5],
  ["p99", 0.99],
] as const;

/** One post, until its event has committed (ms). Resolves once the worker is idle again. */
type Sample = () => Promise<number>;

export interface Party {
  readonly sample: Sample;
  close(): Promise<void>;
}

export const millisecondsBetween = (from: bigint, to: bigint): number => Number(to - from) / 1_000_000;

const postTo = ({ client }: Program, taskId: string): Promise<unknown> =>
  client.store.post({ taskId, by: client.principal, key: client.random.id(), item: { type: "Say", text: "Go on." } });

/** A task to post to, replaced before its log gets longer than what is read by hand: long logs are another row. */
const createYoungTasks = (program: Program, parked: () => Promise<unknown>): (() => Promise<string>) => {
  let taskId = "";
  let posts = POSTS_PER_TASK;
  return async () => {
    posts += 1;
    if (posts < POSTS_PER_TASK) return taskId;
    posts = 0;
    const rests = parked();
    taskId = await newTask(program);
    await rests;
    return taskId;
  };
};

const createPoster = async (place: string, told: () => void = () => undefined): Promise<Program> => {
  const store = tellingInput(await openStoreAt(place), told);
  const model = createLoopingModel({ isLast: () => true });
  return createProgram({ store, agent: await prepareLoopingAgent({ outputChars: 500 }), model });
};

/** A worker in this process. */
export const here = async (place: string): Promise<Party> => {
  let took = Promise.withResolvers<number>();
  let parked = Promise.withResolvers<unknown>();
  const program = await createPoster(place, () => took.resolve(performance.now()));
  const worker = work(program, { onRunEnd: () => parked.resolve(undefined) });
  const nextEnd = (): Promise<unknown> => {
    parked = Promise.withResolvers();
    return parked.promise;
  };
  const youngTask = createYoungTasks(program, nextEnd);
  return {
    sample: async () => {
      const taskId = await youngTask();
      took = Promise.withResolvers();
      const rests = nextEnd();
      const before = performance.now();
      await postTo(program, taskId);
      const after = await took.promise;
      await rests;
      return after - before;
    },
    close: async () => {
      await worker.stop();
      await program.store.close();
    },
  };
};

/** A worker in another process. */
export const elsewhere = async (place: string): Promise<Party> => {
  const program = await createPoster(place);
  const worker = new BenchProcess("perdure-worker.ts", place, "answers");
  await worker.next("ready");
  const youngTask = createYoungTasks(program, () => worker.next("end"));
  return {
    sample: async () => {
      const taskId = await youngTask();
      const before = process.hrtime.bigint();
      await postTo(program, taskId);
      const after = BigInt(await worker.next("took"));
      await worker.next("end");
      return millisecondsBetween(before, after);
    },
    close: async () => {
      await worker.close();
      await program.store.close();
    },
  };
};

const byHandHere = (bench: Bench): Party => {
  const worker = openHandWritten(bench.folder());
  return {
    sample: async () => {
      const { promise: appended, resolve } = Promise.withResolvers<boolean>();
      const before = performance.now();
      worker.post("Go on.");
      queueMicrotask(() => resolve(worker.claimAndAppend()));
      if (!(await appended)) throw new Error("the hand-written worker found nothing");
      return performance.now() - before;
    },
    close: () => Promise.resolve(worker.close()),
  };
};

const byHandElsewhere = async (bench: Bench): Promise<Party> => {
  const folder = bench.folder();
  const poster = openHandWritten(folder);
  const worker = new BenchProcess("hand-written-worker.ts", folder);
  await worker.next("ready");
  return {
    sample: async () => {
      const before = process.hrtime.bigint();
      poster.post("Go on.");
      worker.notify();
      return millisecondsBetween(before, BigInt(await worker.next("took")));
    },
    close: async () => {
      await worker.close();
      poster.close();
    },
  };
};

/** Rounds of samples of both, by turns. */
export const measureBeside = async (where: string, ours: Party, byHand: Party): Promise<Measured> => {
  const mine: number[][] = [];
  const floors: number[][] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const samples: [number[], number[]] = [[], []];
    for (let index = 0; index < (round === 0 ? WARM_UP : SAMPLES); index += 1) {
      samples[0].push(await byHand.sample());
      samples[1].push(await ours.sample());
    }
    if (round === 0) continue;
    floors.push(samples[0]);
    mine.push(samples[1]);
  }
  const at = (rounds: readonly number[][], share: number) => rounds.map((samples) => percentile(samples, share));
  return {
    floors: SHARES.map(([name, share]) => ({
      what: `post, notify, claim, append by hand, ${where}, ${name}`,
      unit: "ms",
      figure: figureOf(at(floors, share)),
    })),
    results: SHARES.map(([name, share]) => ({
      what: `post to first event, ${where}, ${name}`,
      unit: "ms",
      figure: figureOf(at(mine, share)),
      ratio: { of: "by hand", figure: figureOf(ratios(at(mine, share), at(floors, share))) },
      bar: atMost(2),
    })),
  };
};

export const wake: Row = {
  name: "wake",
  async measure(bench) {
    bench.progress("wake: in this process");
    const [ours, byHand] = [await here(bench.folder()), byHandHere(bench)];
    const inside = await measureBeside("this process", ours, byHand);
    await ours.close();
    await byHand.close();
    bench.progress("wake: in another process");
    const [other, byHandOther] = [await elsewhere(bench.folder()), await byHandElsewhere(bench)];
    const outside = await measureBeside("another process", other, byHandOther);
    await other.close();
    await byHandOther.close();
    return {
      floors: [...inside.floors, ...outside.floors],
      results: [...inside.results, ...outside.results],
    };
  },
};
