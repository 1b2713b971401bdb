// The package as it is published: what it declares holds for its users, and it runs in a project that has nothing else.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const bin = (name: string): string => join(root, "node_modules/.bin", name);

let folder: string;
let tarball: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-package-"));
  // `prepare` has built it already: the tests' own command begins with a build.
  const { stdout } = await execute("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
    cwd: root,
  });
  tarball = join(folder, /"filename": "([^"]+)"/.exec(stdout)?.[1] ?? "");
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Manifest {
  readonly dependencies: Record<string, string>;
}

/** An empty project with the package in it, and what that depends on. */
const install = async (): Promise<string> => {
  const project = join(folder, "project");
  const installed = join(project, "node_modules/perdure");
  mkdirSync(installed, { recursive: true });
  await execute("tar", ["xzf", tarball, "-C", installed, "--strip-components", "1"]);
  const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Manifest;
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(project, "node_modules", name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  }
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  return project;
};

it("publint finds nothing", async () => {
  const { stdout } = await execute(bin("publint"), ["run", tarball, "--strict"]);
  expect(stdout).toContain("All good");
});

it("every entry has the types that it runs as", async () => {
  const { stdout } = await execute(bin("attw"), [tarball, "--profile", "esm-only", "--format", "table-flipped"]);
  expect(stdout).not.toContain("❌");
  expect(stdout).toContain("perdure");
});

it("runs the first program in an empty project, and holds no tests, sources or databases", async () => {
  const project = await install();
  writeFileSync(join(project, "a.txt"), "hello world\n");
  cpSync(join(root, "examples/first-program.ts"), join(project, "first-program.ts"));
  const { stdout } = await execute(process.execPath, ["first-program.ts"], { cwd: project });
  expect(stdout).toContain("hello world");
  const cli = join(project, "node_modules/perdure/bin/perdure.js");
  const listed = await execute(process.execPath, [cli, "doctor"], { cwd: project });
  expect(listed.stdout).toMatch(/^ok +perdure/);
  const { stdout: files } = await execute("tar", ["tzf", tarball]);
  const strange = files.split("\n").filter((file) => /\.test\.|\.db|^package\/(src|test|bench|examples)/.test(file));
  expect(strange).toEqual([]);
});

it("the program in the README is the one that is tested", () => {
  const program = readFileSync(join(root, "examples/first-program.ts"), "utf8");
  const body = program.slice(program.indexOf("import "));
  expect(readFileSync(join(root, "README.md"), "utf8")).toContain(body.trim());
  expect(body.trim().split("\n").length).toBeLessThanOrEqual(35);
});
