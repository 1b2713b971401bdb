// A worker in this process on a store that a test has its hands on: tools wait where the test says, and every append that
// is refused is seen.
import { createRunnerPorts, systemRunnerClock } from "../../src/runtime.ts";
import type { RunnerLimits } from "../../src/runner/ports.ts";
import { StoreError, type Store, type TaskRow } from "../../src/store/store.ts";
import { defaultWorkerOptions, startWorker, type Worker } from "../../src/worker/worker.ts";
import { createTask } from "../../src/client/create-task.ts";
import { post } from "../../src/client/post.ts";
import type { NewItem } from "../../src/core/items.ts";
import { AGENT, MODEL, countingModel, noPoints, prepareCountingAgent, type ToolName } from "./counting-agent.ts";
import { judgeAll } from "./judgement.ts";
import { clientOf } from "./person.ts";

/** A place where a tool waits until the test lets it go on. */
export interface Gate {
  /** Resolves once the tool is there. */
  readonly reached: Promise<void>;
  open(): void;
}

export interface ProgramOptions {
  readonly store: Store;
  readonly effects: string;
  readonly limits?: Partial<RunnerLimits>;
  /** What the model ends each turn with. */
  readonly words?: string;
}

const noWorkspace = (): Promise<never> => Promise.reject(new Error("this agent has no workspace"));

export class Program {
  readonly notes: string[] = [];
  /** Codes and messages of appends that were refused. */
  readonly refusals: string[] = [];
  /** By task: the inbox seqs that were acknowledged. */
  readonly accepted = new Map<string, number[]>();
  readonly #options: ProgramOptions;
  readonly #gates = new Map<ToolName, { reached: () => void; passed: Promise<void> }>();
  readonly #changed = new Set<() => void>();
  #worker: Worker | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  /** The next call of the tool waits: ahead of its effect. */
  hold(tool: ToolName): Gate {
    const [reached, passed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.#gates.set(tool, { reached: reached.resolve, passed: passed.promise });
    return { reached: reached.promise, open: passed.resolve };
  }

  async start(): Promise<void> {
    const { store, effects, limits = {}, words } = this.#options;
    const agent = await prepareCountingAgent(effects, {
      ...noPoints,
      entered: async (tool) => {
        const gate = this.#gates.get(tool);
        this.#gates.delete(tool);
        gate?.reached();
        await gate?.passed;
      },
    });
    const model = countingModel(2, words);
    const ports = createRunnerPorts({
      store: this.#watching(store),
      ...{ agents: new Map([[AGENT, agent]]), model: () => model, build: "kills" },
      exec: () =>
        Promise.resolve({
          ...{ root: "/", resolve: noWorkspace, stat: noWorkspace, readFile: noWorkspace },
          ...{ writeFile: noWorkspace, run: noWorkspace },
        }),
      limits,
      watcher: { note: (_taskId, note) => this.#say(this.notes, note) },
    });
    const options = { ...defaultWorkerOptions, name: "this process", host: "here", pollMs: 50 };
    this.#worker = startWorker({ ...ports, clock: systemRunnerClock }, options);
  }

  #say(list: string[], what: string): void {
    list.push(what);
    for (const look of this.#changed) look();
  }

  #watching(store: Store): Store {
    const append: Store["append"] = async (params) => {
      try {
        return await store.append(params);
      } catch (error) {
        if (error instanceof StoreError) this.#say(this.refusals, `${error.code}: ${error.message}`);
        throw error;
      }
    };
    return { ...store, append };
  }

  /** Resolves once an append was refused so. */
  refused(how: RegExp): Promise<void> {
    return this.#until(() => this.refusals.some((told) => how.test(told)));
  }

  noted(how: RegExp): Promise<void> {
    return this.#until(() => this.notes.some((told) => how.test(told)));
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return;
        this.#changed.delete(look);
        resolve();
      };
      this.#changed.add(look);
      look();
    });
  }

  async create(): Promise<string> {
    const request = { agent: AGENT, settings: { model: MODEL }, objective: "Do all of it." };
    const more = { mode: "conversation", onInterrupt: "continue" } as const;
    const { taskId } = await createTask(clientOf(this.#options.store), { ...request, ...more });
    this.accepted.set(taskId, [1]);
    return taskId;
  }

  async post(taskId: string, item: NewItem): Promise<void> {
    const { seq } = await post(clientOf(this.#options.store), { taskId, item });
    this.accepted.get(taskId)?.push(seq);
  }

  /** The task's row once it rests, and nobody holds it; asked of another store where the worker's may fail. */
  async rest(taskId: string, store = this.#options.store): Promise<TaskRow> {
    let hint = Promise.withResolvers<void>();
    const give = (): void => hint.resolve();
    const [timer, unsubscribe] = [setInterval(give, 50), store.subscribe(give)];
    try {
      for (;;) {
        const row = await store.getTask({ taskId });
        const rests = row?.status === "waiting" && row.inboxSeq === row.inboxTaken && row.claimedBy === null;
        if (rests) return row;
        await hint.promise;
        hint = Promise.withResolvers();
      }
    } finally {
      clearInterval(timer);
      unsubscribe();
    }
  }

  async stop(): Promise<void> {
    await this.#worker?.stop();
  }

  /** Everything that is wrong; empty when nothing was lost, and nothing done twice. */
  async faults(store = this.#options.store): Promise<string[]> {
    const { effects } = this.#options;
    const { reducers } = await prepareCountingAgent(effects, noPoints);
    return (await judgeAll({ store, reducers, effects, accepted: this.accepted })).faults;
  }
}
