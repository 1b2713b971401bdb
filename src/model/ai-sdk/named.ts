// Models by name: anthropic/…, openai/…, openai-chat/… and compatible/…. A provider's package is loaded when one of its
// models is named, not before.
import type { OpenAIProvider } from "@ai-sdk/openai";
import type { Model } from "../model.ts";
import { createAiSdkModel, type AiSdkOptions } from "./ai-sdk.ts";
import { fileRules } from "./file-rules.ts";

/** A model that is named cannot be had as things are set up. The message is for a person, and says what to set. */
export class ModelSetupError extends Error {
  override readonly name = "ModelSetupError";
}

/** A secret or setting of that name; undefined or empty where there is none. */
export type Secrets = (name: string) => string | undefined | Promise<string | undefined>;

interface Access {
  readonly modelId: string;
  readonly apiKey: string | undefined;
  readonly baseURL: string | undefined;
}

interface Provider {
  readonly key: { readonly name: string; readonly required: boolean };
  readonly url: { readonly name: string; readonly required: boolean };
  open(access: Access): Promise<Omit<AiSdkOptions, "name" | "secrets" | "keyName" | "contextTokens">>;
}

/** What is undefined is left out, so that the package's own default holds. */
const given = ({ apiKey, baseURL }: Access): { readonly apiKey?: string; readonly baseURL?: string } => ({
  ...(apiKey === undefined ? {} : { apiKey }),
  ...(baseURL === undefined ? {} : { baseURL }),
});

const openaiAt = async (access: Access): Promise<OpenAIProvider> => {
  const { createOpenAI } = await import("@ai-sdk/openai");
  return createOpenAI(given(access));
};

const openaiAccess = {
  key: { name: "OPENAI_API_KEY", required: true },
  url: { name: "OPENAI_BASE_URL", required: false },
} as const;

/** By what stands before the slash. */
const providers: Readonly<Record<string, Provider>> = {
  anthropic: {
    key: { name: "ANTHROPIC_API_KEY", required: true },
    url: { name: "ANTHROPIC_BASE_URL", required: false },
    open: async (access) => {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return {
        model: createAnthropic(given(access))(access.modelId),
        files: fileRules.anthropic,
        filesInResults: true,
      };
    },
  },
  openai: {
    ...openaiAccess,
    open: async (access) => ({
      model: (await openaiAt(access)).responses(access.modelId),
      files: fileRules.openai,
      filesInResults: true,
      strict: false,
      // The log is where the conversation is kept: nothing is stored there, and thoughts come back encrypted.
      providerOptions: { openai: { store: false } },
    }),
  },
  "openai-chat": {
    ...openaiAccess,
    open: async (access) => ({
      model: (await openaiAt(access)).chat(access.modelId),
      files: fileRules.openai,
      strict: false,
      providerOptions: { openai: { store: false } },
    }),
  },
  compatible: {
    key: { name: "PERDURE_COMPATIBLE_API_KEY", required: false },
    url: { name: "PERDURE_COMPATIBLE_BASE_URL", required: true },
    open: async (access) => {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const { baseURL = "", apiKey } = access;
      const provider = createOpenAICompatible({
        name: "compatible",
        baseURL,
        includeUsage: true,
        ...(apiKey === undefined ? {} : { apiKey }),
      });
      return { model: provider.chatModel(access.modelId), files: fileRules.compatible };
    },
  },
};

/** The forms of names, for help texts. */
export const aiSdkNames: readonly string[] = Object.keys(providers).map((provider) => `${provider}/MODEL`);

/**
 * Tokens of context by the beginning of a model's id, where that can be told; a task's `contextTokens` overrides it. Too
 * small a number costs an early compaction, too large a one a refused request, so what is newer than this table and may
 * differ is left out. Sources: platform.claude.com/docs/en/build-with-claude/context-windows; platform.openai.com/docs/models
 * (of gpt-5, the input's share).
 */
const contextSizes: readonly (readonly [string, number])[] = [
  ["anthropic/claude-", 200_000],
  ["openai/gpt-5", 272_000],
  ["openai/gpt-4.1", 1_047_576],
  ["openai/gpt-4o", 128_000],
  ["openai/o", 200_000],
];

const contextOf = (provider: string, modelId: string): number | undefined => {
  const id = `${provider === "openai-chat" ? "openai" : provider}/${modelId}`;
  return contextSizes.find(([start]) => id.startsWith(start))?.[1];
};

const split = (name: string): { readonly provider: string; readonly modelId: string } => {
  const slash = name.indexOf("/");
  return slash < 0 ? { provider: "", modelId: "" } : { provider: name.slice(0, slash), modelId: name.slice(slash + 1) };
};

/** Whether the name is of this adapter's form. */
export const isAiSdkName = (name: string): boolean => Object.hasOwn(providers, split(name).provider);

const read = async (secrets: Secrets, name: string): Promise<string | undefined> => {
  const value = (await secrets(name))?.trim();
  return value === "" ? undefined : value;
};

/** Never said back: an address may hold a password. */
const checkUrl = (url: string, variable: string): string => {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw new ModelSetupError(`${variable} is no http address`);
  if (parsed.username !== "" || parsed.password !== "")
    throw new ModelSetupError(`${variable} holds a user or a password; a key has a variable of its own`);
  return url;
};

/**
 * The model of that name, with its key and address from `secrets`: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`,
 * `PERDURE_COMPATIBLE_BASE_URL` and the like. Asks nothing of the provider. Throws ModelSetupError.
 */
export const openNamedModel = async (name: string, secrets: Secrets): Promise<Model> => {
  const { provider: word, modelId } = split(name);
  const provider = Object.hasOwn(providers, word) ? providers[word] : undefined;
  if (provider === undefined || modelId === "")
    throw new ModelSetupError(`${JSON.stringify(name)} names no model: write ${aiSdkNames.join(", ")}`);
  const { key, url } = provider;
  const apiKey = await read(secrets, key.name);
  if (apiKey === undefined && key.required) throw new ModelSetupError(`${name} needs a key: set ${key.name}`);
  // Header values are bytes: such a key would fail each call, with an error that quotes it.
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey))
    throw new ModelSetupError(`${key.name} holds characters that no key has`);
  const address = await read(secrets, url.name);
  if (address === undefined && url.required)
    throw new ModelSetupError(
      `${name} needs the address of its server: set ${url.name}, such as http://localhost:11434/v1`,
    );
  const baseURL = address === undefined ? undefined : checkUrl(address, url.name);
  const contextTokens = contextOf(word, modelId);
  return createAiSdkModel({
    ...(await provider.open({ modelId, apiKey, baseURL })),
    name,
    keyName: key.name,
    secrets: apiKey === undefined ? [] : [apiKey],
    ...(contextTokens === undefined ? {} : { contextTokens }),
  });
};
