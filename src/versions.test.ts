import { expect, test } from "vitest";
import type { PreparedAgent } from "./plugins/plugin.ts";
import { sourceHash } from "./plugins/source-hash.ts";
import { buildOf, packageVersion, processBuild, snapshotVersionOf } from "./versions.ts";

const prepared = (name: string, source: string): PreparedAgent => ({
  agent: {
    name,
    identity: "",
    system: "",
    settings: { model: "m" },
    mode: "conversation",
    onInterrupt: "continue",
    plugins: [],
  },
  tools: new Map(),
  pins: [{ name: "p", version: "1", source }],
  reducers: {},
});

test("the code that folds snapshots can be read, so that two processes of it agree", async () => {
  expect(await sourceHash(new URL("./runner/snapshot.ts", import.meta.url).href)).toMatch(/^[0-9a-f]{64}$/);
});

test("a snapshot's version changes with the agent's name and with a plugin's source", async () => {
  const version = await snapshotVersionOf(prepared("a", "s1"));
  expect(await snapshotVersionOf(prepared("a", "s1"))).toBe(version);
  expect(await snapshotVersionOf(prepared("b", "s1"))).not.toBe(version);
  expect(await snapshotVersionOf(prepared("a", "s2"))).not.toBe(version);
});

test("a build names the version, and another configuration is another build", async () => {
  const build = await buildOf();
  expect(build.startsWith(`${packageVersion}-`)).toBe(true);
  expect(await buildOf()).toBe(build);
  const one = await buildOf(new URL("./plugins/names.ts", import.meta.url).href);
  const two = await buildOf(new URL("./plugins/schema.ts", import.meta.url).href);
  expect(new Set([build, one, two]).size).toBe(3);
});

test("a process that cannot know its code is a build of its own", () => {
  expect(processBuild).toMatch(/^process-[0-9a-f-]{36}$/);
});
