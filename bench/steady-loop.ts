// One task that loops: a reply with one call, the call, the next reply. Timed at each reply that is asked for.
import { createLoopingModel, prepareLoopingAgent } from "./looping-agent.ts";
import { createProgram, newTask, work, type Program } from "./program.ts";
import type { Store } from "../src/store/store.ts";

export interface LoopOptions {
  readonly cycles: number;
  readonly outputChars?: number;
  /** Default true. */
  readonly snapshots?: boolean;
}

export interface Loop {
  readonly taskId: string;
  /** When (performance.now) reply `n` was asked for; one more than there are cycles. */
  readonly calledAt: readonly number[];
}

/** As in the rivals' measurements (see README.md). */
const OUTPUT_CHARS = 500;

/** Works a task until it waits. */
export const runToEnd = async (program: Program, taskId: string): Promise<void> => {
  const { promise: over, resolve } = Promise.withResolvers<string>();
  const worker = work(program, { taskId, onRunEnd: (_, end) => resolve(end) });
  const end = await over;
  await worker.stop();
  if (end !== "parked") throw new Error(`task ${taskId} ended ${end}`);
};

/** Runs a new task to its answer. */
export const runLoop = async (store: Store, options: LoopOptions): Promise<Loop> => {
  const { cycles, outputChars = OUTPUT_CHARS, snapshots = true } = options;
  const calledAt: number[] = [];
  const model = createLoopingModel({
    isLast: (n) => n >= cycles,
    onCall: (n) => (calledAt[n] = performance.now()),
  });
  const program = await createProgram({ store, agent: await prepareLoopingAgent({ outputChars }), model, snapshots });
  const taskId = await newTask(program);
  await runToEnd(program, taskId);
  if (calledAt.length !== cycles + 1)
    throw new Error(`${String(cycles)} cycles asked for ${String(calledAt.length)} replies`);
  return { taskId, calledAt };
};

/** The mean cost (ms) of the cycles from `first` up to, not with, `last`. */
export const costPerCycle = ({ calledAt }: Loop, first: number, last: number): number => {
  const [from, to] = [calledAt[first], calledAt[last]];
  if (from === undefined || to === undefined) throw new Error("the loop had fewer cycles");
  return (to - from) / (last - first);
};

/** Cycles per second of so many tasks that one worker runs at once, while all of them run. */
export const runTogether = async (
  store: Store,
  { tasks, cycles, modelCalls = tasks }: { tasks: number; cycles: number; modelCalls?: number },
): Promise<number> => {
  const calls: number[] = [];
  const model = createLoopingModel({ isLast: (n) => n >= cycles, onCall: () => calls.push(performance.now()) });
  const program = await createProgram({
    store,
    agent: await prepareLoopingAgent({ outputChars: OUTPUT_CHARS }),
    model,
    modelCalls,
  });
  for (let index = 0; index < tasks; index += 1) await newTask(program);
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let ended = 0;
  const worker = work(program, {
    concurrency: tasks,
    onRunEnd: () => {
      ended += 1;
      if (ended === tasks) resolve();
    },
  });
  await over;
  await worker.stop();
  if (calls.length !== tasks * (cycles + 1))
    throw new Error(`${String(tasks)} tasks asked for ${String(calls.length)} replies`);
  // Without their beginnings, and without the end, where some are through and others are not.
  const [first, last] = [Math.ceil(calls.length / 5), Math.floor((calls.length * 4) / 5)];
  return ((last - first) * 1_000) / ((calls[last] ?? NaN) - (calls[first] ?? NaN));
};
