// Puts each patch of test/promises/promises.ts into a copy of the sources: the named test must pass without and fail with it.
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promises, type Patch, type Promised } from "../test/promises/promises.ts";

const root = resolve(import.meta.dirname, "..");

/** Runs the named test in a copy: null when it could not be found or run, else whether it passed. */
const passes = async (copy: string, { file, name }: NonNullable<Promised["test"]>): Promise<boolean | null> => {
  const pattern = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const report = join(copy, "report.json");
  await rm(report, { force: true });
  const vitest = join(copy, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--project", "unit", file, "-t", pattern, "--reporter", "json", "--outputFile", report];
  spawnSync(process.execPath, args, { cwd: copy, stdio: "ignore" });
  const text = await readFile(report, "utf8").catch(() => "{}");
  const { numPassedTests = 0, numFailedTests = 0 } = JSON.parse(text) as Readonly<Record<string, number>>;
  return numPassedTests + numFailedTests === 0 ? null : numFailedTests === 0;
};

const put = async (copy: string, { file, find, replace }: Patch): Promise<() => Promise<void>> => {
  const path = join(copy, file);
  const source = await readFile(path, "utf8");
  const pieces = source.split(find);
  if (pieces.length !== 2) throw new Error(`the patch fits ${String(pieces.length - 1)} times in ${file}`);
  await writeFile(path, pieces.join(replace));
  return () => writeFile(path, source);
};

const only = process.argv[2];
const copy = await mkdtemp(join(tmpdir(), "perdure-promise-"));
let bad = 0;
try {
  for (const part of ["src", "test/promises", "test/logs", "package.json", "vitest.config.ts", "tsconfig.json"]) {
    await cp(join(root, part), join(copy, part), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  console.log("| promise | without the patch | with it |\n|---|---|---|");
  for (const { promise, test, patch } of promises) {
    if (patch === undefined || test === undefined || (only !== undefined && !promise.includes(only))) continue;
    const before = await passes(copy, test);
    const undo = await put(copy, patch);
    const after = await passes(copy, test);
    await undo();
    if (before !== true || after !== false) bad += 1;
    const said = (passed: boolean | null): string => (passed === null ? "DID NOT RUN" : passed ? "passes" : "fails");
    console.log(`| ${promise} | ${said(before)} | ${said(after)} |`);
  }
} finally {
  await rm(copy, { recursive: true, force: true });
}
if (bad > 0) process.exitCode = 1;
