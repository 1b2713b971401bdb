import { Type } from "typebox";
import { expect, test } from "vitest";
import { checkNames } from "./names.ts";
import type { Plugin } from "./plugin.ts";

const plugin = (name: string, tools: readonly string[] = [], version = "1"): Plugin => ({
  name,
  version,
  tools: tools.map((tool) => ({
    name: tool,
    description: "",
    inputSchema: Type.Object({}),
    effect: "read",
    execute: () => "",
  })),
});

test("plugins and tools of different names stand together", () => {
  checkNames([plugin("fs", ["Read", "a-b_9", "x".repeat(64)]), plugin("web_2", ["Fetch"])]);
});

test("two plugins of one name are an error that names both", () => {
  expect(() => {
    checkNames([plugin("fs"), plugin("fs", [], "2")]);
  }).toThrow("two plugins are named fs: version 1 and version 2");
});

test("two tools of one name are an error that names both plugins", () => {
  expect(() => {
    checkNames([plugin("fs", ["Read"]), plugin("web", ["Read"])]);
  }).toThrow("plugins fs and web both have a tool named Read");
  expect(() => {
    checkNames([plugin("fs", ["Read", "Read"])]);
  }).toThrow("plugins fs and fs both have a tool named Read");
});

test("a plugin cannot be named as the kernel is", () => {
  expect(() => {
    checkNames([plugin("core")]);
  }).toThrow("plugin name core is the kernel's");
});

test.each(["", "Fs", "9fs", "f-s", "f s", "fs\n"])("the plugin name %j is refused", (name) => {
  expect(() => {
    checkNames([plugin(name)]);
  }).toThrow(`plugin name ${JSON.stringify(name)} is not of the form`);
});

test.each(["", "9", "_x", "a b", "a.b", "x".repeat(65), "Read\n"])("the tool name %j is refused", (name) => {
  expect(() => {
    checkNames([plugin("fs", [name])]);
  }).toThrow(`tool name ${JSON.stringify(name)} of plugin fs is not of the form`);
});
