import { expect, test } from "vitest";
import { ModelError } from "../model.ts";
import { failureOf, type FailureFacts } from "./failure.ts";

const facts: FailureFacts = { name: "m", keyName: "KEY", secrets: ["sk-123456"], mayOverflow: () => false };

const http = (statusCode: number, data: unknown, headers: Readonly<Record<string, string>> = {}): Error =>
  Object.assign(new Error("it said no"), { statusCode, data, responseHeaders: headers, url: "http://h/v1" });

test("a typed field goes before the status, the more exact one first", () => {
  const body = { error: { type: "invalid_request_error", code: "context_length_exceeded" } };
  expect(failureOf(http(400, body), facts).class).toBe("overflow");
  expect(failureOf(http(400, { error: { type: "invalid_request_error" } }), facts).class).toBe("bad_request");
  expect(failureOf(http(429, { error: { code: "insufficient_quota" } }), facts).class).toBe("rate_limited");
});

test("no text is matched: the words of an overflow are a bad request, unless the estimate says that it may be one", () => {
  const error = http(400, { error: { type: "invalid_request_error", message: "prompt is too long" } });
  expect(failureOf(error, facts).class).toBe("bad_request");
  expect(failureOf(error, { ...facts, mayOverflow: () => true }).class).toBe("overflow");
  const missing = http(404, { error: { type: "not_found_error", message: "no such model" } });
  expect(failureOf(missing, { ...facts, mayOverflow: () => true }).class).toBe("bad_request");
});

test("the estimate is made for a plain 400 alone: it reads the whole request", () => {
  let asked = 0;
  const counting: FailureFacts = { ...facts, mayOverflow: () => (asked += 1) > 0 };
  failureOf(http(400, { error: { code: "context_length_exceeded" } }), counting);
  failureOf(http(429, {}), counting);
  failureOf(http(404, {}), counting);
  failureOf(new Error("the connection broke"), counting);
  expect(asked).toBe(0);
  failureOf(http(400, {}), counting);
  expect(asked).toBe(1);
});

test("a gateway's number in an error of a stream is its status", () => {
  expect(failureOf({ message: "x", code: 429 }, facts, { inStream: true }).class).toBe("rate_limited");
  expect(failureOf({ message: "x", code: "503" }, facts, { inStream: true })).toMatchObject({
    class: "overloaded",
    status: 503,
  });
  expect(failureOf("just words", facts, { inStream: true }).class).toBe("network");
});

test("names that every object has are no codes", () => {
  for (const code of ["constructor", "toString", "__proto__"])
    expect(failureOf({ code, type: code }, facts, { inStream: true }).class).toBe("overloaded");
});

test("what the SDK refuses by itself is not tried again", () => {
  const refused = Object.assign(new Error("no PDFs"), { name: "AI_UnsupportedFunctionalityError" });
  expect(failureOf(refused, facts).class).toBe("bad_request");
  const garbage = Object.assign(new Error("not JSON"), { name: "AI_JSONParseError" });
  expect(failureOf(garbage, facts).class).toBe("network");
});

test("keys are said neither in the message nor in the cause", () => {
  const error = Object.assign(http(400, {}), {
    message: "bad header sk-123456 in request",
    cause: new Error("sk-123456"),
  });
  const failure = failureOf(error, facts);
  expect(failure.message).toBe("m: bad header [key] in request (400)");
  expect(failure.cause).toBeUndefined();
});

test.each([
  [{ "retry-after": "2" }, 2_000],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after": "-3" }, 0],
  [{ "retry-after-ms": "1500", "retry-after": "9" }, 1_500],
  [{ "retry-after": "Tue, 01 Dec 2026 10:00:10 GMT", date: "Tue, 01 Dec 2026 10:00:00 GMT" }, 10_000],
  [{ "retry-after": "Tue, 01 Dec 2026 09:00:00 GMT", date: "Tue, 01 Dec 2026 10:00:00 GMT" }, 0],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "" }, undefined],
  [{}, undefined],
])("%j is to be waited for %s ms", (headers, retryAfterMs) => {
  expect(failureOf(http(429, {}, headers as Record<string, string>), facts).retryAfterMs).toBe(retryAfterMs);
});

test("a model's own error stays as it is", () => {
  const own = new ModelError("refused", "m refused");
  expect(failureOf(own, facts)).toBe(own);
});
