import { expect, test } from "vitest";
import { isBlank, text, textOf } from "./messages.ts";

test("a text without words is blank; what is no text is not", () => {
  expect(isBlank(text(" \n"))).toBe(true);
  expect(isBlank(text("a"))).toBe(false);
  expect(isBlank({ type: "reasoning", text: "" })).toBe(false);
  expect(isBlank({ type: "file" })).toBe(false);
});

test("the words of a message are those of its texts, joined", () => {
  expect(textOf([text("a"), { type: "file" }, text("b")])).toBe("ab");
  expect(textOf([])).toBe("");
});
