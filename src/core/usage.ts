// Counts of model work by purpose and model. What a provider did not report stays unknown.
import type { Tokens, Usage } from "./events.ts";
import type { TaskState, UsageCounter } from "./state.ts";

const tokensInto = (counter: UsageCounter, tokens: Tokens | undefined): void => {
  if (tokens === undefined || tokens === "unknown") {
    counter.unknown += 1;
    return;
  }
  counter.input += tokens.input;
  counter.output += tokens.output;
  counter.cacheRead += tokens.cacheRead ?? 0;
  counter.cacheWrite += tokens.cacheWrite ?? 0;
  counter.reasoning += tokens.reasoning ?? 0;
};

const counterOf = (state: TaskState, purpose: string, model: string): UsageCounter => {
  const found = state.usage.find((counter) => counter.purpose === purpose && counter.model === model);
  if (found !== undefined) return found;
  const counter: UsageCounter = {
    purpose,
    model,
    calls: 0,
    failed: 0,
    unknown: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: 0,
    durationMs: 0,
  };
  state.usage.push(counter);
  return counter;
};

/** Adds one model call to the counters. `failed` calls count too. */
export const countUsage = (
  state: TaskState,
  call: { purpose: string; model: string; usage: Usage; failed: boolean },
): void => {
  const counter = counterOf(state, call.purpose, call.model);
  counter.calls += 1;
  if (call.failed) counter.failed += 1;
  tokensInto(counter, call.usage.tokens);
  counter.durationMs += call.usage.durationMs;
  if (call.usage.priceEstimate !== undefined) {
    counter.priceEstimate = (counter.priceEstimate ?? 0) + call.usage.priceEstimate;
  }
};
