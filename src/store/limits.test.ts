// Proves where one take ends.
import { expect, test } from "vitest";
import { firstTake, TAKE_BYTES, TAKE_ITEMS } from "./limits.ts";
import type { InboxEntry } from "./store.ts";

const entry = (seq: number, body = "{}"): InboxEntry => ({ seq, at: 0, by: "local:root", key: String(seq), body });
const seqs = (entries: readonly InboxEntry[]): number[] => entries.map(({ seq }) => seq);

test("takes nothing of nothing, and all of little", () => {
  expect(firstTake([])).toEqual([]);
  expect(seqs(firstTake([entry(1), entry(2)]))).toEqual([1, 2]);
});

test("takes exactly the limits, and not one more", () => {
  const many = Array.from({ length: TAKE_ITEMS + 1 }, (_, index) => entry(index + 1));
  expect(firstTake(many)).toHaveLength(TAKE_ITEMS);
  const half = "x".repeat(TAKE_BYTES / 2);
  expect(seqs(firstTake([entry(1, half), entry(2, half)]))).toEqual([1, 2]);
  expect(seqs(firstTake([entry(1, half), entry(2, half), entry(3, "")]))).toEqual([1, 2, 3]);
  expect(seqs(firstTake([entry(1, half), entry(2, half), entry(3, "x")]))).toEqual([1, 2]);
});

test("counts bytes, not characters", () => {
  const half = "ä".repeat(TAKE_BYTES / 4);
  expect(seqs(firstTake([entry(1, half), entry(2, half), entry(3, "x")]))).toEqual([1, 2]);
});

test("takes one item of any size, and what is behind it another time", () => {
  const huge = "x".repeat(TAKE_BYTES + 1);
  expect(seqs(firstTake([entry(1, huge), entry(2, "")]))).toEqual([1]);
});

test("reads no further than it must", () => {
  let read = 0;
  const endless = function* (): Generator<InboxEntry> {
    for (;;) yield entry((read += 1));
  };
  firstTake(endless());
  expect(read).toBe(TAKE_ITEMS + 1);
});
