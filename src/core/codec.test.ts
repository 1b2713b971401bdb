import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyEvent, anyItem, anyJson, anyString, itemOf } from "../testing/arbitraries.ts";
import { called, core, created, finished, recorded, replied, say, started, taken } from "../testing/given.ts";
import { CodecError, decodeEvent, decodeItem, encodeEvent, encodeItem } from "./codec.ts";
import { isEqualJson } from "./equal.ts";
import { eventTypes, type Event } from "./events.ts";
import { itemTypes } from "./items.ts";
import { RECORD_VERSION, recordKinds } from "./records.ts";

/** Why `work` was refused. */
const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof CodecError) return error.code;
    throw error;
  }
  return "accepted";
};

const fieldsOf = (event: Event): Record<string, unknown> => {
  const { type: _, ...fields } = event;
  return fields;
};

/** What reading `event` with these fields changed comes to; `undefined` removes a field. */
const reading = (event: Event, changes: Record<string, unknown>): string =>
  refusal(() => decodeEvent(event.type, JSON.stringify({ ...fieldsOf(event), ...changes })));

describe("round trip", () => {
  test("every event comes back as it was, whatever its strings hold", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const body = encodeEvent(event);
        expect(isEqualJson(decodeEvent(event.type, body), event)).toBe(true);
        expect(encodeEvent(decodeEvent(event.type, body))).toBe(body);
      }),
      { numRuns: 1_000 },
    );
  });

  test("every item comes back as it was", () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        expect(isEqualJson(decodeItem(encodeItem(item)), item)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("the text is valid UTF-8: lone surrogates and NUL are escaped", () => {
    const event = finished("c1_0", "\0 \ud800 \udfff");
    const body = encodeEvent(event);
    expect(body).toContain("\\u0000 \\ud800 \\udfff");
    expect(new TextDecoder().decode(new TextEncoder().encode(body))).toBe(body);
    expect(decodeEvent("ToolFinished", body)).toStrictEqual(event);
  });

  test("a __proto__ key is a key like any other", () => {
    const input = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}') as unknown;
    const event = decodeEvent("ToolStarted", encodeEvent(started("c1_0", "look", { input })));
    const read = event.type === "ToolStarted" ? (event.input as object) : {};
    expect(Object.keys(read)).toEqual(["__proto__", "constructor"]);
    expect((read as { admin?: boolean }).admin).toBeUndefined();
  });

  test("the order of keys survives", () => {
    const event = decodeEvent("ToolStarted", encodeEvent(started("c1_0", "look", { input: { z: 1, a: 2, m: 3 } })));
    expect(encodeEvent(event)).toContain('"input":{"z":1,"a":2,"m":3}');
  });

  test("an absent optional field stays absent", () => {
    expect(decodeEvent("TaskEnded", '{"outcome":"done"}')).toStrictEqual({ outcome: "done", type: "TaskEnded" });
  });
});

describe("what only a newer version can have written", () => {
  test("an event type", () => {
    for (const type of ["TaskPaused", "__proto__", "constructor", ""]) {
      expect(refusal(() => decodeEvent(type, "{}"))).toBe("newer_version");
    }
  });

  test("a field of an event, at any depth", () => {
    expect(reading(finished("c1_0"), { speed: 1 })).toBe("newer_version");
    expect(refusal(() => decodeEvent("TaskEnded", '{"outcome":"done","__proto__":1}'))).toBe("newer_version");
    expect(reading(finished("c1_0"), { sources: [{ id: "s", mood: "good" }] })).toBe("newer_version");
    expect(reading(finished("c1_0"), { content: [{ type: "text", text: "x", lang: "en" }] })).toBe("newer_version");
    expect(reading(taken(), { items: [{ ...say("x"), loud: true }] })).toBe("newer_version");
  });

  test("a field beside those that fit", () => {
    const settings = { model: "m", maxSteps: 1, temperature: 0.5, speed: 1 };
    expect(reading(created(), { config: settings })).toBe("newer_version");
    const read = (): unknown => decodeEvent("ToolFinished", '{"callId":"c","status":"skipped","content":[],"speed":1}');
    expect(read).toThrow("speed is not known here");
  });

  test("a word in place of a known one", () => {
    expect(reading(finished("c1_0"), { status: "late" })).toBe("newer_version");
    expect(reading(started("c1_0", "look"), { effect: "cosmic" })).toBe("newer_version");
    expect(reading(created(), { mode: "batch" })).toBe("newer_version");
    expect(reading(replied("x"), { usage: { tokens: "estimated", durationMs: 1 } })).toBe("newer_version");
    expect(reading(finished("c1_0"), { redacted: false })).toBe("newer_version");
  });

  test("a type of part, or of item", () => {
    expect(reading(finished("c1_0"), { content: [{ type: "image", url: "x" }] })).toBe("newer_version");
    expect(reading(replied("x"), { message: { parts: [{ type: "audio" }] } })).toBe("newer_version");
    expect(reading(taken(), { items: [{ ...say("x"), type: "Shout" }] })).toBe("newer_version");
    expect(refusal(() => decodeItem('{"type":"Shout","text":"x"}'))).toBe("newer_version");
    expect(refusal(() => decodeItem('{"type":"Say","text":"x","loud":true}'))).toBe("newer_version");
  });

  test("a core record: its kind, its version, its fields", () => {
    const record = core("interrupted", { reason: "crashed" });
    expect(reading(record, { kind: "dreamt" })).toBe("newer_version");
    expect(reading(record, { kind: "toString" })).toBe("newer_version");
    expect(reading(record, { v: RECORD_VERSION + 1 })).toBe("newer_version");
    expect(reading(record, { data: { reason: "crashed", where: "x" } })).toBe("newer_version");
    expect(reading(record, { data: { reason: "bored" } })).toBe("newer_version");
  });

  test("a core record of an unknown kind is never written", () => {
    const record = { ...core("interrupted", { reason: "crashed" }), kind: "dreamt" } as Event;
    expect(refusal(() => encodeEvent(record))).toBe("newer_version");
  });

  test("a plugin's kinds, versions and data are its own", () => {
    expect(reading(recorded("fs", "read"), { kind: "dreamt", v: 99, data: null })).toBe("accepted");
  });
});

describe("what is broken", () => {
  test("text that is not a JSON object", () => {
    expect(refusal(() => decodeItem("{}"))).toBe("undecodable");
    for (const body of ["", "{", "null", "[]", "1", '"x"', "{}{}", "\ufeff{}", "nul"]) {
      expect(
        refusal(() => decodeEvent("TaskEnded", body)),
        body,
      ).toBe("undecodable");
      expect(
        refusal(() => decodeItem(body)),
        body,
      ).toBe("undecodable");
    }
  });

  test("a missing field of any event", () => {
    const samples: Event[] = [created(), taken(), called(), replied("x"), started("c1_0", "look"), finished("c1_0")];
    for (const event of samples) {
      for (const key of Object.keys(fieldsOf(event))) {
        expect(reading(event, { [key]: undefined }), `${event.type}.${key}`).toBe("undecodable");
      }
    }
  });

  test("a field of the wrong type", () => {
    expect(reading(started("c1_0", "look"), { attempt: "1" })).toBe("undecodable");
    expect(reading(started("c1_0", "look"), { attempt: 1.5 })).toBe("undecodable");
    expect(reading(started("c1_0", "look"), { effect: 5 })).toBe("undecodable");
    expect(reading(finished("c1_0"), { content: "text" })).toBe("undecodable");
    expect(reading(finished("c1_0"), { content: [{ type: "text" }] })).toBe("undecodable");
    expect(reading(finished("c1_0"), { content: [{ type: 1 }] })).toBe("undecodable");
    expect(reading(taken(), { items: [{ ...say("x"), text: 5 }] })).toBe("undecodable");
    expect(reading(replied("x"), { usage: { tokens: { input: "1" }, durationMs: 1 } })).toBe("undecodable");
    expect(reading(replied("x"), { usage: { tokens: 5, durationMs: 1 } })).toBe("undecodable");
    expect(reading(created(), { config: { model: "m", maxSteps: 0 } })).toBe("undecodable");
    expect(reading(core("interrupted", { reason: "crashed" }), { data: null })).toBe("undecodable");
    expect(reading(core("erased", { seqs: [1], reason: "" }), { data: { seqs: ["1"], reason: "" } })).toBe(
      "undecodable",
    );
  });

  test("what is broken stays so, whatever else is new about it", () => {
    expect(reading(finished("c1_0"), { callId: undefined, speed: 1 })).toBe("undecodable");
    expect(reading(finished("c1_0"), { status: "late", content: "text" })).toBe("undecodable");
    expect(reading(started("c1_0", "look"), { attempt: 1.5, speed: 1 })).toBe("undecodable");
  });

  test("a redacted core record may lack its content and nothing else", () => {
    const record = core("turn_failed", { reason: "error", message: "secret" });
    expect(reading(record, { data: { reason: "error" }, redacted: true })).toBe("accepted");
    expect(reading(record, { data: {}, redacted: true })).toBe("undecodable");
    expect(reading(core("prompts", { identity: "", system: "", parts: [] }), { data: {}, redacted: true })).toBe(
      "accepted",
    );
    expect(reading(core("prompts", { identity: "", system: "", parts: [] }), { data: {} })).toBe("undecodable");
  });
});

describe("what cannot be written", () => {
  test("is refused, for it could not be read back", () => {
    const deep = { down: {} as Record<string, unknown> };
    for (let level = 0, here = deep.down; level < 100_000; level += 1)
      here = here["down"] = {} as Record<string, unknown>;
    for (const input of [undefined, () => 1, 10n, Symbol("s"), Number.NaN, Infinity, deep, { n: 10n }]) {
      expect(refusal(() => encodeEvent(started("c1_0", "look", { input })))).toBe("undecodable");
    }
    expect(refusal(() => encodeEvent({ ...finished("c1_0"), status: "late" } as unknown as Event))).toBe(
      "newer_version",
    );
    expect(refusal(() => encodeItem({ type: "Nothing" } as never))).toBe("undecodable");
    expect(refusal(() => encodeItem({ type: "Say", text: 5 } as never))).toBe("undecodable");
    expect(refusal(() => encodeItem({ type: "Signal", name: "n", data: { n: 10n } }))).toBe("undecodable");
  });
});

describe("for any bytes", () => {
  const text = fc.oneof(
    anyString,
    anyJson.map((value) => JSON.stringify(value)),
    anyEvent.map((event) => encodeEvent(event)),
  );
  const type = fc.oneof(fc.constantFrom<string>(...eventTypes), anyString);

  test("reading throws CodecError or nothing", () => {
    fc.assert(
      fc.property(type, text, (name, body) => {
        refusal(() => decodeEvent(name, body));
        refusal(() => decodeItem(body));
      }),
      { numRuns: 2_000 },
    );
  });

  test("one field put in another's place is refused or read, never thrown over", () => {
    fc.assert(
      fc.property(anyEvent, fc.nat(), anyJson, (event, at, value) => {
        const fields = fieldsOf(event);
        const keys = Object.keys(fields);
        const key = keys[at % keys.length] ?? "";
        refusal(() => decodeEvent(event.type, JSON.stringify({ ...fields, [key]: value })));
      }),
      { numRuns: 2_000 },
    );
  });

  test("nesting of any depth is read", () => {
    const nested = `{"callId":"c","status":"ok","content":[],"details":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
    expect(refusal(() => decodeEvent("ToolFinished", nested))).toBe("accepted");
  });
});

test("every item type and record kind has a schema that a value fits", () => {
  for (const type of itemTypes) expect(() => fc.sample(itemOf(type), 5).map(encodeItem)).not.toThrow();
  expect(recordKinds).toHaveLength(new Set(recordKinds).size);
});
