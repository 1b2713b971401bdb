// Proves that text comes back as it went in, whatever it begins with.
import fc from "fast-check";
import { expect, test } from "vitest";
import { openText, plainSeal, sealText } from "./seal.ts";

test("gives every well-formed text back, a byte order mark at its start too", () => {
  for (const text of ["\ufeff{}", "", "\u0000", "\u{1f600}"]) {
    expect(openText(plainSeal, "t", sealText(plainSeal, "t", text))).toBe(text);
  }
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(openText(plainSeal, "t", sealText(plainSeal, "t", text))).toBe(text);
    }),
  );
});
