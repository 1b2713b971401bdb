// What providers and networks do wrong, at each adapter: one typed error, no reply, no key in any of it.
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { collectParts, replyOf } from "../../src/model/model.contract.ts";
import { ModelError, type ModelErrorClass, type ModelPart } from "../../src/model/model.ts";
import {
  KEY,
  asking,
  context,
  failing,
  kinds,
  nowhere,
  openAt,
  openServer,
  replying,
  streaming,
  type ProviderServer,
} from "./provider-server.ts";

const request = asking("hello");

const failureAt = async (name: string, server: ProviderServer, asked = request): Promise<ModelError> => {
  const model = await openAt(name, server.url);
  const failure = await collectParts(model, { request: asked, context }).catch((error: unknown) => error);
  if (!(failure instanceof ModelError)) throw new Error(`no failure: ${JSON.stringify(failure)}`);
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(KEY);
  return failure;
};

const long = { parts: [{ text: "A text that is cut before its end comes." }] };

describe.for(kinds)("$name", ({ name, wire }) => {
  test("case-08: a 429 says when to try again, in seconds", async () => {
    const server = await openServer(failing(429, wire.errorBody("rate_limit_error", "slow"), { "retry-after": "7" }));
    expect(await failureAt(name, server)).toMatchObject({ class: "rate_limited", retryAfterMs: 7_000, status: 429 });
    expect(server.received).toHaveLength(1);
  });

  test("case-08: a 429 says when to try again, as a date by the server's own clock", async () => {
    const date = "Tue, 01 Dec 2026 10:00:00 GMT";
    const headers = { date, "retry-after": "Tue, 01 Dec 2026 10:02:30 GMT" };
    const server = await openServer(failing(429, wire.errorBody("rate_limit_error", "slow"), headers));
    expect(await failureAt(name, server)).toMatchObject({ class: "rate_limited", retryAfterMs: 150_000 });
  });

  test.for<[number, string, ModelErrorClass]>([
    [529, "overloaded_error", "overloaded"],
    [503, "unavailable", "overloaded"],
    [500, "server_error", "overloaded"],
    [502, "bad_gateway", "overloaded"],
    [408, "timeout", "network"],
    [413, "request_too_large", "overflow"],
    [400, "context_length_exceeded", "overflow"],
    [400, "exceed_context_size_error", "overflow"],
    [400, "content_filter", "refused"],
    [400, "invalid_request_error", "bad_request"],
    [404, "not_found_error", "bad_request"],
    [422, "unprocessable", "bad_request"],
    [401, "authentication_error", "auth"],
    [403, "permission_error", "auth"],
    [402, "billing_error", "auth"],
  ])("%s %s is %s", async ([status, code, errorClass]) => {
    const server = await openServer(failing(status, wire.errorBody(code, `no, not with ${KEY}`)));
    expect(await failureAt(name, server)).toMatchObject({ class: errorClass, status });
    expect(server.received).toHaveLength(1);
  });

  test.for([502, 529, 413, 401])("%s with a body that is no JSON is told by its status", async (status) => {
    const server = await openServer(failing(status, "<html>Bad gateway</html>"));
    expect(await failureAt(name, server)).toMatchObject({ status });
  });

  test("a refused key is said without a word of the provider's, and with where the key comes from", async () => {
    const server = await openServer(failing(401, wire.errorBody("invalid_api_key", "Incorrect: sk-a-key…6789")));
    const { message, class: errorClass } = await failureAt(name, server);
    expect(errorClass).toBe("auth");
    expect(message).toMatch(/^\S+: the provider refuses the key or what it may do \(401\); see \w+_API_KEY$/);
  });

  test("a plain 400 is an overflow only where the request may be too large for the model", async () => {
    const body = wire.errorBody("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum");
    const server = await openServer(failing(400, body));
    expect((await failureAt(name, server)).class).toBe("bad_request");
    const known = (await openAt(name, server.url)).contextTokens;
    if (known === null) return;
    expect((await failureAt(name, server, asking("four".repeat(known)))).class).toBe("overflow");
  });

  test.for<[string, ModelErrorClass]>([
    ["overloaded_error", "overloaded"],
    ["rate_limit_exceeded", "rate_limited"],
    ["server_error", "overloaded"],
    ["something_new", "overloaded"],
    ["context_length_exceeded", "overflow"],
    ["invalid_request_error", "bad_request"],
  ])("case-08: %s in mid-stream is %s, and what came before it is no reply", async ([code, errorClass]) => {
    const server = await openServer((response) => {
      const [first = "", second = "", third = ""] = wire.frames(long);
      streaming(response).end(`${first}${second}${third}${wire.errorFrame(code, "Overloaded")}`);
    });
    expect((await failureAt(name, server)).class).toBe(errorClass);
  });

  test("case-08: an overload as the first word of a stream is one", async () => {
    const server = await openServer((response) => {
      streaming(response).end(wire.errorFrame("overloaded_error", "Overloaded"));
    });
    expect((await failureAt(name, server)).class).toBe("overloaded");
  });

  test("case-05: a stream that ends without its end is no reply, wherever it is cut", async () => {
    const frames = wire.frames({
      parts: [...long.parts, { call: { id: "x", name: "Read", json: '{"file_path":"a"}' } }],
    });
    const last = frames.findLastIndex((frame) => /finish_reason":"|message_stop|response\.completed/.test(frame));
    for (let kept = 0; kept < last; kept += 1) {
      const server = await openServer((response) => {
        streaming(response).end(frames.slice(0, kept).join(""));
      });
      expect.soft((await failureAt(name, server)).class, `cut after ${String(kept)}`).toBe("network");
    }
  });

  test("case-05: a connection that breaks in mid-stream is the network's fault", async () => {
    const server = await openServer((response) => {
      streaming(response).write(wire.frames(long).slice(0, 3).join(""), () => response.destroy());
    });
    expect(await failureAt(name, server)).toMatchObject({ class: "network", status: undefined });
  });

  test("a connection that is reset before any answer is the network's fault", async () => {
    const server = await openServer((response) => response.destroy());
    const failure = await failureAt(name, server);
    expect(failure.class).toBe("network");
    expect(failure.message).toContain("broke");
  });

  test("a server that is not there is named without what else its address holds", async () => {
    const nobody = await nowhere();
    const failure = await failureAt(name, { url: `${nobody}/path?token=secret`, received: [] });
    expect(failure.class).toBe("network");
    expect(failure.message).toBe(`${name}: ${nobody} cannot be reached (ECONNREFUSED)`);
  });

  test("frames that are no JSON are no reply", async () => {
    const server = await openServer((response) => {
      streaming(response).end(`${wire.frames(long)[0] ?? ""}data: {"type": \n\n`);
    });
    expect((await failureAt(name, server)).class).toBe("network");
  });

  test("an answer that is a page, not a stream, is no reply", async () => {
    const server = await openServer((response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html>Welcome to the proxy</html>");
    });
    expect((await failureAt(name, server)).class).toBe("network");
  });

  test("case-05: an abort ends the HTTP request, before an answer and in the middle of one", async () => {
    for (const begun of [false, true]) {
      const server = await openServer((response) => {
        if (begun) streaming(response).write(wire.frames(long).slice(0, 4).join(""));
        else response.flushHeaders();
      });
      const model = await openAt(name, server.url);
      const abort = new AbortController();
      const parts: ModelPart[] = [];
      const calling = (async () => {
        for await (const part of model.stream(request, { signal: abort.signal, context })) {
          parts.push(part);
          abort.abort(new Error("stopped"));
        }
      })();
      calling.catch(() => undefined);
      if (!begun) {
        while (server.received.length === 0) await new Promise((resolve) => setImmediate(resolve));
        abort.abort(new Error("stopped"));
      }
      await expect(calling).rejects.toMatchObject({ name: "ModelError", class: "aborted" });
      expect(parts).toHaveLength(begun ? 1 : 0);
      await server.received[0]?.aborted;
    }
  });

  test("whoever stops listening ends the HTTP request", async () => {
    const server = await openServer((response) => {
      streaming(response).write(wire.frames(long).slice(0, 4).join(""));
    });
    const model = await openAt(name, server.url);
    for await (const part of model.stream(request, { signal: new AbortController().signal, context })) {
      expect(part.type).toBe("text");
      break;
    }
    await server.received[0]?.aborted;
  });

  test("case-07: an empty reply is one, for the runner to refuse", async () => {
    const server = await openServer(replying(wire, { parts: [] }));
    const { message } = replyOf(await collectParts(await openAt(name, server.url), { request, context }));
    expect(message.parts).toEqual([]);
  });

  test("arguments that are no JSON are named as broken, and are not in the reply", async () => {
    const good = { id: "1", name: "Read", json: '{"file_path":"a.txt"}' };
    const bad = { id: "2", name: "Edit", json: '{"file_path": "a.t' };
    const server = await openServer(replying(wire, { parts: [{ call: good }, { call: bad }] }));
    const reply = replyOf(await collectParts(await openAt(name, server.url), { request, context }));
    expect(reply.broken).toEqual(["Edit"]);
    expect(reply.message.parts.filter(({ type }) => type === "call")).toHaveLength(1);
  });

  test("a call that was cut before its first argument is broken, not one without arguments", async () => {
    const stop = { anthropic: "max_tokens", openai: "max_output_tokens" }[name.split("/")[0] ?? ""] ?? "length";
    const call = { id: "1", name: "Write", json: "" };
    const server = await openServer(replying(wire, { parts: [{ text: "I write." }, { call }], stop }));
    const reply = replyOf(await collectParts(await openAt(name, server.url), { request, context }));
    expect(reply).toMatchObject({ stopReason: "max_tokens", broken: ["Write"] });
  });

  test("a call without arguments in a whole reply is one", async () => {
    const server = await openServer(replying(wire, { parts: [{ call: { id: "1", name: "List", json: "{}" } }] }));
    const reply = replyOf(await collectParts(await openAt(name, server.url), { request, context }));
    expect(reply.message.parts).toMatchObject([{ type: "call", name: "List", input: {} }]);
    expect(reply.stopReason).toBe("tool_use");
  });

  test("case-03: calls of one reply that share an id stay two calls", async () => {
    const call = (path: string) => ({
      call: { id: "call_0", name: "Read", json: JSON.stringify({ file_path: path }) },
    });
    const server = await openServer(replying(wire, { parts: [call("a.txt"), call("b.txt")] }));
    const reply = replyOf(await collectParts(await openAt(name, server.url), { request, context }));
    expect(reply.broken).toBeUndefined();
    expect(reply.message.parts).toMatchObject([
      { type: "call", input: { file_path: "a.txt" } },
      { type: "call", input: { file_path: "b.txt" } },
    ]);
  });
});

test.each([
  ["anthropic/claude-sonnet-4-5", "refusal"],
  ["openai/gpt-5", "content_filter"],
  ["openai-chat/gpt-4o", "content_filter"],
  ["compatible/llama3", "content_filter"],
])("%s: a reply stopped by %s is a refusal, with what it used", async (name, stop) => {
  const wire = kinds.find((kind) => kind.name === name)?.wire;
  if (wire === undefined) throw new Error("no such kind");
  const server = await openServer(replying(wire, { parts: [{ text: "I will not." }], stop }));
  const failure = await failureAt(name, server);
  expect(failure).toMatchObject({ class: "refused", tokens: { input: 10, output: 5 } });
  expect(failure.message).toBe(`${name} refused: I will not.`);
});

test("anthropic: a reply for which the context had no room is an overflow", async () => {
  const [kind] = kinds;
  if (kind === undefined) throw new Error("no kind");
  const reply = { parts: [{ text: "I was about to" }], stop: "model_context_window_exceeded" };
  const server = await openServer(replying(kind.wire, reply));
  expect((await failureAt(kind.name, server)).class).toBe("overflow");
});
