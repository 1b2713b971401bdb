// The `ai-sdk` adapter: any LanguageModelV4 of the AI SDK as a model of perdure. One call of `stream` is one HTTP request:
// retries are the runner's, and stand in the log.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { estimateTokens, type ModelRequest } from "../../core/request.ts";
import { ModelError, type Model, type ModelContext, type ModelPart } from "../model.ts";
import { failureOf, type FailureFacts } from "./failure.ts";
import { fileRules, type FileRules } from "./file-rules.ts";
import { buildPrompt, buildTools, type PromptForm } from "./prompt.ts";
import { ReplyBuilder } from "./reply.ts";
import { showFiles } from "./shown-files.ts";

export interface AiSdkOptions {
  readonly model: LanguageModelV4;
  /** As settings and logs call it; default `provider/model`. */
  readonly name?: string;
  /** Tokens of context it takes, where that is known. */
  readonly contextTokens?: number;
  /** What it takes of images and PDFs; default that of compatible servers. */
  readonly files?: FileRules;
  /** A tool's result may hold images and PDFs. Default false: they follow the results as a person's. */
  readonly filesInResults?: boolean;
  /** False where a tool's schema would be taken strictly otherwise. */
  readonly strict?: false;
  /** Options of the provider that hold where a task's own settings say nothing else. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** What is never said in an error: keys. */
  readonly secrets?: readonly string[];
  /** Where the key comes from, for the message when it is refused. */
  readonly keyName?: string;
}

type ProviderOptions = NonNullable<LanguageModelV4CallOptions["providerOptions"]>;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The task's options over the adapter's, per provider. */
const mergeOptions = (own: AiSdkOptions["providerOptions"], settings: unknown): ProviderOptions => {
  const merged: Record<string, unknown> = { ...own };
  for (const [provider, options] of Object.entries(isRecord(settings) ? settings : {}))
    merged[provider] = isRecord(options) ? { ...own?.[provider], ...options } : options;
  return merged as ProviderOptions;
};

/** How far an estimate of four characters a token may be too low, in code or in other scripts. */
const LOW_BY = 1.5;
const OUTPUT_TOKENS = 4_096;

const mayOverflow = (request: ModelRequest, contextTokens: number | null): boolean => {
  if (contextTokens === null) return false;
  const tokens = estimateTokens(request.messages, request) * LOW_BY;
  return tokens + (request.maxOutputTokens ?? OUTPUT_TOKENS) > contextTokens;
};

/** What `promise` gives, unless the signal is aborted first. Whatever comes of it then is nobody's. */
const unlessAborted = async <T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> => {
  promise.then(undefined, () => undefined);
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => {
    reject(signal.reason as Error);
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
};

/** The parts of the stream, to its end or to an abort; leaving early ends the stream. */
async function* partsOf(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  signal: AbortSignal,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

interface Attempt {
  readonly options: AiSdkOptions;
  readonly facts: FailureFacts;
  readonly form: PromptForm;
  /** Ends the HTTP request too. */
  readonly signal: AbortSignal;
  readonly request: ModelRequest;
  readonly context: ModelContext;
}

const callOptions = async ({
  options,
  form,
  signal,
  request,
  context,
}: Attempt): Promise<LanguageModelV4CallOptions> => {
  const rules = options.files ?? fileRules.compatible;
  const files = await unlessAborted(showFiles(request.messages, rules, context.file), signal);
  if (context.attempt === 1) for (const note of files.news) context.note?.(note);
  const { maxOutputTokens, temperature } = request;
  const tools = buildTools(request, form);
  return {
    prompt: buildPrompt(request, form, files),
    ...(tools === undefined ? {} : { tools }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    providerOptions: mergeOptions(options.providerOptions, request.providerOptions),
    abortSignal: signal,
  };
};

async function* attempt(of: Attempt): AsyncGenerator<ModelPart> {
  const { options, facts, form, signal } = of;
  const { stream } = await unlessAborted(options.model.doStream(await callOptions(of)), signal);
  const builder = new ReplyBuilder({ name: facts.name, by: form.by });
  for await (const part of partsOf(stream, signal)) {
    if (part.type === "error") throw failureOf(part.error, facts, { inStream: true });
    if (part.type === "finish") {
      yield { type: "reply", reply: builder.finish(part) };
      return;
    }
    yield* builder.take(part);
  }
  throw new ModelError("network", `${facts.name}: the stream ended without a finish`);
}

/** A model of the AI SDK under perdure's contract. */
export const createAiSdkModel = (options: AiSdkOptions): Model => {
  const { model, secrets = [], keyName, filesInResults = false, strict } = options;
  const by = `${model.provider}/${model.modelId}`;
  const name = options.name ?? by;
  const contextTokens = options.contextTokens ?? null;
  const form: PromptForm = { by, filesInResults, ...(strict === undefined ? {} : { strict }) };
  return {
    name,
    contextTokens,
    async *stream(request, { signal, context }) {
      const facts = { name, keyName, secrets, mayOverflow: () => mayOverflow(request, contextTokens) };
      // Its own: whoever stops listening ends the HTTP request, too.
      const ended = new AbortController();
      const either = AbortSignal.any([signal, ended.signal]);
      try {
        for await (const part of attempt({ options, facts, form, signal: either, request, context })) {
          if (signal.aborted) throw signal.reason;
          yield part;
        }
      } catch (error) {
        if (signal.aborted) throw new ModelError("aborted", `${name}: the call was stopped`);
        throw failureOf(error, facts);
      } finally {
        ended.abort();
      }
    },
  };
};
