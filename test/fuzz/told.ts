// What fuzzed logs came to, in words and in numbers.
import { THROWS, type Fuzzed } from "./fuzz.ts";
import { mutations } from "./mutations.ts";

/** What is wrong, with the seed that shows it again. */
export const faultsOf = ({ seed, golden, through, mutation, verdict, faults }: Fuzzed): string[] =>
  faults.map(
    (fault) => `FUZZ_SEED=${String(seed)}: ${golden} cut at ${String(through)}, ${mutation} (${verdict}): ${fault}`,
  );

export interface Tally {
  count(fuzzed: Fuzzed): void;
  /** Ways to be spoilt, and ends, that were met fewer times than this. */
  rare(times: number): string[];
  print(): string;
}

const ends = ["same", "reported", "other", "damaged", "newer", "held"];
const snapshots = ["whole", "with a bit flipped", "cut", "of noise", "of no state"].map((how) => `a snapshot ${how}`);
const ways = [...mutations.map(([name]) => name), ...snapshots, THROWS];

export const tally = (): Tally => {
  const met = new Map<string, number>();
  return {
    count: ({ mutation, verdict }) => {
      for (const what of [mutation, verdict]) met.set(what, (met.get(what) ?? 0) + 1);
    },
    rare: (times) => [...ways, ...ends].filter((what) => (met.get(what) ?? 0) < times),
    print: () => ends.map((end) => `${end} ${String(met.get(end) ?? 0)}`).join(", "),
  };
};
