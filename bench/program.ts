// A whole perdure in this process, as an embedder would put it together: ports, a client, a worker.
import type { Client } from "../src/client/client.ts";
import { createTask } from "../src/client/create-task.ts";
import type { Model } from "../src/model/model.ts";
import type { PreparedAgent } from "../src/plugins/plugin.ts";
import type { RunnerPorts } from "../src/runner/ports.ts";
import { createClient, createRunnerPorts } from "../src/runtime.ts";
import type { Store } from "../src/store/store.ts";
import { buildOf, snapshotVersionOf } from "../src/versions.ts";
import { defaultWorkerOptions, startWorker, type Worker, type WorkerOptions } from "../src/worker/worker.ts";

export interface ProgramParts {
  readonly store: Store;
  readonly agent: PreparedAgent;
  readonly model: Model;
  /** Default true. */
  readonly snapshots?: boolean;
  /** Model calls at once; perdure's default unless given. */
  readonly modelCalls?: number;
}

export interface Program extends ProgramParts {
  readonly ports: RunnerPorts;
  readonly client: Client;
}

const noWorkspace = (): Promise<never> => Promise.reject(new Error("this agent has no workspace"));

/** The tools of these agents never touch a workspace. */
const exec = {
  root: "/",
  resolve: noWorkspace,
  stat: noWorkspace,
  readFile: noWorkspace,
  writeFile: noWorkspace,
  run: noWorkspace,
};

export const createProgram = async (parts: ProgramParts): Promise<Program> => {
  const { store, agent, model, snapshots = true, modelCalls } = parts;
  const version = await snapshotVersionOf(agent);
  const ports = createRunnerPorts({
    // One principal owns all tasks of a run; what is measured is not its turn.
    slots: { concurrency: 4, perPrincipal: 4 },
    store,
    agents: new Map([[agent.agent.name, agent]]),
    model: () => model,
    exec: () => Promise.resolve(exec),
    ...(snapshots ? { snapshotVersions: new Map([[agent.agent.name, version]]) } : {}),
    build: await buildOf(),
    ...(modelCalls === undefined ? {} : { slots: { concurrency: modelCalls, perPrincipal: modelCalls } }),
    watcher: {
      note: (taskId, message) => {
        process.stderr.write(`${taskId}: ${message}\n`);
      },
    },
  });
  const client = createClient({ store, principal: "bench:one", frontEnd: "bench", place: "here" });
  return { ...parts, ports, client };
};

/** Creates a task; its id. A turn of it is never cut by its number of steps. */
export const newTask = async ({ client, agent: { agent } }: Program): Promise<string> => {
  const settings = { ...agent.settings, maxSteps: Number.MAX_SAFE_INTEGER };
  const { name, mode, onInterrupt } = agent;
  const receipt = await createTask(client, { agent: name, settings, objective: "Go on.", mode, onInterrupt });
  return receipt.taskId;
};

export const work = (program: Program, options: Partial<WorkerOptions> = {}): Worker =>
  startWorker(program.ports, { ...defaultWorkerOptions, name: "bench", host: "bench", ...options });
