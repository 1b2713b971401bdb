// Small tasks: created, two model calls with one tool call between them, ended. Timed from the client's create to the commit
// that ends it.
import { createTask } from "../src/client/create-task.ts";
import type { AppendParams, Store } from "../src/store/store.ts";
import { createLoopingModel, prepareLoopingAgent } from "./looping-agent.ts";
import { createProgram, work } from "./program.ts";

export interface SmallTasks {
  /** Creates one, and waits until it has ended. */
  one(): Promise<void>;
  close(): Promise<void>;
}

const OUTPUT_CHARS = 500;
const CYCLES = 1;

export interface SmallTasksOptions {
  /** How many run at once at most. */
  readonly concurrency: number;
  /** Hears of every append. */
  readonly onAppend?: (params: AppendParams) => void;
}

export const openSmallTasks = async (
  store: Store,
  { concurrency, onAppend }: SmallTasksOptions,
): Promise<SmallTasks> => {
  const waiting = new Map<string, () => void>();
  const telling: Store = {
    ...store,
    append: async (params) => {
      const receipt = await store.append(params);
      onAppend?.(params);
      if (params.drafts.some(({ type }) => type === "TaskEnded")) waiting.get(params.taskId)?.();
      return receipt;
    },
  };
  const agent = await prepareLoopingAgent({ outputChars: OUTPUT_CHARS });
  const model = createLoopingModel({ isLast: (n) => n >= CYCLES });
  const program = await createProgram({ store: telling, agent, model, modelCalls: concurrency });
  const worker = work(program, { concurrency });
  await worker.idle();
  const { client } = program;
  const { name, settings, onInterrupt } = agent.agent;
  return {
    one: async () => {
      const taskId = client.random.id();
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      waiting.set(taskId, resolve);
      const request = { agent: name, settings, objective: "Go on.", mode: "oneShot", onInterrupt, taskId } as const;
      await createTask(client, request);
      await ended;
      waiting.delete(taskId);
    },
    close: () => worker.stop(),
  };
};

/** `count` of them, never more than `inFlight` at once; how many a second. */
export const perSecond = async (one: () => Promise<void>, count: number, inFlight: number): Promise<number> => {
  let begun = 0;
  const loop = async (): Promise<void> => {
    for (begun += 1; begun <= count; begun += 1) await one();
  };
  const before = performance.now();
  await Promise.all(Array.from({ length: inFlight }, loop));
  return (count * 1_000) / (performance.now() - before);
};
