// Puts a reply together from the stream of one attempt, and passes its deltas on. What is not whole is no reply.
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ReplyPart } from "../../core/messages.ts";
import { ModelError, type ModelPart, type ModelReply } from "../model.ts";
import { madeBy, madeWith } from "./made-by.ts";
import { tokensOf } from "./tokens.ts";

type Metadata = Readonly<Record<string, unknown>> | undefined;
type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type ToolCall = Extract<LanguageModelV4StreamPart, { type: "tool-call" }>;

interface Said {
  readonly type: "text" | "reasoning";
  text: string;
  metadata: Metadata;
}

interface Called {
  readonly type: "call";
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** Arguments as they streamed. */
  text: string;
  /** Its arguments came in one piece with the finished call, or not at all. */
  unargued?: boolean;
  call?: ToolCall;
}

const parsed = (text: string): { readonly value: unknown } | null => {
  try {
    return { value: JSON.parse(text === "" ? "{}" : text) as unknown };
  } catch {
    return null;
  }
};

/** Later fields win, per provider: a signature comes with the last delta, an item's id with the first. */
const merge = (before: Metadata, after: Metadata): Metadata => {
  if (before === undefined || after === undefined) return after ?? before;
  const merged: Record<string, unknown> = { ...before };
  for (const [provider, fields] of Object.entries(after))
    merged[provider] = { ...(merged[provider] ?? {}), ...(fields ?? {}) };
  return merged;
};

const stopReasonOf = ({ unified }: LanguageModelV4FinishReason, calls: boolean): ModelReply["stopReason"] => {
  if (unified === "length") return "max_tokens";
  // Some servers say `stop` although they call.
  if (calls) return "tool_use";
  return unified === "stop" ? "end_turn" : "other";
};

const LONGEST_REFUSAL = 500;

/** Refuses what is no whole reply. `words`: what was said so far. */
const checkWhole = ({ finishReason, usage }: Finish, name: string, words: string): void => {
  const tokens = tokensOf(usage);
  const { unified, raw } = finishReason;
  if (raw === "model_context_window_exceeded")
    throw new ModelError("overflow", `${name}: the context had no room for the whole reply`, { tokens });
  if (unified === "content-filter") {
    const said = words.replace(/\s+/g, " ").trim().slice(0, LONGEST_REFUSAL).toWellFormed();
    throw new ModelError("refused", `${name} refused${said === "" ? "" : `: ${said}`}`, { tokens });
  }
  if (unified === "interrupted") throw new ModelError("network", `${name}: the reply was cut`, { tokens });
  if (unified === "error")
    throw new ModelError("overloaded", `${name}: the provider ended the reply with an error`, { tokens });
};

const assemble = (entries: readonly (Said | Called)[], finish: Finish, by: string): ModelReply => {
  const parts: ReplyPart[] = [];
  const broken: string[] = [];
  const cut = finish.finishReason.unified === "length" ? entries.at(-1) : undefined;
  for (const entry of entries) {
    if (entry.type !== "call") {
      const provider = madeWith(by, entry.metadata);
      const made = provider === undefined ? {} : { provider };
      // Thoughts are sent to the model that thought them, whatever else it says of them; hidden ones are metadata alone.
      if (entry.type === "text" && entry.text !== "") parts.push({ type: "text", text: entry.text, ...made });
      if (entry.type === "reasoning" && (entry.text !== "" || provider !== undefined))
        parts.push({ type: "reasoning", text: entry.text, provider: provider ?? madeBy(by, undefined) });
      continue;
    }
    // The last call of a reply that was cut before its first argument looks like one without arguments.
    const unsure = entry === cut && entry.unargued === true;
    const input = entry.call === undefined || unsure ? null : parsed(entry.call.input);
    if (input === null) {
      broken.push(entry.name);
      continue;
    }
    const provider = madeWith(by, entry.call?.providerMetadata);
    const made = provider === undefined ? {} : { provider };
    parts.push({ type: "call", name: entry.name, input: input.value, providerId: entry.id, ...made });
  }
  return {
    message: { parts },
    stopReason: stopReasonOf(
      finish.finishReason,
      parts.some((part) => part.type === "call"),
    ),
    tokens: tokensOf(finish.usage),
    ...(broken.length === 0 ? {} : { broken }),
  };
};

/** Builds the reply of one attempt. `by` names the model that speaks, for what only that model may be sent again. */
export class ReplyBuilder {
  readonly #name: string;
  readonly #by: string;
  readonly #entries: (Said | Called)[] = [];
  readonly #saying = new Map<string, Said>();
  #calls = 0;

  constructor({ name, by }: { readonly name: string; readonly by: string }) {
    this.#name = name;
    this.#by = by;
  }

  /** The deltas that a part of the stream stands for. */
  take(part: LanguageModelV4StreamPart): ModelPart[] {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(part.type === "text-start" ? "text" : "reasoning", part.id, part.providerMetadata);
        return [];
      case "text-delta":
      case "text-end":
        return this.#say("text", part, part.type === "text-delta" ? part.delta : "");
      case "reasoning-delta":
      case "reasoning-end":
        return this.#say("reasoning", part, part.type === "reasoning-delta" ? part.delta : "");
      case "tool-input-start":
        if (part.providerExecuted !== true) this.#beginCall(part.id, part.toolName);
        return [];
      case "tool-input-delta": {
        const entry = this.#open(part.id).at(-1);
        return entry === undefined ? [] : this.#argue(entry, part.delta);
      }
      case "tool-call":
        return part.providerExecuted === true ? [] : this.#complete(part);
      default:
        return []; // Sources, files, pings and what a provider's own tools did are not part of a reply.
    }
  }

  /** The whole reply. Throws ModelError for a stream that ended in anything else. */
  finish(finish: Finish): ModelReply {
    const words = this.#entries.map((each) => (each.type === "text" ? each.text : "")).join("");
    checkWhole(finish, this.#name, words);
    return assemble(this.#entries, finish, this.#by);
  }

  #begin(type: Said["type"], id: string, metadata: Metadata): Said {
    const said: Said = { type, text: "", metadata };
    this.#entries.push(said);
    this.#saying.set(`${type} ${id}`, said);
    return said;
  }

  #say(type: Said["type"], part: { id: string; providerMetadata?: Metadata }, delta: string): ModelPart[] {
    const said = this.#saying.get(`${type} ${part.id}`) ?? this.#begin(type, part.id, undefined);
    said.text += delta;
    said.metadata = merge(said.metadata, part.providerMetadata);
    return delta === "" ? [] : [{ type, delta }];
  }

  #beginCall(id: string, name: string): Called {
    const entry: Called = { type: "call", index: this.#calls++, id, name, text: "" };
    this.#entries.push(entry);
    return entry;
  }

  #argue(entry: Called, delta: string): ModelPart[] {
    entry.text += delta;
    return delta === "" ? [] : [{ type: "call", index: entry.index, name: entry.name, delta }];
  }

  /** Ids of one reply may repeat: arguments belong to the call that began last, a finished call to the first one open. */
  #open(id: string): Called[] {
    return this.#entries.filter(
      (each): each is Called => each.type === "call" && each.id === id && each.call === undefined,
    );
  }

  #complete(part: ToolCall): ModelPart[] {
    const { toolCallId, toolName, input } = part;
    const entry = this.#open(toolCallId).find(({ name }) => name === toolName) ?? this.#beginCall(toolCallId, toolName);
    entry.call = part;
    entry.unargued = entry.text === "";
    return entry.unargued ? this.#argue(entry, input === "" ? "{}" : input) : [];
  }
}
