import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { promisesPage, promisesPath } from "../../scripts/promises.ts";
import { promises } from "./promises.ts";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

test("docs/promises.md is as it is made: npm run promises", async () => {
  expect(readFileSync(promisesPath, "utf8")).toBe(await promisesPage());
});

test("every promise that is kept names a test that exists, and no other names one", () => {
  for (const { promise, status, test: shown } of promises) {
    expect({ promise, named: shown !== undefined }).toEqual({ promise, named: status === "kept" });
    if (shown === undefined) continue;
    const named = [`"${shown.name}"`, `\`${shown.name}\``].some((title) => read(shown.file).includes(`(${title}`));
    // The contract's titles stand in the suite that every store runs.
    const inContract = read("src/store/store.contract.ts").includes(`("${shown.name}"`);
    expect({ promise, named: named || inContract }).toEqual({ promise, named: true });
  }
});

test("every patch fits exactly once", () => {
  for (const { promise, patch } of promises) {
    if (patch === undefined) continue;
    expect({ promise, fits: read(patch.file).split(patch.find).length - 1 }).toEqual({ promise, fits: 1 });
  }
});

test("no promise stands twice", () => {
  expect(new Set(promises.map(({ promise }) => promise)).size).toBe(promises.length);
});
