import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { defineTool } from "./define.ts";
import type { Agent, Plugin } from "./plugin.ts";
import { prepareAgent } from "./prepare.ts";
import { sourceHash } from "./source-hash.ts";

const build = "build-1";

const tool = (name: string, more: object = {}) =>
  defineTool({
    name,
    description: `${name} it.`,
    effect: "write",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    execute: () => "done",
    ...more,
  });

const agentWith = (...plugins: Plugin[]): Agent => ({
  name: "a",
  identity: "You are a.",
  system: "",
  settings: { model: "m" },
  mode: "conversation",
  onInterrupt: "continue",
  plugins,
});

test("tools stand by name, with an entry that says what recovery relies on", async () => {
  const verify = (): Promise<"done"> => Promise.resolve("done");
  const move = tool("Move", { verify, onUnknown: "tell", idempotent: { ttlMs: 5 } });
  const { tools } = await prepareAgent(agentWith({ name: "p", version: "1", tools: [tool("Put"), move] }), { build });
  expect([...tools.keys()]).toEqual(["Move", "Put"]);
  expect(tools.get("Move")?.entry).toEqual({
    name: "Move",
    plugin: "p",
    definition: expect.stringMatching(/^[0-9a-f]{64}$/),
    effect: "write",
    idempotent: { ttlMs: 5 },
    verify: true,
    onUnknown: "tell",
  });
  expect(JSON.parse(tools.get("Put")?.definition ?? "")).toMatchObject({ name: "Put", effect: "write" });
});

test("input is checked against the tool's schema, output against its own or not at all", async () => {
  const strict = tool("Strict", { outputSchema: { type: "object", required: ["content"] } });
  const { tools } = await prepareAgent(agentWith({ name: "p", version: "1", tools: [tool("Put"), strict] }), { build });
  const put = tools.get("Put");
  expect(await put?.checkInput({ path: "a" })).toEqual({ ok: true, value: { path: "a" } });
  expect(await put?.checkInput({})).toMatchObject({ ok: false, message: expect.stringContaining("path") });
  expect(await put?.checkOutput(5)).toEqual({ ok: true, value: 5 });
  expect(await tools.get("Strict")?.checkOutput({})).toMatchObject({ ok: false });
});

test("a pin names the plugin's code: its module's, that of the file it is written in, or the build", async () => {
  const own = new URL("./names.ts", import.meta.url).href;
  const outer = new URL("./schema.ts", import.meta.url).href;
  const plugins: Plugin[] = [
    { name: "b", version: "2", module: own, args: { depth: 3 } },
    { name: "a", version: "1" },
  ];
  const { pins } = await prepareAgent(agentWith(...plugins), { build, module: outer });
  expect(pins).toEqual([
    { name: "a", version: "1", source: await sourceHash(outer) },
    { name: "b", version: "2", source: await sourceHash(own), args: { depth: 3 } },
  ]);
  const nowhere = `${fileURLToPath(own)}-nowhere`;
  const unknown = await prepareAgent(agentWith({ name: "a", version: "1", module: nowhere }), { build });
  expect(unknown.pins).toEqual([{ name: "a", version: "1", source: build }]);
});

test("reducers stand under their plugins' names", async () => {
  const reducer = { initial: () => 0, reduce: (state: unknown) => state };
  const { reducers } = await prepareAgent(
    agentWith({ name: "p", version: "1", reducer }, { name: "q", version: "1" }),
    {
      build,
    },
  );
  expect(reducers).toEqual({ p: reducer });
});

test("what is wrong names the plugin and the tool", async () => {
  const prepare = (...plugins: Plugin[]): Promise<unknown> => prepareAgent(agentWith(...plugins), { build });
  const none = { inputSchema: { type: "string" } };
  await expect(prepare({ name: "p", version: "1", tools: [tool("Put", none)] })).rejects.toThrow(
    "plugin p, tool Put: its inputSchema must describe an object",
  );
  await expect(
    prepare({ name: "p", version: "1", tools: [tool("Put")] }, { name: "q", version: "1", tools: [tool("Put")] }),
  ).rejects.toThrow("plugins p and q both have a tool named Put");
  await expect(prepare({ name: "p", version: "1", args: { at: new Date(0) } })).rejects.toThrow(
    "plugin p: its args are part of its pin and must be plain JSON",
  );
});
