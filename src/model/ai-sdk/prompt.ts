// A request as the AI SDK takes it. Pure: the same request and the same files give the same prompt.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { AssistantPart, CallResult, Content, Message } from "../../core/messages.ts";
import type { ModelRequest, RequestTool } from "../../core/request.ts";
import { metadataFor } from "./made-by.ts";
import type { ShownFiles } from "./shown-files.ts";

type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];
type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** What the provider wants that others do not. */
export interface PromptForm {
  /** Names the model: what another one made is not sent to it. */
  readonly by: string;
  /** Whether a tool's result may hold files; where not, they follow as a person's. */
  readonly filesInResults: boolean;
  /** Tools say that their schemas are not to be taken strictly: OpenAI would make optional fields required. */
  readonly strict?: false;
}

/** Anthropic's cache breakpoint; other providers pass it over. */
const cached: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** Half a surrogate pair is no text: providers refuse a request that holds one. */
const wellFormed = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key.toWellFormed(), wellFormed(each)]));
};

const textPart = (text: string): LanguageModelV4TextPart => ({ type: "text", text: text.toWellFormed() });

const userParts = (content: Content, files: ShownFiles): UserPart[] =>
  content.map((part) => (part.type === "text" ? textPart(part.text) : files.partFor(part)));

/**
 * OpenAI's reasoning without its encrypted content can only be looked up where it was stored, and perdure stores nothing
 * there: such items are left out.
 */
const isLost = (part: AssistantPart, form: PromptForm, parts: readonly AssistantPart[]): boolean => {
  const of = (each: AssistantPart): Record<string, unknown> | undefined =>
    each.type === "reasoning" ? metadataFor<SharedV4ProviderOptions>(form.by, each.provider)?.["openai"] : undefined;
  const itemId = of(part)?.["itemId"];
  if (itemId === undefined) return false;
  const isWhole = (each: AssistantPart): boolean =>
    of(each)?.["itemId"] === itemId && typeof of(each)?.["reasoningEncryptedContent"] === "string";
  return !parts.some(isWhole);
};

const assistantParts = (parts: readonly AssistantPart[], form: PromptForm): AssistantContent =>
  parts.flatMap((part): AssistantContent => {
    const providerOptions = metadataFor<SharedV4ProviderOptions>(form.by, part.provider);
    const options = providerOptions === undefined ? {} : { providerOptions };
    switch (part.type) {
      case "text":
        return [{ ...textPart(part.text), ...options }];
      case "reasoning": {
        // Only the model that thought it is told so; a thought whose maker is not known is nobody's.
        if (providerOptions === undefined || isLost(part, form, parts)) return [];
        const reasoning: LanguageModelV4ReasoningPart = { type: "reasoning", text: part.text, providerOptions };
        return [reasoning];
      }
      case "call":
        return [
          { type: "tool-call", toolCallId: part.id, toolName: part.name, input: wellFormed(part.input), ...options },
        ];
    }
  });

const resultOutput = (
  { status, content }: CallResult,
  form: PromptForm,
  files: ShownFiles,
): LanguageModelV4ToolResultOutput => {
  const shown = userParts(content, files);
  if (form.filesInResults && shown.some((part) => part.type === "file")) return { type: "content", value: shown };
  const notes = shown.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const value = [...notes, ...(shown.length > notes.length ? ["[What it shows follows.]"] : [])].join("\n");
  return { type: status === "ok" ? "text" : "error-text", value };
};

const toolMessages = (
  results: readonly CallResult[],
  form: PromptForm,
  files: ShownFiles,
): LanguageModelV4Message[] => {
  const content = results.map((result): LanguageModelV4ToolResultPart => {
    const { callId, name } = result;
    return {
      type: "tool-result",
      toolCallId: callId,
      toolName: name,
      output: resultOutput(result, form, files),
    };
  });
  if (form.filesInResults) return [{ role: "tool", content }];
  const following = results.flatMap(({ callId, name, content: parts }) => {
    const shown = userParts(parts, files).filter((part) => part.type === "file");
    return shown.length === 0 ? [] : [textPart(`[From the result of ${name}, call ${callId}:]`), ...shown];
  });
  const user: LanguageModelV4Message[] = following.length === 0 ? [] : [{ role: "user", content: following }];
  return [{ role: "tool", content }, ...user];
};

const messagesFor = (message: Message, form: PromptForm, files: ShownFiles): LanguageModelV4Message[] => {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: userParts(message.content, files) }];
    case "assistant": {
      const content = assistantParts(message.parts, form);
      // A reply of which nothing is left for this model still has its place in the conversation.
      return [{ role: "assistant", content: content.length > 0 ? content : [textPart("[…]")] }];
    }
    case "tool":
      return toolMessages(message.results, form, files);
  }
};

/** System blocks, then messages; the last one that the request's breakpoint stands on carries it. */
export const buildPrompt = (request: ModelRequest, form: PromptForm, files: ShownFiles): LanguageModelV4Prompt => [
  ...request.system.map((text): LanguageModelV4Message => ({
    role: "system",
    content: text.toWellFormed(),
    providerOptions: cached,
  })),
  ...request.messages.flatMap((message, index) => {
    const made = messagesFor(message, form, files);
    const last = made.at(-1);
    if (index === request.cacheAt && last !== undefined) last.providerOptions = cached;
    return made;
  }),
];

const toolFor = (tool: RequestTool, form: PromptForm): LanguageModelV4FunctionTool => ({
  type: "function",
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema as LanguageModelV4FunctionTool["inputSchema"],
  ...(form.strict === undefined ? {} : { strict: form.strict }),
  ...(tool.deferred === true ? { providerOptions: { anthropic: { deferLoading: true } } } : {}),
});

/** The tools in the request's own order. */
export const buildTools = ({ tools }: ModelRequest, form: PromptForm): LanguageModelV4CallOptions["tools"] =>
  tools.length === 0 ? undefined : tools.map((tool) => toolFor(tool, form));
