// What it takes to work tasks in this process: the agents, their models, the exec, and the runner's ports.
import { hostname } from "node:os";
import { openAccess } from "../access/local/local.ts";
import { createLocalExec } from "../exec/local/local.ts";
import { noExec } from "../exec/none/none.ts";
import type { Config } from "../config/config.ts";
import { createModelNames } from "../library/model-names.ts";
import type { SlotLimits } from "../model/queue.ts";
import type { RunnerPorts, Watcher } from "../runner/ports.ts";
import { createRunnerPorts } from "../runtime.ts";
import type { Store, TaskRow } from "../store/store.ts";
import { snapshotVersionsOf } from "../versions.ts";
import { offersOf } from "../worker/worker.ts";
import { prepareAgents, type Agents } from "./agents.ts";
import { loadModel } from "../models.ts";
import { CommandError } from "./failure.ts";
import type { Program } from "./program.ts";
import type { Given } from "./session.ts";

export interface Workshop {
  readonly agents: Agents;
  /** Makes a model ready under its name; any other is opened by its first call. Throws for one that cannot be had, unless
   * nothing is to be asked of it: such a task can still be stopped, and its actions settled. */
  addModel(name: string, options?: { readonly needed: boolean }): Promise<void>;
  /** Throws CommandError when this process lacks something that the task needs. */
  checkRequires(row: TaskRow): void;
  ports(store: Store, watcher: Watcher): RunnerPorts;
  readonly host: string;
}

const slotsOf = ({ modelConcurrency, modelConcurrencyPerPrincipal }: Config): Partial<SlotLimits> => ({
  ...(modelConcurrency === undefined ? {} : { concurrency: modelConcurrency }),
  ...(modelConcurrencyPerPrincipal === undefined ? {} : { perPrincipal: modelConcurrencyPerPrincipal }),
});

const need = (requirement: string): string => {
  const [kind = "", name = ""] = requirement.split(":");
  if (kind === "host") return `the workspace on host ${name}`;
  return `the ${kind} ${name}, which is not configured here`;
};

/** Throws ConfigError for agents that do not hold together. */
export const openWorkshop = async (
  program: Program,
  { loaded, settings, access, corrections }: Given,
): Promise<Workshop> => {
  const agents = await prepareAgents(loaded);
  const { prepared, build } = agents;
  const host = hostname();
  const offers = new Set(offersOf(prepared, host));
  const models = createModelNames((name) => loadModel(name, loaded.config, program));
  const snapshotVersions = await snapshotVersionsOf(prepared);
  return {
    agents,
    host,
    addModel: async (name, { needed } = { needed: true }) => {
      await models.open(name).catch((error: unknown) => {
        if (needed) throw error;
      });
    },
    checkRequires: ({ taskId, requires }) => {
      const missing = requires.filter((requirement) => !offers.has(requirement));
      if (missing.length > 0) throw new CommandError(`task ${taskId} needs ${missing.map(need).join(" and ")}`);
    },
    ports: (store, watcher) =>
      createRunnerPorts({
        // Without rules, what a front end took was checked there; a worker serves the tasks of all of them.
        ...{ store, access: loaded.config.access === undefined ? openAccess : access, corrections },
        agents: prepared,
        model: (name) => models.get(name),
        exec: (workspace) => Promise.resolve(workspace === null ? noExec : createLocalExec({ root: workspace })),
        snapshotVersions,
        build,
        limits: {
          leaseMs: settings.leaseMs,
          ...(settings.snapshotEvery === undefined ? {} : { snapshotEvery: settings.snapshotEvery }),
        },
        prices: loaded.config.prices ?? {},
        slots: slotsOf(loaded.config),
        watcher,
      }),
  };
};
