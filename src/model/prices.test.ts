import { expect, test } from "vitest";
import type { Prices } from "./model.ts";
import { estimatePrice } from "./prices.ts";

const prices: Prices = {
  "anthropic/a": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  "openai/b": { input: 2, output: 8 },
};

test("each kind of token has its price", () => {
  const tokens = { input: 1_000, output: 2_000, cacheRead: 10_000, cacheWrite: 4_000, reasoning: 500 };
  expect(estimatePrice(prices, "anthropic/a", tokens)).toBeCloseTo(0.003 + 0.03 + 0.003 + 0.015, 12);
});

test("what has no price of its own costs as input does", () => {
  const tokens = { input: 0, output: 0, cacheRead: 500_000, cacheWrite: 500_000 };
  expect(estimatePrice(prices, "openai/b", tokens)).toBe(2);
});

test("nothing is estimated of a model without a price, or of tokens that are not known", () => {
  expect(estimatePrice(prices, "demo", { input: 1, output: 1 })).toBeUndefined();
  expect(estimatePrice(prices, "toString", { input: 1, output: 1 })).toBeUndefined();
  expect(estimatePrice(prices, "openai/b", "unknown")).toBeUndefined();
});
