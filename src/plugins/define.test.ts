// The types are the subject here: each line compiles only if the input's type reaches `execute`.
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { Type } from "typebox";
import { expectTypeOf, test } from "vitest";
import { definePlugin, defineTool } from "./define.ts";
import type { Tool, ToolContext } from "./plugin.ts";

const frame = { name: "Look", description: "Looks.", effect: "read" } as const;

test("a TypeBox type reaches execute", () => {
  defineTool({
    ...frame,
    inputSchema: Type.Object({ path: Type.String(), limit: Type.Optional(Type.Integer()) }),
    execute(input, context) {
      expectTypeOf(input).toEqualTypeOf<{ path: string; limit?: number }>();
      expectTypeOf(context).toEqualTypeOf<ToolContext>();
      return input.path;
    },
  });
});

test("a JSON Schema literal reaches execute", () => {
  defineTool({
    ...frame,
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" }, mode: { enum: ["fast", "slow"] } },
      required: ["path"],
    },
    execute(input) {
      expectTypeOf(input.path).toEqualTypeOf<string>();
      expectTypeOf(input.mode).toEqualTypeOf<"fast" | "slow" | undefined>();
      return input.path;
    },
  });
});

test("a Standard Schema reaches execute with what it puts out", () => {
  type Vendor = StandardSchemaV1<{ at: string }, { at: Date }> & StandardJSONSchemaV1<{ at: string }, { at: Date }>;
  const schema: Vendor = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => ({ value: { at: new Date((value as { at: string }).at) } }),
      jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
    },
  };
  defineTool({
    ...frame,
    inputSchema: schema,
    execute(input) {
      expectTypeOf(input).toEqualTypeOf<{ at: Date }>();
      return "seen";
    },
  });
});

test("tools of any schema stand in one plugin", () => {
  const tool = defineTool({ ...frame, inputSchema: Type.Object({}), execute: () => "seen" });
  expectTypeOf(tool).toEqualTypeOf<Tool>();
  definePlugin({ name: "eyes", version: "1", tools: [tool] });
});
