// perdure inside a program: a store, agents and a worker in this process, and tasks as values to talk to.
import { hostname } from "node:os";
import { realpath } from "node:fs/promises";
import type { Access } from "../access/access.ts";
import { openAccess } from "../access/local/local.ts";
import type { Client } from "../client/client.ts";
import { createTask } from "../client/create-task.ts";
import { findTask } from "../client/find-task.ts";
import { listTasks, type ListedTask } from "../client/list-tasks.ts";
import { post } from "../client/post.ts";
import { agentOf, type AgentConfig } from "../config/config.ts";
import type { Mode } from "../core/events.ts";
import type { ApprovalPolicy } from "../core/approval.ts";
import type { Settings } from "../core/items.ts";
import { createLocalExec } from "../exec/local/local.ts";
import { noExec } from "../exec/none/none.ts";
import type { Model, Prices } from "../model/model.ts";
import type { Secrets } from "../model/ai-sdk/named.ts";
import type { SlotLimits } from "../model/queue.ts";
import type { PreparedAgent } from "../plugins/plugin.ts";
import { prepareAgent } from "../plugins/prepare.ts";
import type { RunnerLimits, Watcher } from "../runner/ports.ts";
import { DEFAULT_MODEL, loadModel } from "../models.ts";
import { createCorrections, type Corrections } from "../corrections.ts";
import { lockInstance, type InstanceLock } from "../instance-lock.ts";
import { createClient, createRunnerPorts, patient } from "../runtime.ts";
import type { ListParams, PostReceipt, Store } from "../store/store.ts";
import { isPostgresUrl } from "../stores.ts";
import { buildOf, processBuild, snapshotVersionsOf } from "../versions.ts";
import { defaultWorkerOptions, startWorker, type Worker, type WorkerOptions } from "../worker/worker.ts";
import { createDeltaFeed, type DeltaFeed } from "./delta-feed.ts";
import { createModelNames, type ModelNames } from "./model-names.ts";
import { createTaskHandle, type PostOptions, type Task } from "./task.ts";

export interface RuntimeOptions {
  /** Where the tasks live. The runtime does not close it. */
  readonly store: Store;
  /** The first is used where none is named. */
  readonly agents: readonly [AgentConfig, ...AgentConfig[]];
  /** The model of agents that name none. Default `demo`. */
  readonly model?: string;
  /** Models by the name that agents, settings and logs call them. */
  readonly models?: Readonly<Record<string, Model>>;
  /** Keys and addresses of providers by the name of their variable, such as `ANTHROPIC_API_KEY`. Default: the environment. */
  readonly secret?: Secrets;
  /** Which calls of any agent are asked for or denied, beside what the agent's own `approvals` say. */
  readonly approvals?: ApprovalPolicy;
  /** For estimates of what model calls cost; by model name. */
  readonly prices?: Prices;
  /** The folder in which tools work, for tasks that name none; without one they have no files and no processes. */
  readonly workspace?: string;
  /** Who asks: an authenticated identity, `kind:id`. Default `local:root`. See `as`. */
  readonly principal?: string;
  /** Where tasks of this program live. Default `library`. */
  readonly place?: string;
  /**
   * Who may see and act in which place, and read which sources. Default: everybody everywhere, for whoever calls `as` has
   * checked who that is. An answer is remembered for two seconds; an error, or none in as long, is a no.
   */
  readonly access?: Access;
  /** The worker in this process; `false` for none: then this program only posts, and workers elsewhere work. */
  readonly worker?:
    Partial<Pick<WorkerOptions, "name" | "concurrency" | "pollMs" | "queues" | "closeIdleAfterMs">> | false;
  /**
   * No other process that asks for the same may run on this store, which is one in a file: it is locked until `close`, or
   * the end of the process. To lock it before it is opened, ask `openSqliteStore` for the same. Default false.
   */
  readonly singleProcess?: boolean;
  /** `import.meta.url` of the module that defines the agents: another text of it, or of what it imports, is another build. */
  readonly module?: string;
  readonly limits?: Partial<RunnerLimits>;
  /** Model calls at once in this process (4), and of these for one principal (1). */
  readonly modelSlots?: Partial<SlotLimits>;
  /** Told what an operator should know: a lease lost, a task held, a turn that failed. */
  readonly note?: Watcher["note"];
}

export interface NewTaskOptions {
  readonly agent?: string;
  readonly model?: string;
  readonly mode?: Mode;
  readonly onInterrupt?: "continue" | "pause";
  readonly settings?: Omit<Partial<Settings>, "model" | "workspace">;
  readonly workspace?: string;
  readonly private?: boolean;
  /** Unique per principal and place: a second creation with it gives the first one's task. */
  readonly key?: string;
}

/** Tasks as one principal may see them. */
export interface Tasks {
  /** Starts a task. Acknowledged means committed: a worker will get to it, in this process or in another. */
  create(objective: string, options?: NewTaskOptions): Promise<Task>;
  /** The task with this id, or the one whose id begins so. Codes: `not_found`, `ambiguous`. */
  task(idOrPrefix: string): Promise<Task>;
  /**
   * A correction, by the owner or by a collaborator of a public task, who must name it by its whole id and is told nothing of
   * it. Codes: as of a `Task`'s posts, and `not_found`.
   */
  steer(taskId: string, text: string, options?: PostOptions): Promise<PostReceipt>;
  /** Newest first; ten unless told. */
  list(params?: Pick<ListParams, "status" | "after"> & { readonly limit?: number }): Promise<readonly ListedTask[]>;
}

export interface Runtime extends Tasks, AsyncDisposable {
  /** The same for another principal, in another place if one is named. Who that is has been checked by the caller. */
  as(principal: string, place?: string): Tasks;
  /** Lets the worker finish the step of each running task and give the tasks back. Does not close the store. Repeatable. */
  close(): Promise<void>;
}

const FRONT_END = "library";

interface Parts {
  readonly options: RuntimeOptions;
  readonly agents: ReadonlyMap<string, PreparedAgent>;
  readonly models: ModelNames;
  readonly feed: DeltaFeed;
  readonly access: Access;
  readonly corrections: Corrections;
}

const prepareAgents = async ({
  agents,
  model,
  module,
  approvals,
}: RuntimeOptions): Promise<Map<string, PreparedAgent>> => {
  const options = { build: processBuild, ...(module === undefined ? {} : { module }) };
  const prepared = new Map<string, PreparedAgent>();
  for (const described of agents) {
    if (prepared.has(described.name)) throw new Error(`two agents are named ${described.name}`);
    prepared.set(described.name, await prepareAgent(agentOf(described, model ?? DEFAULT_MODEL, approvals), options));
  }
  return prepared;
};

const clientFor = ({ options: { store }, access, corrections }: Parts, principal: string, place: string): Client =>
  createClient({ store, access, corrections, principal, frontEnd: FRONT_END, place });

const workspaceOf = async (path: string | undefined): Promise<Pick<Settings, "workspace">> =>
  path === undefined ? {} : { workspace: { host: hostname(), path: await realpath(path) } };

const agentNamed = ({ agents, options }: Parts, name = options.agents[0].name): PreparedAgent => {
  const found = agents.get(name);
  if (found !== undefined) return found;
  throw new Error(`there is no agent ${JSON.stringify(name)}; known are ${[...agents.keys()].join(", ")}`);
};

const create = async (parts: Parts, client: Client, objective: string, asked: NewTaskOptions): Promise<Task> => {
  const { agent } = agentNamed(parts, asked.agent);
  const { workspace = parts.options.workspace, key } = asked;
  const model = asked.model ?? agent.settings.model;
  // Where it is worked elsewhere, the model is that process's affair.
  if (parts.options.worker !== false) await parts.models.open(model);
  const { taskId } = await createTask(client, {
    agent: agent.name,
    objective,
    settings: { ...agent.settings, ...asked.settings, model, ...(await workspaceOf(workspace)) },
    mode: asked.mode ?? agent.mode,
    onInterrupt: asked.onInterrupt ?? agent.onInterrupt,
    ...(asked.private === undefined ? {} : { private: asked.private }),
    ...(key === undefined ? {} : { key }),
  });
  return createTaskHandle(client, parts.feed, taskId);
};

const tasksOf = (parts: Parts, client: Client): Tasks => ({
  create: (objective, asked = {}) => create(parts, client, objective, asked),
  task: async (idOrPrefix) => createTaskHandle(client, parts.feed, (await findTask(client, idOrPrefix)).taskId),
  steer: (taskId, text, { key } = {}) =>
    post(client, { taskId, item: { type: "Steer", text }, ...(key === undefined ? {} : { key }) }),
  list: (params) => listTasks(client, params),
});

const startWorkerOf = async ({ options, agents, models, feed, access, corrections }: Parts): Promise<Worker | null> => {
  const { store, worker, module, limits, modelSlots: slots, prices, note } = options;
  if (worker === false) return null;
  const watcher: Watcher = {
    delta: (taskId, delta) => feed.give(taskId, delta),
    ...(note === undefined ? {} : { note }),
  };
  const ports = createRunnerPorts({
    ...{ store, agents, access, corrections },
    model: (name) => models.get(name),
    exec: (path) => Promise.resolve(path === null ? noExec : createLocalExec({ root: path })),
    snapshotVersions: await snapshotVersionsOf(agents),
    build: await buildOf(module),
    watcher,
    ...(prices === undefined ? {} : { prices }),
    ...(limits === undefined ? {} : { limits }),
    ...(slots === undefined ? {} : { slots }),
  });
  const name = `library ${String(process.pid)}@${hostname()}`;
  return startWorker(ports, { ...defaultWorkerOptions, name, host: hostname(), ...worker });
};

const lockOf = async ({ store, singleProcess = false }: RuntimeOptions): Promise<InstanceLock | null> => {
  if (!singleProcess) return null;
  if (store.name !== "memory" && !isPostgresUrl(store.name)) return lockInstance(store.name);
  throw new Error(`singleProcess is for a store in a file; ${store.name} is none`);
};

const open = async (options: RuntimeOptions, lock: InstanceLock | null): Promise<Runtime> => {
  const { models: named = {}, secret, principal = "local:root", place = FRONT_END } = options;
  const configured = { models: named, ...(secret === undefined ? {} : { secret }) };
  const agents = await prepareAgents(options);
  const models = createModelNames((name) => loadModel(name, configured, { cwd: process.cwd(), env: process.env }));
  const access = patient(options.access ?? openAccess);
  const parts: Parts = { options, agents, models, feed: createDeltaFeed(), access, corrections: createCorrections() };
  if (options.worker !== false) for (const { agent } of agents.values()) await models.open(agent.settings.model);
  const worker = await startWorkerOf(parts);
  const close = async (): Promise<void> => {
    await worker?.stop();
    await lock?.release();
  };
  return {
    ...tasksOf(parts, clientFor(parts, principal, place)),
    as: (other, elsewhere = place) => tasksOf(parts, clientFor(parts, other, elsewhere)),
    close,
    [Symbol.asyncDispose]: close,
  };
};

/**
 * Prepares the agents and begins to work: what an earlier process left is taken up at once. Throws for agents that do not
 * hold together (names that collide, schemas that do not compile), and for a model that an agent names and that cannot be
 * had here; InstanceHeld where another process has the store alone.
 */
export const createRuntime = async (options: RuntimeOptions): Promise<Runtime> => {
  const lock = await lockOf(options);
  try {
    return await open(options, lock);
  } catch (error) {
    await lock?.release();
    throw error;
  }
};
