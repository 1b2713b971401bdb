// What perdure.config.ts may hold, and how agents are written down there.
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Mode } from "../core/events.ts";
import { SettingsChange, type Settings } from "../core/items.ts";
import type { Model, Prices } from "../model/model.ts";
import type { Agent, Plugin, Tool } from "../plugins/plugin.ts";

export interface AgentConfig {
  readonly name: string;
  /** The first line of the system prompt: who it is. */
  readonly identity?: string;
  readonly system?: string;
  /** Its model where neither a flag nor the environment names one. */
  readonly model?: string;
  readonly settings?: Omit<Settings, "model" | "workspace">;
  /** Default `conversation`. */
  readonly mode?: Mode;
  /** What a task does that was stopped in mid-turn: go on by itself (the default), or wait for a resume. */
  readonly onInterrupt?: "continue" | "pause";
  readonly plugins?: readonly Plugin[];
  /** Tools of its own, beside those of its plugins. They become a plugin named `tools`. */
  readonly tools?: readonly Tool[];
}

export interface Config {
  readonly agents?: readonly AgentConfig[];
  /** The agent that is used where none is named; without it, the first. */
  readonly agent?: string;
  /** The model of agents that name none. */
  readonly model?: string;
  /** Models by the name that settings and logs call them. */
  readonly models?: Readonly<Record<string, Model>>;
  /** Prices per million tokens, by model, for estimates in the log. */
  readonly prices?: Prices;
  /** Model calls at once in one process. Default 4. */
  readonly modelConcurrency?: number;
  /** Of these, for one principal at the most. Default 1. */
  readonly modelConcurrencyPerPrincipal?: number;
  /** Keys and addresses of models by name, such as ANTHROPIC_API_KEY; without it, the environment's. */
  readonly secret?: (name: string) => string | undefined | Promise<string | undefined>;
  /** Path of the database, from this file's folder. */
  readonly db?: string;
  /** Where tools work, from this file's folder. */
  readonly workspace?: string;
  /** How long a claim holds without being renewed. */
  readonly leaseMs?: number;
  /** Workers close conversations that have been at rest for so long, such as `30d`. Default never. */
  readonly closeIdleAfter?: string;
}

/** Gives perdure.config.ts its types. */
export const defineConfig = (config: Config): Config => config;

/** Gives an agent's description its types. */
export const defineAgent = (agent: AgentConfig): AgentConfig => agent;

/** The agent that a description stands for; `model` is for one that names none. Names are checked when it is prepared. */
export const agentOf = (config: AgentConfig, model: string): Agent => {
  const { name, plugins = [], tools = [] } = config;
  const own: Plugin[] = tools.length === 0 ? [] : [{ name: "tools", version: "1", tools }];
  return {
    name,
    identity: config.identity ?? `You are ${name}.`,
    system: config.system ?? "",
    settings: { ...config.settings, model: config.model ?? model },
    mode: config.mode ?? "conversation",
    onInterrupt: config.onInterrupt ?? "continue",
    plugins: [...plugins, ...own],
  };
};

const strict = { additionalProperties: false };
const optional = Type.Optional;
const named = Type.Object({ name: Type.String({ minLength: 1 }) });
const words = (...values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)));

const agentSchema = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    identity: optional(Type.String()),
    system: optional(Type.String()),
    model: optional(Type.String({ minLength: 1 })),
    settings: optional(Type.Omit(SettingsChange, ["model", "workspace"], strict)),
    mode: optional(words("conversation", "run", "oneShot")),
    onInterrupt: optional(words("continue", "pause")),
    plugins: optional(Type.Array(named)),
    tools: optional(Type.Array(named)),
  },
  strict,
);

const price = Type.Number({ minimum: 0 });
const priceSchema = Type.Object(
  { input: price, output: price, cacheRead: optional(price), cacheWrite: optional(price) },
  strict,
);

const configSchema = Compile(
  Type.Object(
    {
      agents: optional(Type.Array(agentSchema, { minItems: 1 })),
      agent: optional(Type.String()),
      model: optional(Type.String({ minLength: 1 })),
      models: optional(Type.Record(Type.String(), Type.Object({}))),
      prices: optional(Type.Record(Type.String(), priceSchema)),
      modelConcurrency: optional(Type.Integer({ minimum: 1 })),
      modelConcurrencyPerPrincipal: optional(Type.Integer({ minimum: 1 })),
      secret: optional(Type.Unsafe<unknown>({})),
      db: optional(Type.String({ minLength: 1 })),
      workspace: optional(Type.String({ minLength: 1 })),
      leaseMs: optional(Type.Integer({ minimum: 100 })),
      closeIdleAfter: optional(Type.String({ minLength: 1 })),
    },
    strict,
  ),
);

/** Keywords that only say that another failed. */
const summaries: readonly string[] = ["anyOf", "boolean"];

const schemaFault = (value: unknown): string | null => {
  const error = configSchema.Errors(value).find(({ keyword }) => !summaries.includes(keyword));
  if (error === undefined) return null;
  const unknown = (error.params as { additionalProperties?: readonly string[] }).additionalProperties ?? [];
  const where = error.instancePath.split("/").slice(1).join(".") || "it";
  return unknown.length > 0 ? `${where} has no field ${unknown.join(", ")}` : `${where} ${error.message}`;
};

const twice = (names: readonly string[]): string | undefined =>
  names.find((name, index) => names.indexOf(name) !== index);

/** Why a value is no configuration; null when it is one. */
export const configFault = (value: unknown): string | null => {
  const fault = schemaFault(value);
  if (fault !== null) return fault;
  const { agents = [], agent, models = {}, secret } = value as Config;
  if (secret !== undefined && typeof secret !== "function") return "secret must be a function from a name to a secret";
  const names = agents.map((each) => each.name);
  const doubled = twice(names);
  if (doubled !== undefined) return `two agents are named ${doubled}`;
  if (agent !== undefined && !names.includes(agent)) return `agent names ${agent}, which is not among agents`;
  const hollow = Object.entries(models).find(([, model]) => typeof (model as Partial<Model>).stream !== "function");
  return hollow === undefined ? null : `models.${hollow[0]} is no model: it has no stream method`;
};
