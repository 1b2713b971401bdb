// The parts a conversation is made of, as events store them and as requests send them.
import { Type, type Static } from "typebox";

const strict = { additionalProperties: false };

/** Free-form JSON from outside (a tool's input, a provider's metadata). Kept as given; nothing below the top is looked at. */
export const Json = Type.Unsafe<unknown>(
  Type.Union([Type.Object({}), Type.Array(Type.Unknown()), Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
);

export const TextPart = Type.Object({ type: Type.Literal("text"), text: Type.String() }, strict);

/** A task file shown to the model. `name` is the task file's name in the store; `size` is in bytes. */
export const FilePart = Type.Object(
  { type: Type.Literal("file"), name: Type.String(), mediaType: Type.String(), size: Type.Integer() },
  strict,
);

/** What a person says, or a tool returns: text and files, in order. */
export const ContentPart = Type.Union([TextPart, FilePart]);
export const Content = Type.Array(ContentPart);

/** Words of a reply. `provider` is the provider's opaque metadata of them, sent back unchanged. */
export const ReplyTextPart = Type.Object(
  { type: Type.Literal("text"), text: Type.String(), provider: Type.Optional(Json) },
  strict,
);

/** Reasoning as the provider gave it. `provider` is its opaque metadata (a signature, say), sent back unchanged. */
export const ReasoningPart = Type.Object(
  { type: Type.Literal("reasoning"), text: Type.String(), provider: Type.Optional(Json) },
  strict,
);

/**
 * One tool call of a reply. It holds no id of ours: the fold mints `c<seq>_<index>` from its place.
 * `providerId` is the id the provider gave, which may repeat.
 */
export const CallPart = Type.Object(
  {
    type: Type.Literal("call"),
    name: Type.String(),
    input: Json,
    providerId: Type.Optional(Type.String()),
    provider: Type.Optional(Json),
  },
  strict,
);

export const ReplyPart = Type.Union([ReplyTextPart, ReasoningPart, CallPart]);
export const Reply = Type.Object({ parts: Type.Array(ReplyPart) }, strict);

export type TextPart = Static<typeof TextPart>;
export type FilePart = Static<typeof FilePart>;
export type ContentPart = Static<typeof ContentPart>;
export type Content = Static<typeof Content>;
export type ReplyTextPart = Static<typeof ReplyTextPart>;
export type ReasoningPart = Static<typeof ReasoningPart>;
export type CallPart = Static<typeof CallPart>;
export type ReplyPart = Static<typeof ReplyPart>;
export type Reply = Static<typeof Reply>;

/** A call inside a request: the reply's call with the kernel's id. */
export type RequestCall = CallPart & { readonly id: string };
export type AssistantPart = ReplyTextPart | ReasoningPart | RequestCall;

/** How a call ended. `skipped`: its handler never ran. `error`: the model sees it and may correct. */
export type ResultStatus = "ok" | "error" | "denied" | "skipped";

export interface CallResult {
  readonly callId: string;
  readonly name: string;
  readonly status: ResultStatus;
  readonly content: Content;
}

/**
 * One message of the conversation as the model sees it. `seq` is the event that produced it; it is not part of the
 * request. A `tool` message answers every call of the assistant message before it, in call order.
 */
export type Message =
  | { readonly seq: number; readonly role: "user"; readonly content: Content }
  | { readonly seq: number; readonly role: "assistant"; readonly parts: readonly AssistantPart[] }
  | { readonly seq: number; readonly role: "tool"; readonly results: readonly CallResult[] };

/** What stands where content was redacted. Part of the request format: a change breaks prompt caches. */
export const GAP = "[removed: this content was redacted]";

export const text = (value: string): TextPart => ({ type: "text", text: value });

/** A text without words. Providers refuse a message that holds one. */
export const isBlank = (part: { readonly type: string; readonly text?: string }): boolean =>
  part.type === "text" && part.text?.trim() === "";

/** The text parts of `parts`, joined. */
export const textOf = (parts: readonly { readonly type: string }[]): string => {
  let joined = "";
  for (const part of parts) if (part.type === "text") joined += (part as TextPart).text;
  return joined;
};
