// Tokens as perdure counts them, from what a provider reported. The SDK puts a zero where a provider said nothing: such a
// zero is told apart by the raw report.
import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Tokens } from "../../core/events.ts";

/** By count, the fields of raw reports that tell it (Anthropic, OpenAI and servers like it). */
const told = {
  cacheRead: ["cache_read_input_tokens", "cached_tokens"],
  cacheWrite: ["cache_creation_input_tokens", "cache_write_tokens"],
  reasoning: ["thinking_tokens", "reasoning_tokens"],
} as const;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Whether the report holds a number under one of `names`, at the top or in one of its details. */
const tells = (raw: Record<string, unknown>, names: readonly string[]): boolean =>
  [raw, ...Object.values(raw).filter(isRecord)].some((part) => names.some((name) => typeof part[name] === "number"));

const whole = (count: number): number => Math.max(0, Math.round(count));

export const tokensOf = (usage: LanguageModelV4Usage | undefined): Tokens => {
  const { inputTokens, outputTokens, raw } = usage ?? {};
  if (inputTokens?.total === undefined || outputTokens?.total === undefined) return "unknown";
  const counted = (name: keyof typeof told, count: number | undefined): Partial<Record<typeof name, number>> => {
    const known = count !== undefined && (count !== 0 || raw === undefined || tells(raw, told[name]));
    return known ? { [name]: whole(count) } : {};
  };
  const cached = (inputTokens.cacheRead ?? 0) + (inputTokens.cacheWrite ?? 0);
  return {
    input: whole(inputTokens.noCache ?? inputTokens.total - cached),
    output: whole(outputTokens.total),
    ...counted("cacheRead", inputTokens.cacheRead),
    ...counted("cacheWrite", inputTokens.cacheWrite),
    ...counted("reasoning", outputTokens.reasoning),
  };
};
