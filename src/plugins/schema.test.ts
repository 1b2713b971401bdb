import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { InputSchema } from "./plugin.ts";
import { compileSchema, jsonSchemaOf } from "./schema.ts";

const read = Type.Object(
  {
    file_path: Type.String({ minLength: 1 }),
    limit: Type.Optional(Type.Integer({ minimum: 1 })),
    mode: Type.Optional(Type.Union([Type.Literal("fast"), Type.Literal("slow")])),
    unit: Type.Optional(Type.Enum(["line", "byte"])),
    at: Type.Optional(Type.Union([Type.String(), Type.Number()])),
    ranges: Type.Optional(Type.Array(Type.Object({ "from/to": Type.Integer() }))),
  },
  { additionalProperties: false },
);

const message = async (schema: InputSchema, value: unknown): Promise<string> => {
  const checked = await compileSchema(schema).validate(value);
  return checked.ok ? "" : checked.message;
};

describe("a JSON Schema", () => {
  test("lets a value that fits pass as it is", async () => {
    const value = { file_path: "a.txt", limit: 2 };
    expect(await compileSchema(read).validate(value)).toEqual({ ok: true, value });
  });

  test("names each field that does not fit, and what was expected there", async () => {
    expect(await message(read, {})).toBe("file_path is required");
    expect(await message(read, { file_path: 1 })).toBe("file_path must be string");
    expect(await message(read, { file_path: "a", limit: 0 })).toBe("limit must be >= 1");
    expect(await message(read, { file_path: "a", path: "b" })).toBe("path is not a known field");
    expect(await message(read, { file_path: "a", mode: "x" })).toBe('mode must be "fast" or must be "slow"');
    expect(await message(read, { file_path: "a", unit: "x" })).toBe('unit must be "line" or "byte"');
    expect(await message(read, { file_path: "a", at: true })).toBe("at must be string or must be number");
    expect(await message(read, { file_path: "a", ranges: [{ "from/to": "x" }] })).toBe(
      "ranges.0.from/to must be integer",
    );
    expect(await message(read, "a.txt")).toBe("the input must be object");
    expect(await message(read, { limit: 0, path: "b" })).toBe(
      "file_path is required; path is not a known field; limit must be >= 1",
    );
  });

  test("says of many wrong fields how many there are", async () => {
    const letters = Type.Object(Object.fromEntries([..."abcdefgh"].map((key) => [key, Type.String()])));
    expect(await message(letters, {})).toMatch(/^a is required; .*; e is required; and 3 more$/);
  });

  test("is shown in the order in which it was written, without what JSON cannot hold", () => {
    const schema = Type.Object({ old: Type.String({ pattern: /^a+$/ }), new: Type.String() });
    const text = JSON.stringify(jsonSchemaOf(schema));
    expect(text).toContain('"properties":{"old":{"type":"string","pattern":"^a+$"},"new":{"type":"string"}}');
    expect(text).not.toContain("~kind");
  });

  test("that is none is refused when it is compiled", () => {
    expect(() => compileSchema({ type: "string", pattern: "(" })).toThrow(/regular expression/);
  });
});

/** A library's schema of { at: string }, which puts out the instant. */
const vendor = (options: { readonly async?: boolean; readonly sayable?: boolean } = {}): InputSchema => {
  const check = (value: unknown): StandardSchemaV1.Result<{ at: number }> => {
    const at = (value as { at?: unknown }).at;
    return typeof at === "string"
      ? { value: { at: Date.parse(at) } }
      : { issues: [{ message: "expected a date", path: ["range", { key: "at" }] }, { message: "nothing fits" }] };
  };
  const schema: StandardSchemaV1<{ at: string }, { at: number }> & StandardJSONSchemaV1 = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => (options.async === true ? Promise.resolve(check(value)) : check(value)),
      jsonSchema: {
        input: ({ target }) => {
          if (options.sayable === false) throw new Error("a date has no JSON Schema");
          return { $schema: target, type: "object", properties: { at: { type: "string" } } };
        },
        output: () => ({}),
      },
    },
  };
  return schema;
};

describe("a Standard Schema", () => {
  test("checks with its own library and hands on what that puts out", async () => {
    const expected = { ok: true, value: { at: 0 } };
    expect(compileSchema(vendor()).validate({ at: "1970-01-01" })).toEqual(expected);
    expect(await compileSchema(vendor({ async: true })).validate({ at: "1970-01-01" })).toEqual(expected);
  });

  test("names each field that does not fit in its library's words", async () => {
    expect(await message(vendor(), {})).toBe("range.at: expected a date; the input: nothing fits");
    expect(await message(vendor({ async: true }), {})).toBe("range.at: expected a date; the input: nothing fits");
  });

  test("is shown as the JSON Schema of its input", () => {
    expect(compileSchema(vendor()).jsonSchema).toEqual({
      $schema: "draft-2020-12",
      type: "object",
      properties: { at: { type: "string" } },
    });
  });

  test("that cannot be said as JSON Schema is refused when it is compiled", () => {
    expect(() => compileSchema(vendor({ sayable: false }))).toThrow("a date has no JSON Schema");
  });
});
