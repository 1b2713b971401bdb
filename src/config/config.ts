// What perdure.config.ts may hold, and how agents are written down there.
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { strictest, type ApprovalPolicy, type Verdict } from "../core/approval.ts";
import type { Access, AccessRules } from "../access/access.ts";
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
  readonly settings?: Omit<Settings, "model" | "workspace" | "autoApprove">;
  /** Default `conversation`. */
  readonly mode?: Mode;
  /** What a task does that was stopped in mid-turn: go on by itself (the default), or wait for a resume. */
  readonly onInterrupt?: "continue" | "pause";
  readonly plugins?: readonly Plugin[];
  /** Tools of its own, beside those of its plugins. They become a plugin named `tools`. */
  readonly tools?: readonly Tool[];
  /** Which calls are asked for or denied, by effect and by tool name. */
  readonly approvals?: ApprovalPolicy;
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
  /** The same for every agent, beside its own: the strictest counts. */
  readonly approvals?: ApprovalPolicy;
  /** Path of the database, from this file's folder. */
  readonly db?: string;
  /** Where tools work, from this file's folder. */
  readonly workspace?: string;
  /** How long a claim holds without being renewed. */
  readonly leaseMs?: number;
  /**
   * Who may see and act in which place, and read which sources: written down, or a port of your own. Front ends and workers of
   * one database need the same. Default: whoever runs the command line, in its own place.
   */
  readonly access?: AccessRules | Access;
  /** `worker` and `start` run in one process alone for one database file; see `--single`. */
  readonly singleProcess?: boolean;
  /** Workers close conversations that have been at rest for so long, such as `30d`. Default never. */
  readonly closeIdleAfter?: string;
}

/** Gives perdure.config.ts its types. */
export const defineConfig = (config: Config): Config => config;

/** Gives an agent's description its types. */
export const defineAgent = (agent: AgentConfig): AgentConfig => agent;

const stricter = (one: Readonly<Record<string, Verdict>> = {}, other: Readonly<Record<string, Verdict>> = {}) =>
  Object.fromEntries(Object.keys({ ...one, ...other }).map((name) => [name, strictest([one[name], other[name]])]));

/**
 * The agent that a description stands for; `model` is for one that names none, `approvals` what holds for every agent. Names
 * are checked when it is prepared.
 */
export const agentOf = (config: AgentConfig, model: string, approvals: ApprovalPolicy = {}): Agent => {
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
    approvals: {
      effects: stricter(approvals.effects, config.approvals?.effects),
      tools: stricter(approvals.tools, config.approvals?.tools),
    },
  };
};

const strict = { additionalProperties: false };
const optional = Type.Optional;
const named = Type.Object({ name: Type.String({ minLength: 1 }) });
const words = (...values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)));

const verdict = words("allow", "ask", "deny");
const effects = { read: optional(verdict), internal: optional(verdict), write: optional(verdict) };
const approvalSchema = Type.Object(
  {
    effects: optional(Type.Object({ ...effects, destructive: optional(verdict) }, strict)),
    tools: optional(Type.Record(Type.String(), verdict)),
  },
  strict,
);

const agentSchema = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    identity: optional(Type.String()),
    system: optional(Type.String()),
    model: optional(Type.String({ minLength: 1 })),
    settings: optional(Type.Omit(SettingsChange, ["model", "workspace", "autoApprove"], strict)),
    mode: optional(words("conversation", "run", "oneShot")),
    onInterrupt: optional(words("continue", "pause")),
    plugins: optional(Type.Array(named)),
    tools: optional(Type.Array(named)),
    approvals: optional(approvalSchema),
  },
  strict,
);

const price = Type.Number({ minimum: 0 });
const priceSchema = Type.Object(
  { input: price, output: price, cacheRead: optional(price), cacheWrite: optional(price) },
  strict,
);

const allowed = Type.Union([Type.Literal("everyone"), Type.Array(Type.String({ pattern: "^[a-z]+:\\S+$" }))]);
const rulesSchema = Compile(
  Type.Object(
    {
      principals: optional(Type.Array(Type.String({ pattern: "^[a-z]+:\\S+$" }))),
      places: Type.Record(Type.String(), allowed),
      sources: optional(Type.Record(Type.String(), allowed)),
    },
    strict,
  ),
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
      approvals: optional(approvalSchema),
      db: optional(Type.String({ minLength: 1 })),
      workspace: optional(Type.String({ minLength: 1 })),
      leaseMs: optional(Type.Integer({ minimum: 100 })),
      access: optional(Type.Object({})),
      singleProcess: optional(Type.Boolean()),
      closeIdleAfter: optional(Type.String({ minLength: 1 })),
    },
    strict,
  ),
);

/** Keywords that only say that another failed. */
const summaries: readonly string[] = ["anyOf", "boolean"];

const schemaFault = (value: unknown, schema = configSchema as Pick<typeof configSchema, "Errors">): string | null => {
  const error = schema.Errors(value).find(({ keyword }) => !summaries.includes(keyword));
  if (error === undefined) return null;
  const unknown = (error.params as { additionalProperties?: readonly string[] }).additionalProperties ?? [];
  const where = error.instancePath.split("/").slice(1).join(".") || "it";
  return unknown.length > 0 ? `${where} has no field ${unknown.join(", ")}` : `${where} ${error.message}`;
};

/** A port of its own has a `may`; anything else must be rules. */
const accessFault = (access: Config["access"]): string | null => {
  if (access === undefined || ("may" in access && typeof access.may === "function")) return null;
  const fault = schemaFault(access, rulesSchema);
  return fault === null ? null : `access: ${fault} (it takes principals, places and sources, or a port with a may)`;
};

const twice = (names: readonly string[]): string | undefined =>
  names.find((name, index) => names.indexOf(name) !== index);

/** Why a value is no configuration; null when it is one. */
export const configFault = (value: unknown): string | null => {
  const fault = schemaFault(value);
  if (fault !== null) return fault;
  const { agents = [], agent, models = {}, secret } = value as Config;
  if (secret !== undefined && typeof secret !== "function") return "secret must be a function from a name to a secret";
  const closed = accessFault((value as Config).access);
  if (closed !== null) return closed;
  const names = agents.map((each) => each.name);
  const doubled = twice(names);
  if (doubled !== undefined) return `two agents are named ${doubled}`;
  if (agent !== undefined && !names.includes(agent)) return `agent names ${agent}, which is not among agents`;
  const hollow = Object.entries(models).find(([, model]) => typeof (model as Partial<Model>).stream !== "function");
  return hollow === undefined ? null : `models.${hollow[0]} is no model: it has no stream method`;
};
