import { createHash } from "node:crypto";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { definitionOf } from "./definition.ts";
import type { Tool } from "./plugin.ts";

const tool: Tool = {
  name: "Move",
  description: "Moves a file.",
  inputSchema: Type.Object({ to: Type.String(), from: Type.String() }),
  effect: "write",
  execute: () => "moved",
};

test("the text is the definition in one canonical form, and the hash is its SHA-256", () => {
  const { text, hash, definition } = definitionOf(tool);
  expect(text).toBe(
    '{"name":"Move","description":"Moves a file.",' +
      '"inputSchema":{"type":"object","required":["to","from"],"properties":{"to":{"type":"string"},"from":{"type":"string"}}},' +
      '"effect":"write"}',
  );
  expect(JSON.parse(text)).toEqual(definition);
  expect(hash).toBe(createHash("sha256").update(text).digest("hex"));
});

test("the order in which a tool's fields are written does not matter", () => {
  const reversed = Object.fromEntries(Object.entries(tool).reverse()) as unknown as Tool;
  expect(definitionOf(reversed)).toEqual(definitionOf(tool));
});

test("what the model is shown or recovery relies on changes the hash; what else there is does not", () => {
  const { hash } = definitionOf(tool);
  const changes: Partial<Tool>[] = [
    { name: "Shift" },
    { description: "Moves files." },
    { inputSchema: Type.Object({ from: Type.String(), to: Type.String() }) },
    { effect: "destructive" },
    { idempotent: { ttlMs: 1_000 } },
    { verify: () => Promise.resolve("unknown") },
    { onUnknown: "tell" },
    { deferred: true },
  ];
  const hashes = changes.map((change) => definitionOf({ ...tool, ...change }).hash);
  expect(new Set([hash, ...hashes]).size).toBe(changes.length + 1);
  expect(definitionOf({ ...tool, timeoutMs: 5, maxOutputChars: 9, execute: () => "other" }).hash).toBe(hash);
});

test("a tool whose input is not an object is refused", () => {
  expect(() => definitionOf({ ...tool, inputSchema: Type.String() })).toThrow(
    "its inputSchema must describe an object, as providers require",
  );
});
