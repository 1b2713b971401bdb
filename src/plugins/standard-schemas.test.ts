// Schemas of the libraries that people use: their types reach `execute`, their JSON Schema reaches the model, and what the
// model sends is checked by them.
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { defineTool } from "./define.ts";
import type { InputSchema } from "./plugin.ts";
import { compileSchema } from "./schema.ts";

const frame = { name: "Look", description: "Looks.", effect: "read" } as const;

const schemas: Record<string, InputSchema> = {
  zod: z.object({ path: z.string(), limit: z.number().optional() }),
  valibot: toStandardJsonSchema(v.object({ path: v.string(), limit: v.optional(v.number()) })),
  arktype: type({ path: "string", "limit?": "number" }),
  TypeBox: Type.Object({ path: Type.String(), limit: Type.Optional(Type.Number()) }),
};

it.each(Object.entries(schemas))("a schema of %s is shown to the model and checks what it sends", async (_, schema) => {
  const { jsonSchema, validate } = compileSchema(schema);
  expect(jsonSchema).toMatchObject({
    type: "object",
    properties: { path: { type: "string" }, limit: { type: "number" } },
    required: ["path"],
  });
  expect(await validate({ path: "a.txt", limit: 3 })).toEqual({ ok: true, value: { path: "a.txt", limit: 3 } });
  expect(await validate({ path: 5 })).toMatchObject({ ok: false, message: expect.stringContaining("path") as string });
});

it("the input's type reaches execute", () => {
  defineTool({
    ...frame,
    inputSchema: z.object({ path: z.string(), at: z.string().transform((text) => new Date(text)) }),
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ path: string; at: Date }>();
      return input.path;
    },
  });
  defineTool({
    ...frame,
    inputSchema: toStandardJsonSchema(v.object({ path: v.string() })),
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ path: string }>();
      return input.path;
    },
  });
  defineTool({
    ...frame,
    inputSchema: type({ path: "string", "limit?": "number" }),
    execute: (input) => {
      expectTypeOf(input.path).toEqualTypeOf<string>();
      expectTypeOf(input.limit).toEqualTypeOf<number | undefined>();
      return input.path;
    },
  });
});

it("the compiler refuses a tool that reads what its schema does not have", () => {
  defineTool({
    ...frame,
    inputSchema: z.object({ path: z.string() }),
    // @ts-expect-error: the schema has no such field.
    execute: (input) => String(input.line),
  });
  defineTool({
    ...frame,
    inputSchema: Type.Object({ path: Type.String() }),
    // @ts-expect-error: it is a string.
    execute: (input) => (input.path satisfies number, "seen"),
  });
});
