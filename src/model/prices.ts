// Price estimates from configured prices. An estimate is what it is called: what a provider bills is not known here.
import type { Tokens } from "../core/events.ts";
import type { Prices } from "./model.ts";

const MILLION = 1_000_000;

/** The price of one call at these prices; undefined where the model has none, or nothing is known of its tokens. */
export const estimatePrice = (prices: Prices, model: string, tokens: Tokens): number | undefined => {
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  if (price === undefined || tokens === "unknown") return undefined;
  const { input, output, cacheRead = input, cacheWrite = input } = price;
  const millionths =
    tokens.input * input +
    tokens.output * output +
    (tokens.cacheRead ?? 0) * cacheRead +
    (tokens.cacheWrite ?? 0) * cacheWrite;
  return millionths / MILLION;
};
