import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "./load.ts";

const folderWith = (files: Readonly<Record<string, string>>): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "perdure-config-")));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
};

test("a configuration is found above, TypeScript first", async () => {
  const folder = folderWith({
    "perdure.config.ts": `export default { db: "ts.db" satisfies string };`,
    "perdure.config.mjs": `export default { db: "mjs.db" };`,
  });
  const deep = join(folder, "a", "b");
  mkdirSync(deep, { recursive: true });
  expect(await loadConfig(deep)).toEqual({ config: { db: "ts.db" }, path: join(folder, "perdure.config.ts") });
});

test("one that is named is used, from where the command runs", async () => {
  const folder = folderWith({
    "perdure.config.ts": "export default {};",
    "other.mjs": `export default { db: "o.db" };`,
  });
  expect(await loadConfig(folder, "other.mjs")).toMatchObject({ config: { db: "o.db" } });
  await expect(loadConfig(folder, "gone.ts")).rejects.toThrow("there is no configuration at gone.ts");
});

test.each([
  ["{ agents: [] }", "agents must not have fewer than 1 items"],
  ["{ agents: [{ name: 5 }] }", "agents.0.name must be string"],
  ["{ agents: [{ name: 'a', mode: 'chat' }] }", "agents.0.mode must"],
  ["{ agents: [{ name: 'a', settings: { model: 'm' } }] }", "agents.0.settings has no field model"],
  ["{ models: { m: {} } }", "models.m is no model: it has no stream method"],
  ["{ agent: 'b', agents: [{ name: 'a' }] }", "agent names b, which is not among agents"],
  ["5", "it must be object"],
])("%s is no configuration: %s", async (text, says) => {
  const folder = folderWith({ "perdure.config.mjs": `export default ${text};` });
  await expect(loadConfig(folder)).rejects.toThrow(`perdure.config.mjs is no configuration: ${says}`);
});
