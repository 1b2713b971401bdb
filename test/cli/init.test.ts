import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlace } from "./perdure.ts";

test("init writes a project that answers without a key", async () => {
  const place = createPlace();
  const made = await place.perdure("init", "my agent");
  expect(made.code, made.stderr).toBe(0);
  const folder = join(place.folder, "my agent");
  expect(readdirSync(folder).sort()).toEqual([".gitignore", "notes.txt", "package.json", "perdure.config.ts"]);
  expect(JSON.parse(place.read("my agent/package.json"))).toMatchObject({ name: "my-agent", type: "module" });
  const config = ["--config", "my agent/perdure.config.ts", "--workspace", "my agent", "--db", "t.db"];
  const asked = await place.perdure("run", "what is in notes.txt?", ...config);
  expect(asked.code, asked.stderr).toBe(0);
  expect(asked.stdout).toContain("perdure keeps every task in a log.");
  const doctor = await place.perdure("doctor", "--config", "my agent/perdure.config.ts");
  expect(doctor.stdout).toMatch(/agents +helper \(.*Notify.*\)/);
});

test("init leaves what is there", async () => {
  const place = createPlace();
  place.write("package.json", '{"name":"mine"}');
  const made = await place.perdure("init", "--json");
  expect(JSON.parse(made.stdout)).toEqual({
    folder: place.folder,
    written: ["perdure.config.ts", "notes.txt", ".gitignore"],
  });
  expect(place.read("package.json")).toBe('{"name":"mine"}');
  const again = await place.perdure("init");
  expect(again).toMatchObject({ code: 1, stderr: "perdure: this folder has a perdure.config.ts already\n" });
  expect(existsSync(join(place.folder, ".perdure"))).toBe(false);
});
