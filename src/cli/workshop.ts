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
import { loadModel } from "./models.ts";
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

/** Stands for a model that cannot be had. */
const absentModel = (name: string, why: string): Model => ({
  name,
  contextTokens: null,
  stream: () => {
    throw new ModelError("bad_request", why);
  },
});

/** Throws ConfigError for agents that do not hold together. */
export const openWorkshop = async (program: Program, { loaded, settings }: Given): Promise<Workshop> => {
  const agents = await prepareAgents(loaded);
  const { prepared, build } = agents;
  const host = hostname();
  const offers = new Set(offersOf(prepared, host));
  const models = new Map<string, Model>();
  const versions = await Promise.all(
    [...prepared].map(async ([name, agent]) => [name, await snapshotVersionOf(agent)] as const),
  );
  return {
    agents,
    host,
    addModel: async (name, { needed } = { needed: true }) => {
      const model = await loadModel(name, loaded.config, program).catch((error: unknown) => {
        if (needed) throw error;
        return absentModel(name, failureOf(error).message);
      });
      models.set(name, model);
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
          const model = models.get(name);
          if (model === undefined) throw new Error(`the model ${name} is not open in this process`);
          return model;
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
