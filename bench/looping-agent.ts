// The agent that is measured: a scripted model that asks for one read a cycle, and a tool that has its answer ready.
// Both cost next to nothing, so that what is measured is perdure.
import { Type } from "typebox";
import type { Model, ModelReply } from "../src/model/model.ts";
import { definePlugin, defineTool } from "../src/plugins/define.ts";
import type { Agent, Plugin, PreparedAgent } from "../src/plugins/plugin.ts";
import { prepareAgent } from "../src/plugins/prepare.ts";
import { hexAt, textAt } from "./corpus.ts";

export const MODEL = "scripted:loop";

const look = (outputChars: number) =>
  defineTool({
    name: "Look",
    description: "Reads some lines of a file.",
    inputSchema: Type.Object({ path: Type.String(), limit: Type.Integer() }, { additionalProperties: false }),
    effect: "read",
    execute: ({ limit }) => textAt(limit, outputChars),
  });

export interface LoopingOptions {
  /** Length of each of the tool's outputs. */
  readonly outputChars: number;
  readonly plugins?: readonly Plugin[];
}

export const prepareLoopingAgent = ({ outputChars, plugins = [] }: LoopingOptions): Promise<PreparedAgent> => {
  const agent: Agent = {
    name: "looping",
    identity: "You are a scripted agent.",
    system: "Read one file after the other.",
    settings: { model: MODEL },
    mode: "conversation",
    onInterrupt: "continue",
    plugins: [
      definePlugin({ name: "look", version: "1", module: import.meta.url, tools: [look(outputChars)] }),
      ...plugins,
    ],
  };
  return prepareAgent(agent, { build: "bench" });
};

const WORDS = 120;

/** The reply with number `n`: some words and one call; the last one is an answer. */
const replyAt = (n: number, isLast: boolean, inputTokens: number): ModelReply => {
  const says = { type: "text", text: textAt(n, WORDS) } as const;
  const tokens = { input: inputTokens, output: 60 };
  if (isLast) return { message: { parts: [says] }, stopReason: "end_turn", tokens };
  const input = { path: `src/${hexAt(n, 12)}.ts`, limit: n };
  const call = { type: "call", name: "Look", input, providerId: `call_${hexAt(n + 1, 20)}` } as const;
  return { message: { parts: [says, call] }, stopReason: "tool_use", tokens };
};

export interface LoopingModelOptions {
  /** Whether reply `n` is an answer, and not another call. */
  readonly isLast: (n: number) => boolean;
  /** Called when reply `n` is asked for. */
  readonly onCall?: (n: number) => void;
  /** Makes it count each request, as providers do. */
  readonly contextTokens?: number;
}

const CHARS_PER_TOKEN = 4;

export const createLoopingModel = ({ isLast, onCall, contextTokens }: LoopingModelOptions): Model => ({
  name: MODEL,
  contextTokens: contextTokens ?? Number.MAX_SAFE_INTEGER,
  async *stream({ messages }, { context }) {
    const { replies } = context;
    onCall?.(replies);
    const counted = contextTokens === undefined ? 1_000 : JSON.stringify(messages).length / CHARS_PER_TOKEN;
    yield { type: "reply", reply: replyAt(replies, isLast(replies), Math.ceil(counted)) };
  },
});
