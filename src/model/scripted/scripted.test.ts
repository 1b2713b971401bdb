import { expect, test } from "vitest";
import type { ModelRequest } from "../../core/request.ts";
import { collectParts, modelContract, replyOf } from "../model.contract.ts";
import type { ModelContext, ModelErrorClass, ModelReply } from "../model.ts";
import type { ScriptLine } from "./script.ts";
import { createScriptedModel } from "./scripted.ts";

const request: ModelRequest = {
  model: "scripted:test",
  system: ["You are tested."],
  tools: [],
  messages: [{ seq: 4, role: "user", content: [{ type: "text", text: "go on" }] }],
  cacheAt: 0,
};

const at = (replies: number, attempt = 1): ModelContext => ({ taskId: "t", replies, attempt, purpose: "turn" });
const calling = (name: string, replies: number, attempt = 1) => ({
  case: name,
  request,
  context: at(replies, attempt),
});

const classes: readonly ModelErrorClass[] = [
  "overloaded",
  "rate_limited",
  "overflow",
  "refused",
  "auth",
  "network",
  "bad_request",
  "aborted",
];

const lines: ScriptLine[] = [
  { text: "Oh \u{1F600}\u{1F600}\u{1F600}!", usage: { input: 10, output: 3, cacheRead: 7 } },
  {
    reasoning: "Two files.",
    text: "I read both.",
    calls: [
      { name: "Read", input: { file_path: "a.txt" } },
      { name: "Read", input: { file_path: "b.txt", limit: 2 } },
    ],
  },
  { text: "late", delayMs: 3_600_000 },
  ...classes.map((each) => ({ error: { class: each } })),
  { text: "at last" },
  { text: "x" },
];

const model = createScriptedModel({ name: "scripted:test", lines });

modelContract("scripted", {
  open: () => createScriptedModel({ name: "scripted:test", lines }),
  replies: [
    calling("words", 0),
    calling("calls, with words and reasoning", 1),
    calling("a reply after failed attempts", 3, classes.length + 1),
    calling("one letter", 4),
  ],
  failures: [
    ...classes.map((each, index) => ({ ...calling(`attempt ${String(index + 1)}`, 3, index + 1), class: each })),
    { ...calling("the end of the script", 5), class: "bad_request" },
  ],
  slow: calling("a late reply", 2),
});

const reply = async (context: ModelContext, of = model): Promise<ModelReply> =>
  replyOf(await collectParts(of, { request, context }));

test("a reply is the one that the task's count asks for, with its stop reason and its tokens", async () => {
  expect(await reply(at(0))).toEqual({
    message: { parts: [{ type: "text", text: "Oh \u{1F600}\u{1F600}\u{1F600}!" }] },
    stopReason: "end_turn",
    tokens: { input: 10, output: 3, cacheRead: 7 },
  });
  expect(await reply(at(1))).toEqual({
    message: {
      parts: [
        { type: "reasoning", text: "Two files." },
        { type: "text", text: "I read both." },
        { type: "call", name: "Read", input: { file_path: "a.txt" } },
        { type: "call", name: "Read", input: { file_path: "b.txt", limit: 2 } },
      ],
    },
    stopReason: "tool_use",
    tokens: "unknown",
  });
});

test("a text comes in several deltas, none of which cuts a character", async () => {
  const deltas = (await collectParts(model, calling("words", 0))).flatMap((part) =>
    part.type === "text" ? [part.delta] : [],
  );
  expect(deltas.length).toBeGreaterThan(1);
  for (const delta of deltas) expect(delta.isWellFormed()).toBe(true);
});

test("attempts past the failures get the reply, however many there were", async () => {
  expect(await reply(at(3, classes.length + 1))).toEqual(await reply(at(3, 40)));
});

test("failures without a reply after them are used up, then the script is at its end", async () => {
  const short = createScriptedModel({ name: "short", lines: [{ text: "a" }, { error: { class: "network" } }] });
  await expect(reply(at(1, 1), short)).rejects.toMatchObject({ class: "network" });
  await expect(reply(at(1, 2), short)).rejects.toMatchObject({
    class: "bad_request",
    message: "short has no reply 2: it ends after 1",
  });
});

test("a failure says when to try again, and what it used", async () => {
  const failing = createScriptedModel({
    name: "failing",
    lines: [{ error: { class: "rate_limited", retryAfterMs: 250 }, usage: { input: 5, output: 0 } }],
  });
  await expect(reply(at(0), failing)).rejects.toMatchObject({
    class: "rate_limited",
    retryAfterMs: 250,
    tokens: { input: 5, output: 0 },
  });
});

test("an empty line of the script is an empty reply", async () => {
  const empty = createScriptedModel({ name: "empty", lines: [{}] });
  expect(await reply(at(0), empty)).toEqual({ message: { parts: [] }, stopReason: "end_turn", tokens: "unknown" });
});
