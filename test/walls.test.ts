// Proves that the linter holds the import table and the core's purity: each wall is broken here once and must be reported.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ESLint, Linter } from "eslint";
import ts from "typescript";
import tseslint from "typescript-eslint";
import { expect, test } from "vitest";

const root = new URL("../", import.meta.url);
const eslint = new ESLint({ cwd: fileURLToPath(root) });

/** The ids of the wall and purity rules that `line` breaks when it stands in `file`, under the real configuration. */
async function broken(file: string, line: string): Promise<readonly string[]> {
  const whole = (await eslint.calculateConfigForFile(file)) as Linter.Config;
  const watched = /^(perdure\/|no-restricted-)/;
  const rules = Object.fromEntries(Object.entries(whole.rules ?? {}).filter(([id]) => watched.test(id)));
  const config = {
    files: ["**"],
    plugins: whole.plugins ?? {},
    languageOptions: { parser: tseslint.parser as Linter.Parser },
    rules,
  };
  const messages = new Linter({ cwd: fileURLToPath(root) }).verify(line, [config], {
    filename: fileURLToPath(new URL(file, root)),
  });
  return messages.map((message) => message.ruleId ?? message.message);
}

const imports = (path: string): string => `import { x } from ${JSON.stringify(path)}; x();`;
const wall = ["perdure/walls"];

/** A file of src, and the imports that it must not have. */
const forbidden: Record<string, readonly string[]> = {
  "core/fold.ts": [
    "../store/store.ts",
    "../runner/runner.ts",
    "../testing/index.ts",
    "../index.ts",
    "node:crypto",
    "fs",
    "pg",
  ],
  "store/store.ts": ["../model/model.ts", "./memory/log.ts", "./seal.ts", "../runner/runner.ts", "node:fs", "pg"],
  "model/model.ts": ["../store/store.ts", "./queue.ts", "./demo/demo.ts", "node:fs"],
  "access/access.ts": ["../store/store.ts", "./cached.ts", "./local/local.ts", "node:fs"],
  "access/cached.ts": ["./local/local.ts", "../store/store.ts", "../runner/runner.ts", "pg"],
  "access/local/local.ts": ["../../store/store.ts", "../../client/client.ts", "../../config/config.ts"],
  "exec/exec.ts": ["../store/store.ts", "../plugins/plugin.ts", "./local/exec.ts", "node:fs"],
  "plugins/plugin.ts": ["../store/store.ts", "./fs/fs.ts", "../exec/local/exec.ts", "node:fs"],
  "store/store.contract.ts": ["./memory/log.ts", "../runner/runner.ts", "../cli/main.ts"],
  "store/seal.ts": ["./sqlite/log.ts", "../model/model.ts", "../runner/runner.ts", "pg"],
  "exec/limits.ts": ["./local/exec.ts", "../store/store.ts"],
  "plugins/pins.ts": ["./fs/fs.ts", "../store/store.ts", "../exec/local/exec.ts"],
  "model/queue.ts": ["./ai-sdk/ai-sdk.ts", "../store/store.ts", "../runner/runner.ts"],
  "store/sqlite/log.ts": ["../memory/log.ts", "../postgres/log.ts", "../../model/model.ts", "../../runner/runner.ts"],
  "store/sqlite/deep/log.ts": ["../../memory/log.ts", "../../../client/client.ts"],
  "model/ai-sdk/ai-sdk.ts": ["../demo/demo.ts", "../../store/store.ts", "../../exec/exec.ts"],
  "exec/sandbox/exec.ts": ["../local/exec.ts", "../../plugins/plugin.ts"],
  "plugins/fs/fs.ts": [
    "../shell/shell.ts",
    "../../exec/local/exec.ts",
    "../../store/store.ts",
    "../../runner/runner.ts",
  ],
  "runner/runner.ts": [
    "../worker/worker.ts",
    "../client/client.ts",
    "../store/memory/log.ts",
    "../plugins/fs/fs.ts",
    "pg",
  ],
  "worker/worker.ts": ["../client/client.ts", "../store/sqlite/log.ts", "../cli/main.ts", "pg"],
  "client/client.ts": [
    "../runner/runner.ts",
    "../worker/worker.ts",
    "../model/model.ts",
    "../store/sqlite/log.ts",
    "../access/local/local.ts",
    "pg",
  ],
  "http/server.ts": ["../store/store.ts", "../runner/runner.ts", "../worker/worker.ts", "../cli/main.ts"],
  "config/config.ts": ["../runner/runner.ts", "../client/client.ts", "../store/sqlite/log.ts", "../cli/main.ts"],
  "library/task.ts": ["../cli/main.ts", "../http/server.ts"],
  "unheard-of/file.ts": ["../core/fold.ts"],
};

/** A file of src, and imports that it may have: a wall that refuses everything holds nothing. */
const permitted: Record<string, readonly string[]> = {
  "core/fold.ts": ["./events.ts", "typebox", "typebox/value"],
  "store/store.ts": ["../core/events.ts"],
  "plugins/plugin.ts": ["../core/events.ts", "../exec/exec.ts", "typebox"],
  "store/store.contract.ts": ["./store.ts", "../core/events.ts", "../testing/fixed-clock.ts", "vitest"],
  "store/sqlite/log.ts": ["../store.ts", "../seal.ts", "./inbox.ts", "../../core/events.ts", "node:sqlite"],
  "store/postgres/deep/log.ts": ["../inbox.ts", "../../store.ts", "pg"],
  "access/local/local.ts": ["../access.ts", "../../core/events.ts"],
  "plugins/fs/fs.ts": ["../plugin.ts", "../../core/events.ts", "../../exec/exec.ts", "./read.ts", "typebox"],
  "runner/runner.ts": ["../plugins/plugin.ts", "../store/store.ts", "./call-model.ts", "node:crypto"],
  "worker/worker.ts": ["../runner/runner.ts", "../store/store.ts", "node:timers/promises"],
  "client/client.ts": ["../store/store.ts", "../access/access.ts", "../core/events.ts", "./follow.ts"],
  "http/server.ts": ["../client/client.ts", "../core/events.ts", "node:http"],
  "config/config.ts": ["../model/model.ts", "node:fs"],
  "cli/main.ts": ["../store/sqlite/log.ts", "../runner/runner.ts", "node:fs"],
  "library/task.ts": ["../client/post.ts", "../store/sqlite/sqlite-store.ts", "../runtime.ts", "node:os"],
  "testing/index.ts": ["../store/store.contract.ts", "../runner/runner.ts"],
  "runner/runner.test.ts": ["../store/memory/log.ts", "../testing/index.ts"],
};

for (const [file, paths] of Object.entries(forbidden)) {
  test(`src/${file} is walled`, async () => {
    for (const path of paths) expect(await broken(`src/${file}`, imports(path)), path).toEqual(wall);
  });
}

for (const [file, paths] of Object.entries(permitted)) {
  test(`src/${file} has its doors`, async () => {
    for (const path of paths) expect(await broken(`src/${file}`, imports(path)), path).toEqual([]);
  });
}

test("every way to write an import meets the wall", async () => {
  const ways = [
    'import type { X } from "../client/client.ts";',
    'import "../client/client.ts";',
    'export { x } from "../client/client.ts";',
    'export * from "../client/client.ts";',
    'const x = await import("../client/client.ts");',
    'type X = import("../client/client.ts").X;',
    'import { x } from "./../client/client.ts";',
  ];
  for (const way of ways) expect(await broken("src/runner/runner.ts", way), way).toEqual(wall);
});

test("the core cannot reach the clock, chance or the locale", async () => {
  const globals = ["Date.now();", "new Date();", "performance.now();", "new Intl.Collator();"];
  const properties = ["Math.random();", "const { random } = Math;", "globalThis.Date;", "'a'.localeCompare('b');"];
  for (const line of globals) expect(await broken("src/core/fold.ts", line), line).toEqual(["no-restricted-globals"]);
  for (const line of properties)
    expect(await broken("src/core/fold.ts", line), line).toEqual(["no-restricted-properties"]);
  expect(await broken("src/runner/runner.ts", globals.join("") + properties.join(""))).toEqual([]);
});

test("the core compiles without Node and without a browser", () => {
  const folder = fileURLToPath(new URL("src/core/", root));
  const file = `${folder}virtual.ts`;
  const names = ["process", "Buffer", "setTimeout", "console", "fetch", "crypto", "TextEncoder", "document", "URL"];
  const text = ['import "typebox";', 'import "node:fs";', ...names.map((name) => `${name};`), "Math; Map;"].join("\n");
  const { config } = ts.readConfigFile(`${folder}tsconfig.json`, ts.sys.readFile) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, ...rest) =>
    path === file ? ts.createSourceFile(path, text, rest[0]) : getSourceFile(path, ...rest);
  const program = ts.createProgram([file], options, host);
  const wrong = program
    .getSemanticDiagnostics(program.getSourceFile(file))
    .map(({ start }) => text.slice(start).split(/[;\n]/)[0]);
  expect(wrong).toEqual(['"node:fs"', ...names]);
});

test("an app sees only what the package exports", async () => {
  const rule = ["no-restricted-imports"];
  expect(await broken("apps/console/main.tsx", imports("../../src/client/client.ts"))).toEqual(rule);
  expect(await broken("apps/discord/bot/start.ts", imports("../../../dist/index.js"))).toEqual(rule);
  expect(await broken("apps/discord/bot/start.ts", imports("perdure"))).toEqual([]);
});

test("each folder of src is named in this test", () => {
  const named = new Set([...Object.keys(forbidden), ...Object.keys(permitted)].map((file) => file.split("/")[0]));
  const folders = readdirSync(new URL("src/", root), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map((folder) => folder.name).filter((name) => !named.has(name))).toEqual([]);
});
