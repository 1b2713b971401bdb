// Puts each patch of test/promises into a copy of the sources: the named test must pass without and fail with it. With words
// after it, only the promises that hold them. Two patches at a time, each in a copy of its own.
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isKept, type Kept, type Patch, type Shown } from "../test/promises/promise.ts";
import { promises } from "../test/promises/promises.ts";

const root = resolve(import.meta.dirname, "..");
const AT_ONCE = 2;
/** For each test file: a patch may make a test wait for what never comes. */
const TIMEOUT_MS = 90_000;

interface Ran {
  readonly file: string;
  readonly title: string;
  readonly passed: boolean;
}

/** What a report of vitest says. */
interface Report {
  readonly testResults?: readonly {
    readonly name: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const escaped = (name: string): string => name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/%[si]/g, ".*");

const run = (copy: string, files: number, args: readonly string[]): Promise<void> =>
  new Promise((done) => {
    const vitest = join(copy, "node_modules/vitest/vitest.mjs");
    const child = spawn(process.execPath, [vitest, "run", "--project", "unit", "--maxWorkers", "1", ...args], {
      ...{ cwd: copy, stdio: "ignore", timeout: TIMEOUT_MS * files },
    });
    child.once("close", () => done());
  });

/** Runs test files in a copy, all of them or what a title fits. */
const tests = async (copy: string, files: readonly string[], title?: string): Promise<Ran[]> => {
  const report = join(copy, "report.json");
  await rm(report, { force: true });
  const only = title === undefined ? [] : ["-t", `${escaped(title)}$`, "--testTimeout", String(TIMEOUT_MS / 3)];
  await run(copy, files.length, [...files, ...only, "--reporter", "json", "--outputFile", report]);
  const { testResults = [] } = JSON.parse(await readFile(report, "utf8").catch(() => "{}")) as Report;
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === "passed" || status === "failed")
      // A patch that is no program breaks everything, and shows nothing.
      .filter(({ failureMessages }) => !failureMessages.some((message) => /ReferenceError|SyntaxError/.test(message)))
      .map(({ title: own, status }) => ({ file: name, title: own, passed: status === "passed" })),
  );
};

/** Null when no such test ran, else whether all that it stands for passed. */
const passes = (ran: readonly Ran[], { file, name }: Shown): boolean | null => {
  const fits = new RegExp(`^${escaped(name)}$`);
  const meant = ran.filter((each) => each.file.endsWith(file) && fits.test(each.title));
  return meant.length === 0 ? null : meant.every(({ passed }) => passed);
};

const put = async (copy: string, { file, find, replace }: Patch): Promise<() => Promise<void>> => {
  const path = join(copy, file);
  const source = await readFile(path, "utf8");
  const pieces = source.split(find);
  if (pieces.length !== 2) throw new Error(`the patch fits ${String(pieces.length - 1)} times in ${file}`);
  await writeFile(path, pieces.join(replace));
  return () => writeFile(path, source);
};

const createCopy = async (): Promise<string> => {
  const copy = await mkdtemp(join(tmpdir(), "perdure-promise-"));
  for (const part of [
    "src",
    "test/promises",
    "test/logs",
    "test/sqlite",
    "package.json",
    "vitest.config.ts",
    "tsconfig.json",
  ])
    await cp(join(root, part), join(copy, part), { recursive: true });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
};

const said = (passed: boolean | null): string => (passed === null ? "DID NOT RUN" : passed ? "passes" : "fails");

const words = process.argv[2];
const chosen = promises.filter(isKept).filter(({ promise }) => words === undefined || promise.includes(words));
const copies = await Promise.all(Array.from({ length: AT_ONCE }, createCopy));
let bad = 0;

const check = async (copy: string, whole: readonly Ran[], { promise, test, patch }: Kept): Promise<void> => {
  const before = passes(whole, test);
  const undo = await put(copy, patch);
  const after = passes(await tests(copy, [test.file], test.name), test);
  await undo();
  if (before !== true || after !== false) bad += 1;
  console.log(`| ${promise} | ${said(before)} | ${said(after)} |`);
};

try {
  const files = [...new Set(chosen.map(({ test }) => test.file))];
  const whole = await tests(copies[0] ?? "", files);
  console.log("| promise | without the patch | with it |\n|---|---|---|");
  const queue = [...chosen];
  const work = async (copy: string): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await check(copy, whole, next);
  };
  await Promise.all(copies.map(work));
} finally {
  for (const copy of copies) await rm(copy, { recursive: true, force: true });
}
console.log(`${String(chosen.length)} patches, ${String(bad)} wrong`);
if (bad > 0) process.exitCode = 1;
