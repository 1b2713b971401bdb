// Spoilt logs under a real worker: each folds to what it did, or ends in a way that is told; never a hang, a crash, or a
// state that nobody can know to be wrong. More seeds: fuzzed-logs.long.ts.
import { afterAll, describe, expect, test } from "vitest";
import { fuzz } from "./fuzz/fuzz.ts";
import { inFile } from "./fuzz/place.ts";
import { faultsOf, tally } from "./fuzz/told.ts";
import { temporaryFolder } from "./sqlite/log-writer.ts";

const MEMORY_SEEDS = 1_000;
const FILE_SEEDS = 200;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const met = tally();

describe("a log that was spoilt", () => {
  test("in memory comes to what its bytes say", async () => {
    const faults: string[] = [];
    for (let seed = 0; seed < MEMORY_SEEDS; seed += 1) {
      const fuzzed = await fuzz(seed);
      met.count(fuzzed);
      faults.push(...faultsOf(fuzzed));
    }
    expect(faults).toEqual([]);
  });

  test("in a SQLite file comes to what its bytes say", async () => {
    const faults: string[] = [];
    for (let seed = 0; seed < FILE_SEEDS; seed += 1) {
      const fuzzed = await inFile(folder.path(`${String(seed)}.db`), (place) => fuzz(seed, place));
      met.count(fuzzed);
      faults.push(...faultsOf(fuzzed));
    }
    expect(faults).toEqual([]);
  });

  test("was spoilt in every way, and came to every end", () => {
    expect(met.rare(10)).toEqual([]);
  });
});
