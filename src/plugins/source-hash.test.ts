import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { sourceHash } from "./source-hash.ts";

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true });
});

const base: Record<string, string> = {
  "plugin.ts": 'import { a } from "./lib/a.ts";\nimport type { B } from "./b.ts";\nimport "some-package/part";\n',
  "lib/a.ts": 'export * from "../b.ts";\nexport const lazy = () => import("./lazy.js");\n',
  "lib/lazy.js": 'import "node:fs"; const x = require("./words"); // see import "./nowhere.ts"\n',
  "lib/words.json": "{}",
  "b.ts": 'import "../plugin.ts";',
  "node_modules/some-package/package.json": '{ "name": "some-package", "version": "1.0.0" }',
  "node_modules/some-package/part.js": "1",
};

/** The hash of `plugin.ts` in a folder of its own that holds the base with `changes`. */
const hashWith = (changes: Record<string, string> = {}): Promise<string | null> => {
  const folder = mkdtempSync(join(tmpdir(), "source-hash-"));
  made.push(folder);
  for (const [name, text] of Object.entries({ ...base, ...changes })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return sourceHash(pathToFileURL(join(folder, "plugin.ts")).href);
};

test("the same sources have the same hash wherever they stand", async () => {
  const hash = await hashWith();
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(await hashWith()).toBe(hash);
});

test("every file that is imported, however and from however far, changes the hash", async () => {
  const files = ["plugin.ts", "lib/a.ts", "lib/lazy.js", "lib/words.json", "b.ts"];
  const hashes = await Promise.all(files.map((file) => hashWith({ [file]: `${base[file] ?? ""} ` })));
  expect(new Set([await hashWith(), ...hashes]).size).toBe(files.length + 1);
});

test("a package counts by name and version, not by its files", async () => {
  const hash = await hashWith();
  expect(await hashWith({ "node_modules/some-package/part.js": "2" })).toBe(hash);
  const newer = '{ "name": "some-package", "version": "1.0.1" }';
  expect(await hashWith({ "node_modules/some-package/package.json": newer })).not.toBe(hash);
});

test("a file that is not imported does not count", async () => {
  expect(await hashWith({ "lib/other.ts": "1", "nowhere.ts": "1" })).toBe(await hashWith());
});

test.each(["import(name)", "import(`./${name}.ts`)", "import(/* which */ name)", "require(name)", 'import("#inside")'])(
  "code that says %s has no hash",
  async (code) => {
    expect(await hashWith({ "b.ts": `export const load = (name: string) => ${code};` })).toBeNull();
  },
);

test("what is not a file, or is gone, has no hash", async () => {
  expect(await sourceHash("data:text/javascript,1")).toBeNull();
  expect(await sourceHash("file:///nowhere/plugin.ts")).toBeNull();
});

test("a module is read once: later changes on disk do not show", async () => {
  const folder = mkdtempSync(join(tmpdir(), "source-hash-"));
  made.push(folder);
  const file = join(folder, "plugin.ts");
  writeFileSync(file, "1");
  const before = await sourceHash(pathToFileURL(file).href);
  writeFileSync(file, "2");
  expect(await sourceHash(pathToFileURL(file).href)).toBe(before);
});
