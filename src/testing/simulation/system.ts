// A whole perdure under the scheduler: one memory store, and processes that can be started, killed and started again.
import type { Access } from "../../access/access.ts";
import { openAccess } from "../../access/local/local.ts";
import { FIRST_CHAIN, sealEvents } from "../../core/envelope.ts";
import { decodeEvent } from "../../core/codec.ts";
import type { EventOf, Recorded } from "../../core/events.ts";
import { createState } from "../../core/fold.ts";
import type { NewItem } from "../../core/items.ts";
import { printLog } from "../../core/print.ts";
import { columnsOf } from "../../core/project.ts";
import type { Exec } from "../../exec/exec.ts";
import { ModelError, type Model } from "../../model/model.ts";
import type { PreparedAgent } from "../../plugins/plugin.ts";
import { defaultLimits, type RunnerLimits, type RunnerPorts } from "../../runner/ports.ts";
import { createMemoryStore } from "../../store/memory/store.ts";
import { nodeHasher } from "../../store/node-hasher.ts";
import { StoreError, type Clock, type PostReceipt, type Store } from "../../store/store.ts";
import { startWorker, type Worker, type WorkerOptions } from "../../worker/worker.ts";
import { portsFor } from "./actor-ports.ts";
import { createChance, type Chance } from "./chance.ts";
import { Scheduler, type Actor, type Choose, type FaultPlan } from "./scheduler.ts";

export const OWNER = "person:ada";
/** Where a task lives until it is moved. */
export const PLACE = "here";
export const simulatedLimits: RunnerLimits = { ...defaultLimits, snapshotEvery: 8, storeRetryMs: 20_000 };

const unavailable = (port: string): Error => {
  if (port.startsWith("store.")) return new StoreError("unavailable", `${port}: nobody knows`);
  if (port.startsWith("model.")) return new ModelError("network", `${port}: nobody knows`);
  return new Error(`${port}: nobody knows`);
};

const refuse = (): Promise<never> => Promise.reject(new Error("this simulation has no workspace"));
const noExec: Exec = {
  root: "/",
  resolve: refuse,
  stat: refuse,
  readFile: refuse,
  writeFile: refuse,
  run: refuse,
};

export interface Process {
  readonly actor: Actor;
  readonly worker: Worker;
}

/** What a process runs: made for each anew, as a process would. */
export interface Program {
  agent(actor: Actor): PreparedAgent;
  model(actor: Actor): Model;
}

export interface SystemOptions {
  readonly seed: number;
  readonly plan?: FaultPlan;
  /** Called when a process dies. */
  readonly onCrash?: (actor: Actor) => void;
  readonly limits?: Partial<RunnerLimits>;
  /** Asked by every process; open unless given. */
  readonly access?: Access;
  /** Picks what happens next; by chance unless given. */
  readonly choose?: Choose;
  /** Makes the store, over the given clock; the memory store unless given. */
  readonly store?: (clock: Clock) => Store;
}

/** What a process is given in place of what it would be given. */
export interface Overrides {
  readonly ports?: Partial<RunnerPorts>;
  readonly worker?: Partial<WorkerOptions>;
}

export class SimulatedSystem {
  readonly chance: Chance;
  readonly scheduler: Scheduler;
  readonly store: Store;
  /** What the processes told their operator. */
  readonly notes: string[] = [];
  /** Does what is not under test: it never dies, and no fault meets it. */
  readonly person: Actor = { name: "person", alive: true };
  /** By invocation id: the inbox's last seq that the append of its ToolStarted told of. */
  readonly announced = new Map<string, number>();
  readonly #limits: RunnerLimits;
  readonly #access: Access;
  #processes = 0;

  constructor(options: SystemOptions) {
    this.chance = createChance(options.seed);
    this.#limits = { ...simulatedLimits, ...options.limits };
    this.#access = options.access ?? openAccess;
    this.scheduler = new Scheduler({
      choose: options.choose ?? ((count) => this.chance.below(count)),
      plan: options.plan ?? (() => null),
      delayMs: this.#limits.leaseMs * 2,
      unavailable,
      onCrash: options.onCrash ?? (() => undefined),
    });
    const { scheduler } = this;
    // Whole milliseconds, as a machine's clock gives a store; a process's own sleeps have fractions.
    const now = (): number => Math.floor(scheduler.now);
    const clock: Clock = { wall: now, monotonic: now, boot: "simulated" };
    this.store = this.#noting(options.store?.(clock) ?? createMemoryStore({ clock }));
  }

  start(program: Program, overrides: Overrides = {}): Process {
    this.#processes += 1;
    const actor: Actor = { name: `process ${String(this.#processes)}`, alive: true };
    const agent = program.agent(actor);
    const ports = portsFor(this.scheduler, actor, {
      store: this.store,
      access: this.#access,
      agents: new Map([[agent.agent.name, agent]]),
      model: program.model(actor),
      exec: noExec,
      chance: this.chance,
      limits: this.#limits,
      notes: this.notes,
    });
    const options = { name: actor.name, concurrency: 2, pollMs: 1_000, host: "here", maxAttempts: 50 };
    return { actor, worker: startWorker({ ...ports, ...overrides.ports }, { ...options, ...overrides.worker }) };
  }

  /** The store itself, with a note of what each announcement was told. */
  #noting(store: Store): Store {
    const append: Store["append"] = async (params) => {
      const receipt = await store.append(params);
      for (const { type, body } of params.drafts) {
        if (type !== "ToolStarted") continue;
        const { invocationId } = JSON.parse(body) as EventOf<"ToolStarted">;
        this.announced.set(invocationId, receipt.inboxSeq);
      }
      return receipt;
    };
    return { ...store, append };
  }

  /** Creates a task whose objective is its first Say. */
  async create(
    taskId: string,
    event: Pick<EventOf<"TaskCreated">, "agent" | "config" | "objective" | "onInterrupt" | "mode"> & {
      readonly owner?: string;
    },
  ): Promise<void> {
    const origin = { frontEnd: "simulation", place: PLACE, conversation: "one", private: false };
    const created: EventOf<"TaskCreated"> = { type: "TaskCreated", owner: OWNER, origin, root: taskId, ...event };
    const state = createState(taskId, { seq: 1, at: 0, event: created });
    await this.store.createTask({
      task: { taskId, secret: this.chance.bytes(32), columns: columnsOf(state), rows: [] },
      drafts: sealEvents(nodeHasher, { seq: 0, chain: FIRST_CHAIN }, [created], () => this.chance.bytes(16)),
      items: [{ by: created.owner, key: "objective", item: { type: "Say", text: event.objective } }],
    });
  }

  post(taskId: string, item: NewItem, key = `post ${this.chance.id()}`, by = OWNER): Promise<PostReceipt> {
    return this.store.post({ taskId, by, key, item });
  }

  /** Posts as another, past every check of a front end. Gives the inbox seq. */
  async meddle(taskId: string, by: string, item: NewItem, key: string): Promise<number> {
    return (await this.store.post({ taskId, by, key, item })).seq;
  }

  async read(taskId: string): Promise<Recorded[]> {
    const entries = await this.store.read({ taskId });
    return entries.map(({ seq, at, type, body }) => ({ seq, at, event: decodeEvent(type, body) }));
  }

  async print(taskId: string): Promise<string> {
    return printLog(await this.read(taskId));
  }

  /** Lets things happen until the task waits or has ended with nothing untaken. False when that never comes. */
  async settle(taskId: string): Promise<boolean> {
    let settled = false;
    const look = async (): Promise<void> => {
      for (;;) {
        const row = await this.store.getTask({ taskId });
        const rests = row?.status === "waiting" || row?.status === "ended";
        settled = rests && row.claimedBy === null && (row.status === "ended" || row.inboxSeq === row.inboxTaken);
        if (settled) return;
        await this.scheduler.sleep(this.person, 10);
      }
    };
    const looking = look();
    await this.scheduler.run(() => settled);
    if (settled) await looking;
    return settled;
  }
}
