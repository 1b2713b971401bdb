// From the SIGKILL of a worker in the middle of a model call to another worker making that call.
import { setTimeout as delay } from "node:timers/promises";
import { BenchProcess } from "../child-process.ts";
import { figureOf } from "../figures.ts";
import { createLoopingModel, prepareLoopingAgent } from "../looping-agent.ts";
import { createProgram, newTask, work } from "../program.ts";
import { atMost, type Measured, type Row } from "../row.ts";
import { openStoreAt } from "../stores.ts";
import { defaultLimits } from "../../src/runner/ports.ts";
import { defaultWorkerOptions } from "../../src/worker/worker.ts";

const { leaseMs } = defaultLimits;
const { pollMs } = defaultWorkerOptions;
const DEFAULT_BAR_MS = 8_000;
const KILLS = 5;

/** Kills a worker `afterMs` after it has begun; gives how long it takes until another has its task (ms). */
const killOnce = async (place: string, afterMs: number): Promise<number> => {
  const called = Promise.withResolvers<undefined>();
  const model = createLoopingModel({ isLast: () => true, onCall: () => called.resolve(undefined) });
  const store = await openStoreAt(place);
  const program = await createProgram({ store, agent: await prepareLoopingAgent({ outputChars: 500 }), model });
  const victim = new BenchProcess("perdure-worker.ts", place, "hangs");
  await victim.next("ready");
  await newTask(program);
  await victim.next("took");
  const successor = work(program, { name: "successor" });
  await delay(afterMs);
  const killedAt = performance.now();
  victim.kill();
  await called.promise;
  const took = performance.now() - killedAt;
  await successor.stop();
  await store.close();
  return took;
};

/** Each kill has a place of its own. `where` is added to what is said. */
export const measureTakeover = async (newPlace: () => Promise<string>, where = ""): Promise<Measured> => {
  const places: string[] = [];
  for (let index = 0; index < KILLS; index += 1) places.push(await newPlace());
  // At different times after a renewal, a third of a lease apart.
  const took = await Promise.all(places.map((place, index) => killOnce(place, 1_000 + (index * leaseMs) / 3 / KILLS)));
  const figure = figureOf(took);
  const worst = figureOf([figure.max]);
  return {
    floors: [],
    results: [
      { what: `SIGKILL to takeover${where}`, unit: "ms", figure },
      {
        what: `the longest, against lease + poll${where}`,
        unit: "ms",
        figure: worst,
        bar: atMost(leaseMs + pollMs, "ms"),
        note: `a lease of ${String(leaseMs)} ms and a poll of ${String(pollMs)} ms, as they are by default.`,
      },
      { what: `the longest, by default${where}`, unit: "ms", figure: worst, bar: atMost(DEFAULT_BAR_MS, "ms") },
    ],
  };
};

export const takeover: Row = {
  name: "takeover",
  async measure(bench) {
    bench.progress(`takeover: ${String(KILLS)} workers are killed`);
    return measureTakeover(() => Promise.resolve(bench.folder()));
  },
};
