// The outside world of a simulation: effects are counted here, away from the store, and the truth about them is known.
import { decodeEvent } from "../../core/codec.ts";
import { fold } from "../../core/fold.ts";
import { textOf, type CallPart } from "../../core/messages.ts";
import type { ModelRequest } from "../../core/request.ts";
import { ModelError, type Model, type ModelContext, type ModelReply } from "../../model/model.ts";
import { ask } from "../../plugins/ask/ask.ts";
import { plan } from "../../plugins/plan/plan.ts";
import type { Saved } from "../../plugins/plan/saved.ts";
import type { Agent, Plugin, PreparedAgent, PreparedTool, Tool, ToolContext } from "../../plugins/plugin.ts";
import { prepareAgent } from "../../plugins/prepare.ts";
import type { Store } from "../../store/store.ts";
import { closingCalls, pluginInput, savedIn } from "./plugin-calls.ts";
import type { Actor, Scheduler } from "./scheduler.ts";
import { simulatedLimits, type Program } from "./system.ts";

/** One time that a handler's effect took place. */
export interface Effect {
  readonly tool: string;
  readonly callId: string;
  readonly invocationId: string;
  readonly fence: number;
  readonly actor: string;
  readonly value: string;
  /** The newest fence of the task when it took place. */
  readonly newestFence: number;
  /** It took place more than half a lease after its dispatch: the window that is documented, and that nothing closes. */
  readonly stalled: boolean;
  /** The inbox's last seq that the append of its ToolStarted told of, and what was taken when it took effect. */
  readonly inboxSeen: number;
  readonly inboxTaken: number;
  /** Its ToolStarted was in the log when it took place. */
  readonly announced: boolean;
}

/** One request as the model got it. */
export interface Sent {
  readonly request: ModelRequest;
  readonly replies: number;
  readonly attempt: number;
  /** The task's revision when it was announced. */
  readonly revision: number;
}

/** One reply of the script: calls, or words. */
export type Scripted = { readonly calls: readonly { name: string; value: string }[] } | { readonly text: string };

const inputSchema = { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
const nothing = (): never => {
  throw new Error("each process has handlers of its own");
};
const tool = (name: string, more: Partial<Tool> & Pick<Tool, "effect">): Tool => ({
  name,
  description: `${name} a value`,
  inputSchema,
  execute: nothing,
  ...more,
});

/** `look` reads; `put` can verify itself; `send` cannot; `pay` is idempotent by its invocation id. */
const plugin: Plugin = {
  name: "world",
  version: "1",
  tools: [
    tool("look", { effect: "read" }),
    tool("put", { effect: "write", verify: nothing }),
    tool("send", { effect: "write" }),
    tool("pay", { effect: "write", idempotent: { ttlMs: 3_600_000 } }),
  ],
};

/** `drop` is asked for. In seeds with approvals alone: the tools of the others are those that they found their bugs with. */
const guarded: Plugin = {
  name: "guarded",
  version: "1",
  tools: [tool("drop", { effect: "destructive", approval: "ask", items: ({ value }: { value: string }) => [value] })],
};

const agentOf = (onInterrupt: Agent["onInterrupt"], asks = false): Agent => ({
  name: "simulated",
  identity: "You are simulated.",
  system: "Do as the script says.",
  settings: { model: "script" },
  mode: "conversation",
  onInterrupt,
  plugins: [plugin, plan(), ask(), ...(asks ? [guarded] : [])],
});

const plain = await prepareAgent(agentOf("continue"), { build: "simulation" });
const asking = await prepareAgent(agentOf("continue", true), { build: "simulation" });

const inputsOf = (calls: readonly { readonly name: string; readonly value: string }[], saved: Saved) =>
  calls.map(({ name, value }) => ({ name, input: pluginInput(name, value, saved) ?? { value } }));

/** What the world needs to know of the system that acts on it. */
export interface WorldSystem {
  readonly scheduler: Scheduler;
  readonly store: Store;
  /** By invocation id: the inbox's last seq that the append of its ToolStarted told of. */
  readonly announced: ReadonlyMap<string, number>;
}

export class World implements Program {
  readonly effects: Effect[] = [];
  readonly sent: Sent[] = [];
  readonly idempotent: ReadonlySet<string> = new Set(["pay"]);
  readonly agentSettings: Agent;
  readonly reducers = plain.reducers;
  readonly #prepared: PreparedAgent;
  readonly #files = new Map<string, string>();
  readonly #scheduler: Scheduler;
  readonly #store: Store;
  readonly #announced: WorldSystem["announced"];
  readonly #script: readonly Scripted[];

  constructor(system: WorldSystem, script: readonly Scripted[], onInterrupt: Agent["onInterrupt"], asks = false) {
    this.#prepared = asks ? asking : plain;
    this.#scheduler = system.scheduler;
    this.#store = system.store;
    this.#announced = system.announced;
    this.#script = script;
    this.agentSettings = agentOf(onInterrupt, asks);
  }

  /** Whether the effect of a call took place. */
  happened(callId: string): boolean {
    return this.effects.some((effect) => effect.callId === callId && effect.tool !== "look");
  }

  async #effect(actor: Actor, name: string, value: string, at: number, context: ToolContext): Promise<void> {
    const { taskId, callId, invocationId, fence } = context;
    const row = await this.#store.getTask({ taskId });
    const log = await this.#store.read({ taskId });
    const announced = log.some((entry) => entry.type === "ToolStarted" && entry.body.includes(`"${invocationId}"`));
    const newestFence = row?.fence ?? 0;
    const stalled = this.#scheduler.now - at >= simulatedLimits.leaseMs / 2;
    const who = { tool: name, callId, invocationId, fence, actor: actor.name, value };
    const inboxSeen = this.#announced.get(invocationId) ?? 0;
    const inboxTaken = row?.inboxTaken ?? 0;
    this.effects.push({ ...who, newestFence, stalled, inboxSeen, inboxTaken, announced });
    if (name === "put") this.#files.set(callId, value);
  }

  #handlers(actor: Actor, { tool, plugin: owner }: PreparedTool): Pick<Tool, "execute" | "verify"> {
    const { name, verify } = tool;
    if (owner.name !== plugin.name && owner.name !== guarded.name) {
      return {
        execute: (input, context) =>
          this.#scheduler.port(actor, `tool.${name}`, async () => tool.execute(input, context)),
      };
    }
    return {
      execute: (input: { value: string }, context: ToolContext) => {
        const at = this.#scheduler.now;
        return this.#scheduler.port(actor, `tool.${name}`, async () => {
          await this.#effect(actor, name, input.value, at, context);
          return `${name} ${input.value}`;
        });
      },
      ...(verify === undefined
        ? {}
        : {
            verify: ({ callId }) =>
              this.#scheduler.port(actor, "tool.verify", () => (this.#files.has(callId) ? "done" : "absent")),
          }),
    };
  }

  agent(actor: Actor): PreparedAgent {
    const prepared = this.#prepared;
    const tools = [...prepared.tools].map(([name, one]): [string, PreparedTool] => [
      name,
      { ...one, tool: { ...one.tool, ...this.#handlers(actor, one) } },
    ]);
    return { ...prepared, agent: this.agentSettings, tools: new Map(tools) };
  }

  /** The revision under which a call that is made now was announced. What stands still in between is sent all the same. */
  async #announcedRevision(taskId: string): Promise<number> {
    const announced = (await this.#store.read({ taskId })).findLast((entry) => entry.type === "ModelCalled");
    return (JSON.parse(announced?.body ?? '{"revision":0}') as { revision: number }).revision;
  }

  async #reply(request: ModelRequest, context: ModelContext, revision: number): Promise<ModelReply> {
    const { taskId, replies, attempt } = context;
    const log = await this.#store.read({ taskId });
    this.sent.push({ request: structuredClone(request), replies, attempt, revision });
    const entries = log.map(({ seq, at, type, body }) => ({ seq, at, event: decodeEvent(type, body) }));
    const saved = savedIn(fold(taskId, entries, this.reducers));
    const tokens = { input: 10, output: 5 };
    const line = this.#script[replies];
    const calls = line === undefined ? closingCalls(saved) : "calls" in line ? inputsOf(line.calls, saved) : [];
    if (calls.length === 0) {
      // A script that is over goes on with answers: a task may be asked for more than was planned.
      const words = line !== undefined && "text" in line ? line.text : `answer ${String(replies)}`;
      return { message: { parts: [{ type: "text", text: words }] }, stopReason: "end_turn", tokens };
    }
    const parts = calls.map((each): CallPart => ({ type: "call", ...each }));
    return { message: { parts }, stopReason: "tool_use", tokens };
  }

  model(actor: Actor): Model {
    const scheduler = this.#scheduler;
    const [revisionOf, answer] = [this.#announcedRevision.bind(this), this.#reply.bind(this)];
    return {
      name: "script",
      contextTokens: null,
      async *stream(request, { signal, context }) {
        const revision = await revisionOf(context.taskId);
        const reply = await scheduler.port(actor, "model.stream", () => answer(request, context, revision));
        if (signal.aborted) throw new ModelError("aborted", "aborted");
        yield { type: "text", delta: textOf(reply.message.parts) };
        yield { type: "reply", reply };
      },
    };
  }
}
