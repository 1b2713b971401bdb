import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { promisesPage, promisesPath } from "../../scripts/promises.ts";
import { isKept } from "./promise.ts";
import { promises } from "./promises.ts";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
/** A source in which a long title stands where a short one does. */
const titles = (file: string): string => read(file).replaceAll(/\(\s+/g, "(");

test("docs/promises.md is as it is made: npm run promises", async () => {
  expect(readFileSync(promisesPath, "utf8")).toBe(await promisesPage());
});

test("every promise is kept, with a test and a patch, or says why it is not", () => {
  for (const promised of promises) {
    const { promise, status } = promised;
    expect({ promise, status }).toEqual({ promise, status: expect.stringMatching(/^(kept|later: .+|n\/a: .+)$/) });
    const has = ["test", "patch"].filter((part) => part in promised);
    expect({ promise, has }).toEqual({ promise, has: isKept(promised) ? ["test", "patch"] : [] });
  }
});

test("every test that is named exists", () => {
  for (const { promise, test: shown } of promises.filter(isKept)) {
    const named = [`"${shown.name}"`, `\`${shown.name}\``].some((title) => titles(shown.file).includes(`(${title}`));
    // The contract's titles stand in the suite that every store runs.
    const inContract = titles("src/store/store.contract.ts").includes(`("${shown.name}"`);
    expect({ promise, named: named || inContract }).toEqual({ promise, named: true });
  }
});

test("every patch fits exactly once", () => {
  for (const { promise, patch } of promises.filter(isKept)) {
    expect({ promise, fits: read(patch.file).split(patch.find).length - 1 }).toEqual({ promise, fits: 1 });
  }
});

test("no promise stands twice", () => {
  expect(new Set(promises.map(({ promise }) => promise)).size).toBe(promises.length);
});
