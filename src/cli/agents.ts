// The agents that this configuration knows, made ready to run; without a configuration, one that works on files.
import { pathToFileURL } from "node:url";
import { agentOf, type AgentConfig } from "../config/config.ts";
import { ConfigError, type LoadedConfig } from "../config/load.ts";
import { ask } from "../plugins/ask/ask.ts";
import { fs } from "../plugins/fs/fs.ts";
import { plan } from "../plugins/plan/plan.ts";
import type { PreparedAgent } from "../plugins/plugin.ts";
import { prepareAgent } from "../plugins/prepare.ts";
import { buildOf, processBuild } from "../versions.ts";
import { CommandError } from "./failure.ts";
import { DEFAULT_MODEL } from "../models.ts";

const defaultAgent = (): AgentConfig => ({
  name: "default",
  identity: "You are an agent that does tasks in one folder of files.",
  system: [
    "Use the tools to look before you answer: say what is in the files, not what is likely to be.",
    "Change only what the task asks for. When something cannot be done, say what and why.",
    "Answer briefly.",
  ].join("\n"),
  plugins: [fs(), plan(), ask()],
});

export interface Agents {
  readonly prepared: ReadonlyMap<string, PreparedAgent>;
  /** The name of the one to use where none is asked for. */
  readonly first: string;
  /** Names this code and its configuration. */
  readonly build: string;
}

/** Throws ConfigError for names that collide, schemas that do not compile and the like. */
export const prepareAgents = async ({ config, path }: LoadedConfig): Promise<Agents> => {
  const { agents = [defaultAgent()], model = DEFAULT_MODEL, approvals } = config;
  const module = path === null ? undefined : pathToFileURL(path).href;
  const options = { build: processBuild, ...(module === undefined ? {} : { module }) };
  const prepared = new Map<string, PreparedAgent>();
  for (const described of agents) {
    try {
      prepared.set(described.name, await prepareAgent(agentOf(described, model, approvals), options));
    } catch (cause) {
      if (path === null) throw cause;
      throw new ConfigError(`${path}: agent ${described.name}: ${(cause as Error).message}`, { cause });
    }
  }
  const [first = ""] = prepared.keys();
  return { prepared, first: config.agent ?? first, build: await buildOf(module) };
};

/** The agent of that name, or the first. Throws CommandError, which names those there are. */
export const chooseAgent = ({ prepared, first }: Agents, name: string | undefined): PreparedAgent => {
  const chosen = prepared.get(name ?? first);
  if (chosen !== undefined) return chosen;
  throw new CommandError(`there is no agent ${JSON.stringify(name)}; known are ${[...prepared.keys()].join(", ")}`);
};
