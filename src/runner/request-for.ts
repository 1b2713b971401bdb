// The request for the state as it is now, with its hash; what does not change from call to call is made once per claim.
import { hashPrefix, hashRequest, buildPrefix, buildRequest, type RequestHash } from "../core/request.ts";
import { estimateTokens, type ModelRequest, type ToolDefinition } from "../core/request.ts";
import { modelOf, stateOf, type Run } from "./run.ts";

/** The definitions the state names, from this agent's own where they are the same, else from the store. */
const definitionsFor = async (run: Run): Promise<Map<string, ToolDefinition>> => {
  const definitions = new Map<string, ToolDefinition>();
  for (const prepared of run.agent.tools.values()) {
    definitions.set(prepared.entry.definition, JSON.parse(prepared.definition) as ToolDefinition);
  }
  const hashes = stateOf(run)
    .tools.map((tool) => tool.definition)
    .filter((hash) => !definitions.has(hash));
  if (hashes.length === 0) return definitions;
  for (const { hash, text } of await run.ports.store.getDefinitions({ hashes })) {
    definitions.set(hash, JSON.parse(text) as ToolDefinition);
  }
  return definitions;
};

const prefixFor = async (run: Run): Promise<NonNullable<Run["prefix"]>> => {
  const { prompts, tools, settings } = stateOf(run);
  const of = [prompts, tools, settings, run.mac];
  if (run.prefix?.of.every((part, index) => part === of[index]) === true) return run.prefix;
  const value = buildPrefix(stateOf(run), await definitionsFor(run));
  run.prefix = { of, value, hash: hashPrefix(value, run.mac) };
  return run.prefix;
};

/**
 * The request and its hash. After a crash in the middle of a call the hash is made from the start, so that a difference
 * to what was announced before shows; else only what came since the last call is hashed.
 */
export const requestFor = async (run: Run): Promise<{ request: ModelRequest; hash: RequestHash }> => {
  const state = stateOf(run);
  const prefix = await prefixFor(run);
  const { chain } = state;
  const again = state.model.open !== undefined;
  const usable = !again && chain !== undefined && chain.revision === run.journal.revision ? chain : undefined;
  const request = buildRequest(state, prefix.value);
  return { request, hash: hashRequest(request.messages, prefix.hash, run.mac, usable) };
};

/** Share of the context that is left free for what an estimate gets wrong. */
const MARGIN = 0.05;
const DEFAULT_OUTPUT_TOKENS = 4_096;

/** Whether the next request, with room for its reply, fits what the model takes; true where that is not known. */
export const fitsContext = async (run: Run): Promise<boolean> => {
  const state = stateOf(run);
  const { settings } = state;
  const model = modelOf(run);
  const limit = settings.contextTokens ?? ("missing" in model ? null : model.contextTokens);
  if (limit === null) return true;
  const { value } = await prefixFor(run);
  const { contextTokens, chain } = state;
  const counted =
    contextTokens === undefined || chain === undefined ? undefined : { tokens: contextTokens, from: chain.messages };
  const tokens = estimateTokens(state.messages, value, counted);
  return tokens + (settings.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS) <= limit * (1 - MARGIN);
};
