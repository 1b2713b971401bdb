// One task, run by real workers over the memory store, with a scripted model and virtual time: for tests that compare the
// printed log. Whatever a test loads is checked when the test ends: chain, projections, folds from snapshots, requests.
import { expect, onTestFinished } from "vitest";
import { printLog } from "../core/print.ts";
import { fold } from "../core/fold.ts";
import type { Event, EventType, Recorded } from "../core/events.ts";
import { sealEvents } from "../core/envelope.ts";
import { applyAndProject, columnsOf, mergeRows } from "../core/project.ts";
import type { NewItem, Settings } from "../core/items.ts";
import type { ModelRequest } from "../core/request.ts";
import type { Exec } from "../exec/exec.ts";
import { ModelError, type Model, type ModelContext, type ModelReply } from "../model/model.ts";
import type { Agent, Plugin, PreparedAgent, PreparedTool, Tool } from "../plugins/plugin.ts";
import { prepareAgent } from "../plugins/prepare.ts";
import type { RunnerLimits, RunnerPorts } from "../runner/ports.ts";
import { openState, type State } from "../store/memory/state.ts";
import { storeOver } from "../store/memory/store.ts";
import { nodeHasher } from "../store/node-hasher.ts";
import { plainSeal } from "../store/seal.ts";
import type { Claim, Clock, PostReceipt, Store, TaskRow } from "../store/store.ts";
import type { RunEnd } from "../runner/runner.ts";
import type { WorkerOptions } from "../worker/worker.ts";
import { comparable } from "./printed-log.ts";
import { expectFoldsAgree, faultsOf } from "./check-task.ts";
import { answerOf, type Asked, type Script } from "./scripted-answers.ts";
import type { Actor, FaultPlan } from "./simulation/scheduler.ts";
import { OWNER, SimulatedSystem, type Process, type Program } from "./simulation/system.ts";

/** The task of a harness. */
export const TASK = "task";

/** A tool that takes any input and, unless told otherwise, says that it is done. */
export const toolOf = (name: string, effect: Tool["effect"], more: Partial<Tool> = {}): Tool => ({
  name,
  description: `${name} something`,
  inputSchema: { type: "object" },
  effect,
  execute: () => `${name} is done`,
  ...more,
});

/** What a process runs. */
export interface Code {
  /** Tools of a plugin named `test`. */
  readonly tools?: readonly Tool[];
  /** Plugins beside it. */
  readonly plugins?: readonly Plugin[];
  readonly script?: Script;
  readonly system?: string;
  readonly approvals?: NonNullable<Agent["approvals"]>;
}

export interface HarnessOptions extends Code {
  /** The first thing said. */
  readonly objective?: string;
  readonly settings?: Partial<Settings>;
  readonly mode?: Agent["mode"];
  readonly onInterrupt?: Agent["onInterrupt"];
  readonly limits?: Partial<RunnerLimits>;
  readonly plan?: FaultPlan;
  /** In place of what a simulated process is given. */
  readonly ports?: Partial<RunnerPorts>;
  readonly worker?: Partial<WorkerOptions>;
  readonly exec?: Exec;
  /** Whether hints of the store reach anyone. Default true. */
  readonly hints?: boolean;
  /** Whether another process starts when one dies. Default true. */
  readonly restarts?: boolean;
  /** Whether the log is checked when the test ends. Default true. */
  readonly checks?: boolean;
  /** Makes the store over the given clock; a memory store unless given. */
  readonly store?: (clock: Clock) => Store;
}

/** One time that a tool's handler ran. */
export interface Ran {
  readonly name: string;
  readonly callId: string;
  readonly invocationId: string;
  readonly attempt: number;
  readonly fence: number;
  readonly input: unknown;
  readonly actor: string;
}

/** One attempt as the model got it. */
export interface Sent {
  readonly request: ModelRequest;
  readonly context: ModelContext;
}

export class Harness {
  readonly system: SimulatedSystem;
  /** What the memory store holds, for a test that damages it. */
  readonly state: State;
  readonly ran: Ran[] = [];
  readonly sent: Sent[] = [];
  readonly claims: Claim[] = [];
  readonly ends: RunEnd[] = [];
  /** Drafts of each append that was committed. */
  readonly appends: string[][] = [];
  readonly processes: Process[] = [];
  readonly accepted: number[] = [1];
  readonly #options: HarnessOptions;
  #code: Code;
  #agent: PreparedAgent;

  constructor(options: HarnessOptions, agent: PreparedAgent) {
    this.#options = options;
    this.#code = options;
    this.#agent = agent;
    let state: State | undefined;
    this.system = new SimulatedSystem({
      seed: 1,
      choose: () => 0,
      ...(options.plan === undefined ? {} : { plan: options.plan }),
      limits: { snapshotEvery: 0, ...options.limits },
      onCrash: () => {
        if (options.restarts !== false) this.start();
      },
      store: (clock) => {
        state = openState(clock, plainSeal);
        return this.#observed(options.store?.(clock) ?? storeOver(state));
      },
    });
    if (state === undefined) throw new Error("a system opens its store at once");
    this.state = state;
  }

  /** Notes appends and claims as they succeed. */
  #observed(store: Store): Store {
    return {
      ...store,
      ...(this.#options.hints === false ? { subscribe: () => () => undefined } : {}),
      append: async (params) => {
        const receipt = await store.append(params);
        this.appends.push(params.drafts.map((draft) => draft.type));
        return receipt;
      },
      claim: async (params) => {
        const claim = await store.claim(params);
        if (claim !== null) this.claims.push(claim);
        return claim;
      },
    };
  }

  get store(): Store {
    return this.system.store;
  }

  /** Virtual time (ms). */
  get now(): number {
    return this.system.scheduler.now;
  }

  /** Processes started from now on run this. */
  async use(code: Code): Promise<void> {
    this.#agent = await prepare({ ...this.#options, ...code });
    this.#code = code;
  }

  /** The agent that processes run now, made ready. */
  get agent(): PreparedAgent {
    return this.#agent;
  }

  start(overrides: Pick<HarnessOptions, "ports" | "worker"> = {}): Process {
    const { ports, worker, exec } = this.#options;
    const process = this.system.start(this.#program(), {
      ports: { ...(exec === undefined ? {} : { exec: async () => exec }), ...ports, ...overrides.ports },
      worker: { concurrency: 1, onRunEnd: (_, end) => this.ends.push(end), ...worker, ...overrides.worker },
    });
    this.processes.push(process);
    return process;
  }

  #program(): Program {
    const [agent, script] = [this.#agent, this.#code.script ?? this.#options.script ?? []];
    return {
      agent: (actor) => ({ ...agent, tools: new Map([...agent.tools].map((entry) => this.#wired(actor, ...entry))) }),
      model: (actor) => this.#model(actor, script),
    };
  }

  /** Handlers run when the scheduler picks them. */
  #wired(actor: Actor, name: string, prepared: PreparedTool): [string, PreparedTool] {
    const { scheduler } = this.system;
    const { tool } = prepared;
    const execute: Tool["execute"] = (input, context) =>
      scheduler.port(actor, `tool.${name}`, async () => {
        const { callId, invocationId, attempt, fence } = context;
        this.ran.push({ name, callId, invocationId, attempt, fence, input, actor: actor.name });
        return tool.execute(input, context);
      });
    const verify: Tool["verify"] = (receipt, context) =>
      scheduler.port(actor, `verify.${name}`, async () => (await tool.verify?.(receipt, context)) ?? "unknown");
    const wired = { ...tool, execute, ...(tool.verify === undefined ? {} : { verify }) };
    return [name, { ...prepared, tool: wired }];
  }

  #model(actor: Actor, script: Script): Model {
    const { scheduler } = this.system;
    const { sent } = this;
    const answer = (asked: Asked): Promise<ModelReply> => {
      sent.push({ request: structuredClone(asked.request), context: asked.context });
      return answerOf(script, asked);
    };
    return {
      name: "script",
      contextTokens: null,
      async *stream(request, { signal, context }) {
        const sleep = (ms: number): Promise<void> => scheduler.sleep(actor, ms, signal);
        const reply = await scheduler.port(actor, "model.stream", () => answer({ request, context, signal, sleep }));
        if (signal.aborted) throw new ModelError("aborted", "aborted");
        yield { type: "reply", reply };
      },
    };
  }

  /** Takes virtual time; rejects when the signal is aborted. For handlers. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.system.scheduler.sleep(this.system.person, ms, signal);
  }

  /** Lets things happen until `done`. */
  async until(done: () => boolean): Promise<void> {
    await this.system.scheduler.run(done, 50_000);
    expect(done(), "what was waited for happened").toBe(true);
  }

  /** Lets things happen for so long (ms of virtual time). */
  async pass(ms: number): Promise<void> {
    let over = false;
    void this.sleep(ms).then(() => {
      over = true;
    });
    await this.until(() => over);
  }

  /** Lets things happen until the task waits or has ended, with nothing untaken and nobody holding it. */
  async rest(): Promise<void> {
    let rests = false;
    const look = async (): Promise<void> => {
      for (let pauseMs = 1; !rests; pauseMs = Math.min(2 * pauseMs, 1_000)) {
        await this.sleep(pauseMs);
        const { status, claimedBy, inboxSeq, inboxTaken } = await this.row();
        rests = claimedBy === null && (status === "ended" || (status === "waiting" && inboxSeq === inboxTaken));
      }
    };
    const looking = look();
    await this.until(() => rests);
    await looking;
  }

  /** When the first event of a type was committed (virtual time, ms). */
  async timeOf(type: EventType): Promise<number> {
    const found = (await this.events()).find(({ event }) => event.type === type);
    if (found === undefined) throw new Error(`the log has no ${type}`);
    return found.at;
  }

  /** Posts as the owner, unless by somebody else. */
  async post(item: NewItem, by = OWNER): Promise<PostReceipt> {
    const key = `post ${String(this.accepted.length)}`;
    const receipt = await this.store.post({ taskId: TASK, by, key, item });
    this.accepted.push(receipt.seq);
    return receipt;
  }

  /** Appends events as a holder of the task would have, and gives it back. */
  async write(...events: readonly Event[]): Promise<void> {
    const { store } = this;
    const offers = (await this.row()).requires;
    const claim = await store.claim({ worker: "test", leaseMs: 1_000, offers, snapshotVersions: {}, build: "test" });
    if (claim === null) throw new Error("the task has nothing to do");
    const { lastSeq: seq, chain, fence, revision } = claim;
    const state = fold(TASK, await this.events(), this.#agent.reducers);
    const rows = events.flatMap((event, index) =>
      applyAndProject(state, { seq: seq + index + 1, at: this.now, event }, this.#agent.reducers),
    );
    const drafts = sealEvents(nodeHasher, { seq, chain }, events, () => this.system.chance.bytes(16));
    const taken = state.inboxTaken === 0 ? {} : { taken: state.inboxTaken };
    await store.append({
      taskId: TASK,
      fence,
      revision,
      drafts,
      columns: columnsOf(state),
      rows: mergeRows(rows),
      ...taken,
    });
    await store.release({ taskId: TASK, fence, kind: "stop" });
    this.claims.length = 0;
  }

  async row(): Promise<TaskRow> {
    const row = await this.store.getTask({ taskId: TASK });
    if (row === null) throw new Error("the task is gone");
    return row;
  }

  events(): Promise<Recorded[]> {
    return this.system.read(TASK);
  }

  /** The printed log after `after`, in the form that tests compare. */
  async log(after = 0): Promise<string> {
    return comparable(
      printLog(await this.events())
        .split("\n")
        .slice(after)
        .join("\n"),
    );
  }
}

const prepare = (options: HarnessOptions): Promise<PreparedAgent> => {
  const { tools = [], plugins = [], system = "Do as the script says.", mode = "conversation" } = options;
  const records = { noted: { v: 1 } };
  return prepareAgent(
    {
      name: "harnessed",
      identity: "You are tested.",
      system,
      settings: { model: "script" },
      mode,
      ...{ onInterrupt: options.onInterrupt ?? "continue", approvals: options.approvals ?? {} },
      plugins: [{ name: "test", version: "1", tools, records }, ...plugins],
    },
    { build: "harness" },
  );
};

/** A harness with no task and no process yet. For use outside a test too: nothing is checked. */
export const emptyHarness = async (options: HarnessOptions): Promise<Harness> =>
  new Harness(options, await prepare(options));

/** The same with its task created. */
export const uncheckedHarness = async (options: HarnessOptions): Promise<Harness> => {
  const harness = await emptyHarness(options);
  const { objective = "do it", settings, mode = "conversation", onInterrupt = "continue" } = options;
  const config = { model: "script", ...settings };
  await harness.system.create(TASK, { agent: "harnessed", config, objective, mode, onInterrupt });
  return harness;
};

/** A harness with its task created, and no process yet. What is wrong when the test ends fails it. */
export const createHarness = async (options: HarnessOptions): Promise<Harness> => {
  const harness = await uncheckedHarness(options);
  onTestFinished(async () => {
    if (options.checks === false) return;
    const { store, sent, accepted } = harness;
    const { reducers } = harness.agent;
    expect(await faultsOf({ store, taskId: TASK, reducers, sent, accepted })).toEqual([]);
    expectFoldsAgree(TASK, await harness.events(), reducers);
  });
  return harness;
};

/** The same with a process that has run the task to its first rest. */
export const runHarness = async (options: HarnessOptions): Promise<Harness> => {
  const harness = await createHarness(options);
  harness.start();
  return harness.rest().then(() => harness);
};
