// One task, run by real workers over the memory store, with a scripted model and virtual time: for tests that compare the
// printed log. Whatever a test loads is checked when the test ends: chain, projections, folds from snapshots, requests.
import { expect, onTestFinished } from "vitest";
import { printLog } from "../core/print.ts";
import { apply, fold } from "../core/fold.ts";
import type { EventType, Recorded } from "../core/events.ts";
import type { NewItem, Settings } from "../core/items.ts";
import { text, type CallPart } from "../core/messages.ts";
import type { ModelRequest } from "../core/request.ts";
import type { TaskState } from "../core/state.ts";
import type { Exec } from "../exec/exec.ts";
import { ModelError, type Model, type ModelContext, type ModelReply } from "../model/model.ts";
import type { Agent, Plugin, PreparedAgent, PreparedTool, Tool } from "../plugins/plugin.ts";
import { prepareAgent } from "../plugins/prepare.ts";
import type { RunnerLimits, RunnerPorts } from "../runner/ports.ts";
import { encodeState } from "../runner/snapshot.ts";
import { checkLog } from "../store/check-log.ts";
import { openState, type State } from "../store/memory/state.ts";
import { storeOver } from "../store/memory/store.ts";
import { nodeHasher } from "../store/node-hasher.ts";
import { plainSeal } from "../store/seal.ts";
import type { Claim, PostReceipt, Store, TaskRow } from "../store/store.ts";
import type { RunEnd } from "../runner/runner.ts";
import type { WorkerOptions } from "../worker/worker.ts";
import { requestFaults } from "./request-faults.ts";
import { foldOracle, inboxOracle, rowsOracle } from "./simulation/oracles.ts";
import type { Actor, Fault, FaultPlan } from "./simulation/scheduler.ts";
import { OWNER, SimulatedSystem, type Process, type Program } from "./simulation/system.ts";

export { OWNER } from "./simulation/system.ts";

/** The task of a harness. */
export const TASK = "task";

/** What a scripted model is asked. `sleep` takes virtual time and rejects when its signal is aborted. */
export interface Asked {
  readonly request: ModelRequest;
  readonly context: ModelContext;
  readonly signal: AbortSignal;
  sleep(ms: number): Promise<void>;
}

type Given = string | readonly CallPart[] | ModelReply | Error;
/** What a model gives for one attempt: words, calls, a whole reply, a failure, or a function that makes one of these. */
export type Answer = Given | ((asked: Asked) => Given | Promise<Given>);

/** Several attempts at one reply, each with its answer; the last stands for all that follow. */
export class Tries {
  readonly answers: readonly Answer[];
  constructor(answers: readonly Answer[]) {
    this.answers = answers;
  }
}
export const tries = (...answers: readonly Answer[]): Tries => new Tries(answers);

/** An attempt that gives nothing before it is aborted. */
export const hang: Answer = async ({ signal, sleep }) => {
  await sleep(3_600_000).catch(() => undefined);
  return new ModelError(signal.aborted ? "aborted" : "network", "aborted");
};

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
  /** The reply of that number (from 0). A script that is over answers `done`. */
  readonly script?: readonly (Answer | Tries)[];
  readonly system?: string;
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
  /** Whether another process starts when one dies. Default true. */
  readonly restarts?: boolean;
  /** Whether the log is checked when the test ends. Default true. */
  readonly checks?: boolean;
}

/** A fault at the `nth` (from 1) call of a port, such as `store.append`, `model.stream` or `tool.send`. */
export const at = (port: string, fault: Fault, nth = 1): FaultPlan => {
  let met = 0;
  return (call) => {
    if (call.port !== port) return null;
    met += 1;
    return met === nth ? fault : null;
  };
};

/** Does something right before the `nth` (from 1) call of a port; no fault. */
export const before = (port: string, nth: number, act: () => unknown): FaultPlan => {
  let met = 0;
  return (call) => {
    if (call.port === port) met += 1;
    if (call.port === port && met === nth) act();
    return null;
  };
};

/** The first fault of several plans; each sees every call. */
export const both =
  (...plans: readonly FaultPlan[]): FaultPlan =>
  (call) =>
    plans.map((plan) => plan(call)).find((fault) => fault !== null) ?? null;

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

const replyOf = (given: Exclude<Given, Error>): ModelReply => {
  if (typeof given === "object" && "message" in given) return given;
  const parts = typeof given === "string" ? [text(given)] : [...given];
  const calls = typeof given !== "string";
  return { message: { parts }, stopReason: calls ? "tool_use" : "end_turn", tokens: { input: 10, output: 5 } };
};

const letter = (index: number): string => String.fromCharCode(65 + index);

/** Request hashes by letters, in order of appearance, so that the same hash shows as the same letter. */
const byLetters = (log: string): string => {
  const seen: string[] = [];
  return log.replaceAll(/request_hash=\S+/g, (hash) => {
    if (!seen.includes(hash)) seen.push(hash);
    return `request_hash=${letter(seen.indexOf(hash))}`;
  });
};

/** A printed log as tests write it down: indentation, alignment and outer empty lines are not part of it. */
export const lines = (written: string): string => written.replaceAll(/ +/g, " ").replaceAll(/^ | $/gm, "").trim();

/** What the printed log is compared with: the pickup's texts and the times of retries are left out. */
const comparable = (log: string): string =>
  lines(
    byLetters(log)
      .replaceAll(/(core\/(?:prompts|plugins)).*/g, "$1")
      .replaceAll(/retryAt: \d+/g, "retryAt: …"),
  );

export class Harness {
  readonly system: SimulatedSystem;
  /** What the store holds, for a test that damages it. */
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
        return this.#observed(storeOver(state));
      },
    });
    if (state === undefined) throw new Error("a system opens its store at once");
    this.state = state;
  }

  /** Notes appends and claims as they succeed. */
  #observed(store: Store): Store {
    return {
      ...store,
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

  #model(actor: Actor, script: readonly (Answer | Tries)[]): Model {
    const { scheduler } = this.system;
    const { sent } = this;
    const answer = async (asked: Asked): Promise<ModelReply> => {
      const { replies, attempt } = asked.context;
      sent.push({ request: structuredClone(asked.request), context: asked.context });
      const entry = script[replies] ?? "done";
      const tried = entry instanceof Tries ? entry.answers[Math.min(attempt, entry.answers.length) - 1] : entry;
      const given = typeof tried === "function" ? await tried(asked) : (tried ?? "done");
      if (given instanceof Error) throw given;
      return replyOf(given);
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

  /** Everything that is wrong with what is stored; empty when all holds. */
  async faults(): Promise<string[]> {
    const { store } = this;
    const { reducers } = this.#agent;
    const [row, entries] = [await this.row(), await store.read({ taskId: TASK })];
    const redactions = await store.readRedactions({ taskId: TASK });
    const faults = checkLog({ taskId: TASK, entries, redactions, row, hasher: nodeHasher }).map(({ what }) => what);
    const log = await this.events();
    inboxOracle(log, row.inboxSeq > row.inboxTaken ? [] : this.accepted, faults);
    foldOracle(TASK, log, reducers, faults);
    const evidence = { store, taskId: TASK, reducers, effects: [], sent: [], accepted: [] };
    await rowsOracle({ ...evidence, idempotent: new Set() }, log, faults);
    for (const { request } of this.sent) faults.push(...requestFaults(request));
    return faults;
  }

  /** Folds the log from snapshots at seqs all over it, and from the start, and compares. */
  async expectFoldsAgree(): Promise<void> {
    const log = await this.events();
    const { reducers } = this.#agent;
    const whole = fold(TASK, log, reducers);
    const step = Math.ceil(log.length / 40);
    for (let seq = 1; seq < log.length; seq += step) {
      const snapshot = encodeState(fold(TASK, log.slice(0, seq), reducers));
      if (snapshot === null) continue;
      const from = JSON.parse(snapshot) as TaskState;
      const resumed = log.slice(seq).reduce((state, recorded) => apply(state, recorded, reducers), from);
      expect(resumed, `folded from a snapshot at seq ${String(seq)}`).toEqual(whole);
    }
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
      onInterrupt: options.onInterrupt ?? "continue",
      plugins: [{ name: "test", version: "1", tools, records }, ...plugins],
    },
    { build: "harness" },
  );
};

/** A harness with its task created, and no process yet. */
export const createHarness = async (options: HarnessOptions): Promise<Harness> => {
  const harness = new Harness(options, await prepare(options));
  const { objective = "do it", settings, mode = "conversation", onInterrupt = "continue" } = options;
  const config = { model: "script", ...settings };
  await harness.system.create(TASK, { agent: "harnessed", config, objective, mode, onInterrupt });
  onTestFinished(async () => {
    if (options.checks === false) return;
    expect(await harness.faults()).toEqual([]);
    await harness.expectFoldsAgree();
  });
  return harness;
};

/** The same with a process that has run the task to its first rest. */
export const runHarness = async (options: HarnessOptions): Promise<Harness> => {
  const harness = await createHarness(options);
  harness.start();
  await harness.rest();
  return harness;
};
