// The model contract, and whole conversations, against @copilotkit/aimock, which speaks the providers' APIs.
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { textOf } from "../../src/core/messages.ts";
import { collectParts, modelContract, replyOf } from "../../src/model/model.contract.ts";
import { asking, context, kinds, openAt, requestOf } from "./provider-server.ts";

const usage = { input_tokens: 10, output_tokens: 5, prompt_tokens: 10, completion_tokens: 5 };

const mock = new LLMock({ port: 0, logLevel: "silent" });
mock.onMessage("words", { content: "Hello there, \u{1F600} friend.", usage }, { chunkSize: 6 });
mock.onMessage(
  "think",
  { content: "It is 42.", reasoning: "Six times seven.", reasoningSignature: "c2lnbmVk", usage },
  { chunkSize: 5 },
);
mock.onMessage(
  "calls",
  {
    content: "I read both.",
    toolCalls: [
      { id: "call_a", name: "Read", arguments: { file_path: "a.txt" } },
      { id: "call_b", name: "Read", arguments: { file_path: "b.txt", limit: 2 } },
    ],
    usage,
  },
  { chunkSize: 7 },
);
mock.onMessage("limited", { error: { message: "slow down", type: "rate_limit_error" }, status: 429, retryAfter: 3 });
mock.onMessage("overloaded", { error: { message: "overloaded", type: "overloaded_error" }, status: 529 });
mock.onMessage("too long", { error: { message: "too long", type: "request_too_large" }, status: 413 });
mock.onMessage("locked", { error: { message: "no", type: "authentication_error" }, status: 401 });
mock.onMessage(
  "cut",
  { content: "A text that is cut before its end comes." },
  { truncateAfterChunks: 4, chunkSize: 4 },
);
mock.onMessage("late", { content: "late" }, { latency: 600_000 });

/**
 * aimock makes ids by chance, where a provider's belong to the reply; the contract compares whole replies. So it stands
 * behind a proxy that names them by their order.
 */
const steady = createServer((request, response) => {
  const { method, url = "", headers } = request;
  const onward = httpRequest(new URL(url, mock.url), { method, headers }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.on("error", () => response.destroy());
    answer.on("end", () => {
      const ids: string[] = [];
      const named = (id: string): string => {
        if (!ids.includes(id)) ids.push(id);
        return `id_${String(ids.indexOf(id))}`;
      };
      const text = Buffer.concat(chunks)
        .toString("utf8")
        .replace(/(?<=")(?:rs|msg|fc|resp|chatcmpl)[-_][\w-]{8,}(?=")/g, named)
        .replace(/(?<="encrypted_content":")[^"]+/g, named);
      const { "transfer-encoding": _, ...kept } = answer.headers;
      response.writeHead(answer.statusCode ?? 500, { ...kept, "content-length": Buffer.byteLength(text) });
      response.end(text);
    });
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});
const steadyUrl = (): string => `http://127.0.0.1:${String((steady.address() as AddressInfo).port)}`;

beforeAll(async () => {
  await mock.start();
  await new Promise<void>((resolve) => steady.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  steady.closeAllConnections();
  steady.close();
  await mock.stop();
});

const asked = (text: string) => ({ case: text, request: asking(text), context });

for (const { name } of kinds) {
  modelContract(name, {
    open: () => openAt(name, steadyUrl()),
    replies: [asked("words"), asked("think"), asked("calls")],
    failures: [
      { ...asked("limited"), class: "rate_limited" },
      { ...asked("overloaded"), class: "overloaded" },
      { ...asked("too long"), class: "overflow" },
      { ...asked("locked"), class: "auth" },
      { ...asked("cut"), class: "network" },
    ],
    slow: asked("late"),
  });
}

describe.for(kinds)("$name", ({ name }) => {
  test("a reply streams in several deltas, and says what it cost", async () => {
    const parts = await collectParts(await openAt(name, mock.url), { request: asking("words"), context });
    expect(parts.filter(({ type }) => type === "text").length).toBeGreaterThan(2);
    const { message, ...reply } = replyOf(parts);
    expect(textOf(message.parts)).toBe("Hello there, \u{1F600} friend.");
    expect(reply).toMatchObject({ stopReason: "end_turn", tokens: { input: 10, output: 5 } });
  });

  test("parallel calls come in order, with the provider's ids beside them", async () => {
    const reply = replyOf(await collectParts(await openAt(name, mock.url), { request: asking("calls"), context }));
    expect(reply.stopReason).toBe("tool_use");
    expect(reply.message.parts.filter(({ type }) => type === "call")).toMatchObject([
      { name: "Read", input: { file_path: "a.txt" }, providerId: "call_a" },
      { name: "Read", input: { file_path: "b.txt", limit: 2 }, providerId: "call_b" },
    ]);
  });

  test("results are taken: the provider finds each under the id that perdure gave its call", async () => {
    const { message } = replyOf(
      await collectParts(await openAt(name, mock.url), { request: asking("calls"), context }),
    );
    const calls = message.parts.filter((part) => part.type === "call");
    const results = calls.map((call, index) => ({
      callId: `c6_${String(index)}`,
      name: call.name,
      status: "ok" as const,
      content: [{ type: "text" as const, text: `content ${String(index)}` }],
    }));
    mock.prependFixture({ match: { toolCallId: "c6_1" }, response: { content: "Both are short." } });
    const request = requestOf([
      ...asking("calls").messages,
      { seq: 6, role: "assistant", parts: calls.map((call, index) => ({ ...call, id: `c6_${String(index)}` })) },
      { seq: 9, role: "tool", results },
    ]);
    const reply = replyOf(await collectParts(await openAt(name, mock.url), { request, context }));
    expect(textOf(reply.message.parts)).toBe("Both are short.");
  });
});
