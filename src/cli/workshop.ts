// What it takes to work one task in this process: the agents, its model, the exec, and the runner's ports.
import { hostname } from "node:os";
import { createLocalExec } from "../exec/local/local.ts";
import { ModelError, type Model } from "../model/model.ts";
import type { RunnerPorts, Watcher } from "../runner/ports.ts";
import { createRunnerPorts } from "../runtime.ts";
import type { Store, TaskRow } from "../store/store.ts";
import { snapshotVersionOf } from "../versions.ts";
import { offersOf } from "../worker/worker.ts";
import { prepareAgents, type Agents } from "./agents.ts";
import { CommandError, failureOf } from "./failure.ts";
import { loadModel } from "../models.ts";
import type { Program } from "./program.ts";
import type { Given } from "./session.ts";

export interface Workshop {
  readonly agents: Agents;
  /** Makes a model ready under its name. Throws for one that cannot be had, unless nothing is to be asked of it: such a
   * task can still be stopped, and its actions settled. */
  addModel(name: string, options?: { readonly needed: boolean }): Promise<void>;
  /** Throws CommandError when this process lacks something that the task needs. */
  checkRequires(row: TaskRow): void;
  ports(store: Store, watcher: Watcher): RunnerPorts;
  readonly host: string;
}

const need = (requirement: string): string => {
  const [kind = "", name = ""] = requirement.split(":");
  if (kind === "host") return `the workspace on host ${name}`;
  return `the ${kind} ${name}, which is not configured here`;
};

const NOT_FOUND = 404;

/** A model that the task was given while this process worked it: opened when it is called. */
const lateModel = (name: string, load: (name: string) => Promise<Model>): Model => ({
  name,
  contextTokens: null,
  async *stream(request, options) {
    const model = await load(name).catch((cause: unknown) => {
      throw new ModelError("bad_request", failureOf(cause).message, { cause, status: NOT_FOUND });
    });
    yield* model.stream(request, options);
  },
});

/** Throws ConfigError for agents that do not hold together. */
export const openWorkshop = async (program: Program, { loaded, settings }: Given): Promise<Workshop> => {
  const agents = await prepareAgents(loaded);
  const { prepared, build } = agents;
  const host = hostname();
  const offers = new Set(offersOf(prepared, host));
  const models = new Map<string, Model>();
  const absent = new Map<string, string>();
  const load = (name: string): Promise<Model> => loadModel(name, loaded.config, program);
  const versions = await Promise.all(
    [...prepared].map(async ([name, agent]) => [name, await snapshotVersionOf(agent)] as const),
  );
  return {
    agents,
    host,
    addModel: async (name, { needed } = { needed: true }) => {
      try {
        models.set(name, await load(name));
      } catch (error) {
        if (needed) throw error;
        absent.set(name, failureOf(error).message);
      }
    },
    checkRequires: ({ taskId, requires }) => {
      const missing = requires.filter((requirement) => !offers.has(requirement));
      if (missing.length > 0) throw new CommandError(`task ${taskId} needs ${missing.map(need).join(" and ")}`);
    },
    ports: (store, watcher) =>
      createRunnerPorts({
        store,
        agents: prepared,
        model: (name) => {
          const why = absent.get(name);
          if (why !== undefined) throw new Error(why);
          return models.get(name) ?? lateModel(name, load);
        },
        exec: async (workspace) => {
          if (workspace === null) throw new Error("the task has no workspace");
          return Promise.resolve(createLocalExec({ root: workspace }));
        },
        snapshotVersions: new Map(versions),
        build,
        limits: { leaseMs: settings.leaseMs },
        prices: loaded.config.prices ?? {},
        watcher,
      }),
  };
};
