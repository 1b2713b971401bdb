// What no other tool checks about the files of this repository: their names, their size, and what must not stand in them.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";

const root = new URL("../", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), "utf8");

/** Every file that is, or would be, tracked. */
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(new URL(file, root)));

const code = files.filter((file) => /^(src|test|bench|apps|bin|scripts)\/.*\.(ts|tsx|js|css|html|sql|sh)$/.test(file));
const itself = "test/tidy.test.ts";

test("there is code to check", () => {
  expect(code).toContain(itself);
});

test("no file is named for being shared instead of for what it holds", () => {
  const vague = /^(utils?|helpers?|common|types?|misc|shared|manager|service|impl)$/;
  const parts = (file: string): string[] => file.split(/[/.-]/);
  expect(code.filter((file) => parts(file).some((part) => vague.test(part)))).toEqual([]);
});

test("file and folder names are kebab-case", () => {
  const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|contract|long|config|d))?(\.[a-z]+)?$/;
  expect(code.filter((file) => !file.split("/").every((part) => kebab.test(part)))).toEqual([]);
});

test("an index file stands only where package.json's exports point", () => {
  const exported = read("package.json")
    .matchAll(/"default": "\.\/dist\/(.*)\.js"/g)
    .map(([, path]) => `src/${String(path)}.ts`)
    .toArray();
  expect(exported).toContain("src/index.ts");
  const indexes = code.filter((file) => /^index\.(ts|tsx|js)$/.test(basename(file)));
  expect(indexes.filter((file) => !exported.includes(file))).toEqual([]);
});

test("no source is over 300 lines, blank lines and comments apart, in any language", () => {
  const long = code
    .filter((file) => !/\.(test|contract|long)\.ts$|^test\//.test(file))
    .map(
      (file) =>
        [
          file,
          read(file)
            .split("\n")
            .filter((line) => !/^\s*($|\/\/|\/?\*|#|--|<!--)/.test(line)).length,
        ] as const,
    )
    .filter(([, lines]) => lines > 300);
  expect(long).toEqual([]);
});

test("no note is left for later, and no limit or wall is switched off in place", () => {
  const left = /\b(TODO|FIXME|XXX)\b|eslint-disable.*(max-lines|walls|no-restricted)|@ts-(ignore|nocheck)/;
  expect(code.filter((file) => file !== itself && left.test(read(file)))).toEqual([]);
});

test("no tracked file names a package registry's host", () => {
  const host =
    /\bregistry\.[a-z0-9.-]+\.(com|dev|io|net|org)\b|\b(debian|pypi|golang|crates)\.(org|io)\b|\bpkg\.github\.com\b/;
  expect(files.filter((file) => host.test(read(file)))).toEqual([]);
  expect(read("package-lock.json")).not.toContain('"resolved": "http');
});
