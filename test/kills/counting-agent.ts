// The agent of the kill tests: one tool of each kind of effect, whose effects are lines of a file outside the store, and
// a script that calls all of them in every turn.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Type } from "typebox";
import type { Model } from "../../src/model/model.ts";
import { createScriptedModel } from "../../src/model/scripted/scripted.ts";
import { definePlugin, defineTool } from "../../src/plugins/define.ts";
import type { PreparedAgent, ToolContext } from "../../src/plugins/plugin.ts";
import { prepareAgent } from "../../src/plugins/prepare.ts";

export type ToolName = "look" | "send" | "put" | "pay";

/** One line of the file: an effect that took place. */
export interface EffectLine {
  readonly tool: ToolName;
  readonly invocationId: string;
  readonly callId: string;
  readonly taskId: string;
  readonly fence: number;
  readonly pid: number;
}

/** What the handlers tell their process: it may die, stop, or take its time there. */
export interface ToolPoints {
  /** The handler was called; nothing was done yet. */
  begun(tool: ToolName): void;
  entered(tool: ToolName, context: ToolContext): void | Promise<void>;
  done(tool: ToolName, context: ToolContext): void | Promise<void>;
  verifying(): void | Promise<void>;
}

export const MODEL = "scripted:counting";
export const AGENT = "counting";
/** How long a handler takes before its effect, and after it: there is time to be killed in. */
const TOOL_MS = 2;
/** `pay` names its invocation id to a service that honours it: it may be dispatched again. */
export const idempotent: ReadonlySet<string> = new Set<ToolName>(["pay"]);

/** Every effect that took place, in order. A line that is not whole is an error: one write appends it. */
export const readEffects = (path: string): EffectLine[] => {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.pop() !== "") throw new Error(`${path} ends in half a line`);
  return lines.map((line) => {
    const [tool, invocationId = "", callId = "", taskId = "", fence, pid] = line.split(" ");
    return { tool: tool as ToolName, invocationId, callId, taskId, fence: Number(fence), pid: Number(pid) };
  });
};

const inputSchema = Type.Object({ value: Type.String() }, { additionalProperties: false });

const countingPlugin = (path: string, points: ToolPoints) => {
  const execute = (tool: ToolName) => async (_input: { value: string }, context: ToolContext) => {
    points.begun(tool);
    // It stops when it is told to: what it has not done by then it does not do.
    await delay(TOOL_MS, undefined, { signal: context.signal });
    await points.entered(tool, context);
    const { invocationId, callId, taskId, fence } = context;
    appendFileSync(path, `${[tool, invocationId, callId, taskId, fence, process.pid].join(" ")}\n`);
    await points.done(tool, context);
    await delay(TOOL_MS);
    return `${tool} is through`;
  };
  const tool = (name: ToolName, effect: "read" | "write") => ({
    ...{ name, description: `${name}s a value`, effect, inputSchema },
    execute: execute(name),
  });
  return definePlugin({
    name: "counting",
    version: "1",
    tools: [
      defineTool(tool("look", "read")),
      defineTool(tool("send", "write")),
      defineTool({
        ...tool("put", "write"),
        verify: async ({ invocationId }) => {
          await points.verifying();
          const happened = readEffects(path).some((line) => line.invocationId === invocationId);
          return happened ? "done" : "absent";
        },
      }),
      defineTool({ ...tool("pay", "write"), idempotent: { ttlMs: 3_600_000 } }),
    ],
  });
};

export const prepareCountingAgent = (effects: string, points: ToolPoints): Promise<PreparedAgent> =>
  prepareAgent(
    {
      ...{ name: AGENT, identity: "You are counted.", system: "Do as the script says.", settings: { model: MODEL } },
      ...{ mode: "conversation", onInterrupt: "continue", plugins: [countingPlugin(effects, points)] },
    },
    { build: "kills" },
  );

export const noPoints: ToolPoints = {
  begun: () => undefined,
  entered: () => undefined,
  done: () => undefined,
  verifying: () => undefined,
};

const call = (name: ToolName) => ({ name, input: { value: "x".repeat(200) } });

/** Replies of one turn, before the words that end it: reads beside a write, and each kind of write. */
const CALLS = [
  { calls: [call("look"), call("send"), call("look")] },
  { calls: [call("put"), call("look")] },
  { calls: [call("pay"), call("send")] },
];
const TURNS = 100;

/** `delayMs`: how long each reply takes, so that a kill may meet a model call. */
export const countingModel = (delayMs = 2, words = "All of it is done."): Model =>
  createScriptedModel({
    name: MODEL,
    lines: Array.from({ length: TURNS }, () => [...CALLS, { text: words }])
      .flat()
      .map((line) => ({ ...line, delayMs })),
  });
