// The next model request, a pure function of the state and of definitions recorded by hash; and its hash.
// Same log, same bytes: a change of anything here breaks the prompt caches of running tasks.
import type { Content, Message } from "./messages.ts";
import type { RequestChain, TaskState } from "./state.ts";

/** A tool as the model is shown it, and all else that its definition's hash covers. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: unknown;
  readonly effect: string;
  readonly idempotent?: { readonly ttlMs: number };
  readonly verify?: true;
  readonly onUnknown?: "pause" | "tell";
  readonly deferred?: true;
  readonly server?: true;
}

export interface RequestTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly deferred?: true;
  readonly server?: true;
}

/** What stays the same from call to call: parameters, the two system blocks, the tools. */
export interface RequestPrefix {
  readonly model: string;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly providerOptions?: unknown;
  /** The identity line, and the prompt with each plugin's parts; both cached. Empty blocks are left out. */
  readonly system: readonly string[];
  /** By name in code-unit order; server tools last. */
  readonly tools: readonly RequestTool[];
}

export interface ModelRequest extends RequestPrefix {
  readonly messages: readonly Message[];
  /** The index of the message that carries the cache breakpoint: the newest. */
  readonly cacheAt: number;
}

/** HMAC-SHA-256 under the task's secret, in hex. Injected: the core does no hashing of its own. */
export type Mac = (text: string) => string;

const byName = (a: RequestTool, b: RequestTool): number => {
  const last = Number(a.server === true) - Number(b.server === true);
  return last !== 0 ? last : a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
};

/** The prefix for a state. `definitions` by hash, as recorded in `core/plugins`; throws if one is missing. */
export const buildPrefix = (state: TaskState, definitions: ReadonlyMap<string, ToolDefinition>): RequestPrefix => {
  const { model, maxOutputTokens, temperature, providerOptions } = state.settings;
  const prompts = state.prompts ?? { identity: "", system: "", parts: [] };
  const second = [prompts.system, ...prompts.parts.map((part) => part.text)].filter((part) => part !== "").join("\n\n");
  const tools = state.tools.map((entry): RequestTool => {
    const definition = definitions.get(entry.definition);
    if (definition === undefined) throw new Error(`no definition ${entry.definition} of tool ${entry.name}`);
    const { name, description, inputSchema } = definition;
    const deferred = entry.deferred === true ? { deferred: true as const } : {};
    const server = entry.server === true ? { server: true as const } : {};
    return { name, description, inputSchema, ...deferred, ...server };
  });
  return {
    model,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    system: [prompts.identity, second].filter((block) => block !== ""),
    tools: tools.sort(byName),
  };
};

/** The whole request. The messages are a copy of the list, not of the messages. */
export const buildRequest = (state: TaskState, prefix: RequestPrefix): ModelRequest => ({
  ...prefix,
  messages: state.messages.slice(),
  cacheAt: state.messages.length - 1,
});

const link = (mac: Mac, before: string, block: string): string => mac(`${before}\n${block}`);

const messageText = ({ seq: _, ...message }: Message): string => JSON.stringify(message);

/** The prefix's blocks by name, as they are hashed: parameters, each system block, the tools. */
export const prefixBlocks = (prefix: RequestPrefix): { readonly name: string; readonly text: string }[] => {
  const { system, tools, ...parameters } = prefix;
  return [
    { name: "parameters", text: JSON.stringify(parameters) },
    ...system.map((text, index) => ({ name: `system ${String(index + 1)}`, text })),
    { name: "tools", text: JSON.stringify(tools) },
  ];
};

/** The chain over the prefix's blocks. */
export const hashPrefix = (prefix: RequestPrefix, mac: Mac): string => {
  let hash = "";
  for (const block of prefixBlocks(prefix)) hash = link(mac, hash, block.text);
  return hash;
};

export interface RequestHash {
  readonly prefixHash: string;
  readonly hash: string;
  readonly messages: number;
}

/**
 * The request's hash, a chain over its blocks. Where `chain` covers the beginning of this very request, only what came
 * after it is hashed; pass none to hash from the start.
 */
export const hashRequest = (
  messages: readonly Message[],
  prefixHash: string,
  mac: Mac,
  chain?: RequestChain,
): RequestHash => {
  const goesOn = chain !== undefined && chain.prefixHash === prefixHash && chain.messages <= messages.length;
  let hash = goesOn ? chain.hash : prefixHash;
  for (let index = goesOn ? chain.messages : 0; index < messages.length; index += 1) {
    hash = link(mac, hash, messageText(messages[index] as Message));
  }
  return { prefixHash, hash, messages: messages.length };
};

/** Characters per token, on average; corrected by the provider's own count of what came before. */
const CHARS_PER_TOKEN = 4;

/**
 * A file stands in its message as a line, but weighs more: an image at most what providers scale it down to, a PDF about
 * 2,500 tokens a page of 50 KB, a text what its words do.
 */
const fileTokens = (content: Content): number => {
  let tokens = 0;
  for (const part of content) {
    if (part.type !== "file") continue;
    if (part.mediaType.startsWith("image/")) tokens += 1_600;
    else tokens += Math.ceil(part.size / (part.mediaType === "application/pdf" ? 20 : CHARS_PER_TOKEN));
  }
  return tokens;
};

const filesOf = (message: Message): number => {
  if (message.role === "user") return fileTokens(message.content);
  if (message.role === "assistant") return 0;
  return message.results.reduce((sum, result) => sum + fileTokens(result.content), 0);
};

/** An estimate of the request's size in tokens. `counted`: the provider's count for the messages before `from`. */
export const estimateTokens = (
  messages: readonly Message[],
  prefix: RequestPrefix,
  counted?: { readonly tokens: number; readonly from: number },
): number => {
  let chars = 0;
  let files = 0;
  for (const message of messages.slice(counted?.from ?? 0)) {
    chars += messageText(message).length;
    files += filesOf(message);
  }
  if (counted === undefined) for (const block of prefixBlocks(prefix)) chars += block.text.length;
  return (counted?.tokens ?? 0) + files + Math.ceil(chars / CHARS_PER_TOKEN);
};
