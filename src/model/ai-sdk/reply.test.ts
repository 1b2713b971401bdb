import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import type { ModelPart, ModelReply } from "../model.ts";
import { ReplyBuilder } from "./reply.ts";
import { tokensOf } from "./tokens.ts";

const usage = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 6, cacheWrite: 0 },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

type Unified = "stop" | "length" | "tool-calls" | "other";
type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
const finish = (unified: Unified = "stop"): Finish => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage,
});

const build = (
  parts: readonly LanguageModelV4StreamPart[],
  end = finish(),
): { deltas: ModelPart[]; reply: ModelReply } => {
  const builder = new ReplyBuilder({ name: "m", by: "p/m" });
  const deltas = parts.flatMap((part) => builder.take(part));
  return { deltas, reply: builder.finish(end) };
};

const start = (id: string, toolName = "Read"): LanguageModelV4StreamPart => ({
  type: "tool-input-start",
  id,
  toolName,
});
const delta = (id: string, text: string): LanguageModelV4StreamPart => ({ type: "tool-input-delta", id, delta: text });
const call = (toolCallId: string, input: string, toolName = "Read"): LanguageModelV4StreamPart => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input,
});

test("case-03: calls that share an id keep their own arguments, also when both are open at once", () => {
  const { deltas, reply } = build([
    start("x"),
    delta("x", '{"a":1}'),
    start("x"),
    delta("x", '{"a":2}'),
    call("x", '{"a":1}'),
    call("x", '{"a":2}'),
  ]);
  expect(reply.message.parts).toMatchObject([{ input: { a: 1 } }, { input: { a: 2 } }]);
  expect(deltas).toMatchObject([
    { index: 0, delta: '{"a":1}' },
    { index: 1, delta: '{"a":2}' },
  ]);
});

test("a call that never streamed gives its arguments as one delta, an empty one as {}", () => {
  const { deltas, reply } = build([call("x", '{"a":1}'), start("y"), call("y", "")], finish("tool-calls"));
  expect(deltas).toMatchObject([{ delta: '{"a":1}' }, { delta: "{}" }]);
  expect(reply.message.parts).toMatchObject([{ input: { a: 1 } }, { input: {} }]);
});

test("parts stand in the order in which they began", () => {
  const { reply } = build([
    { type: "reasoning-start", id: "0" },
    { type: "reasoning-delta", id: "0", delta: "hm" },
    { type: "text-start", id: "0" },
    start("x"),
    { type: "text-delta", id: "0", delta: "late words" },
    call("x", "{}"),
    { type: "reasoning-end", id: "0", providerMetadata: { p: { seal: "s" } } },
  ]);
  expect(reply.message.parts).toEqual([
    { type: "reasoning", text: "hm", provider: { by: "p/m", metadata: { p: { seal: "s" } } } },
    { type: "text", text: "late words" },
    { type: "call", name: "Read", input: {}, providerId: "x" },
  ]);
});

test("metadata of a part comes together from all of its events", () => {
  const { reply } = build([
    { type: "reasoning-start", id: "0", providerMetadata: { p: { itemId: "i", seal: null } } },
    { type: "reasoning-delta", id: "0", delta: "hm", providerMetadata: { p: { itemId: "i" } } },
    { type: "reasoning-end", id: "0", providerMetadata: { p: { seal: "s" } } },
  ]);
  expect(reply.message.parts).toMatchObject([{ provider: { metadata: { p: { itemId: "i", seal: "s" } } } }]);
});

test("hidden thoughts are kept for what they hold, empty words and thoughts without anything are not", () => {
  const { reply } = build([
    { type: "reasoning-start", id: "0", providerMetadata: { p: { redactedData: "d" } } },
    { type: "reasoning-end", id: "0" },
    { type: "reasoning-start", id: "1" },
    { type: "reasoning-end", id: "1" },
    { type: "text-start", id: "2" },
    { type: "text-end", id: "2" },
  ]);
  expect(reply.message.parts).toEqual([
    { type: "reasoning", text: "", provider: { by: "p/m", metadata: { p: { redactedData: "d" } } } },
  ]);
});

test("a call that began and never finished is broken", () => {
  const { reply } = build([start("x", "Edit"), delta("x", '{"a":'), start("y"), call("y", "{}")], finish("length"));
  expect(reply.broken).toEqual(["Edit", "Read"]);
  expect(reply.message.parts).toEqual([]);
  expect(reply.stopReason).toBe("max_tokens");
});

test("what the provider ran by itself is not asked of anyone here", () => {
  const { deltas, reply } = build([
    { type: "tool-input-start", id: "s", toolName: "web_search", providerExecuted: true },
    { type: "tool-call", toolCallId: "s", toolName: "web_search", input: "{}", providerExecuted: true },
    { type: "text-delta", id: "0", delta: "found" },
  ]);
  expect(deltas).toEqual([{ type: "text", delta: "found" }]);
  expect(reply.message.parts).toEqual([{ type: "text", text: "found" }]);
});

test("input leaves out what the cache held; what was not told stays unknown", () => {
  expect(tokensOf(usage)).toEqual({ input: 4, output: 5, cacheRead: 6, cacheWrite: 0, reasoning: 2 });
  const raw = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 0 } };
  const zeros = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  };
  expect(tokensOf({ ...zeros, raw })).toEqual({ input: 10, output: 5, cacheRead: 0 });
  expect(tokensOf({ ...zeros, inputTokens: { ...zeros.inputTokens, total: undefined } })).toBe("unknown");
  expect(tokensOf({ ...zeros, outputTokens: { ...zeros.outputTokens, total: undefined } })).toBe("unknown");
  expect(tokensOf(undefined)).toBe("unknown");
});
