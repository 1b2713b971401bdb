import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeText, encodeText } from "./text.ts";

test("every text comes back, and none holds what a text column refuses", () => {
  const units = fc.oneof(
    fc.constantFrom("\0", "\x1a", "\ud800", "\udfff", "\x1a0000", "a", "é", "\u{1f600}"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(units), (parts) => {
      const text = parts.join("");
      const written = encodeText(text);
      expect(written.isWellFormed() && !written.includes("\0")).toBe(true);
      expect(decodeText(written)).toBe(text);
    }),
  );
});

test("plain text is stored as it is", () => {
  expect(encodeText("discord:1234 é \u{1f600}\n")).toBe("discord:1234 é \u{1f600}\n");
});
