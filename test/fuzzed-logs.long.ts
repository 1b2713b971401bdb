// The same with many more seeds, in memory and in SQLite files. FUZZ_SEED=n shows one seed alone; FUZZ_SEEDS=n runs so many
// from FUZZ_FROM on.
import { afterAll, expect, test } from "vitest";
import { fuzz } from "./fuzz/fuzz.ts";
import { inFile } from "./fuzz/place.ts";
import { faultsOf, tally } from "./fuzz/told.ts";
import { temporaryFolder } from "./sqlite/log-writer.ts";

const { FUZZ_SEED, FUZZ_FROM = "100000", FUZZ_SEEDS = "20000" } = process.env;
const from = Number(FUZZ_SEED ?? FUZZ_FROM);
const seeds = FUZZ_SEED === undefined ? Number(FUZZ_SEEDS) : 1;
/** One in so many runs in a SQLite file too. */
const FILE_EVERY = 10;

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test(`${String(seeds)} logs that were spoilt, from seed ${String(from)}, come to what their bytes say`, async () => {
  const met = tally();
  const faults: string[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const fuzzed = await fuzz(seed);
    met.count(fuzzed);
    faults.push(...faultsOf(fuzzed));
    if (seeds > 1 && seed % FILE_EVERY !== 0) continue;
    faults.push(...faultsOf(await inFile(folder.path(`${String(seed)}.db`), (place) => fuzz(seed, place))));
  }
  console.log(`fuzzed logs: ${String(seeds)}: ${met.print()}`);
  expect(faults).toEqual([]);
});
