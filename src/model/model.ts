// PORT: what answers. A model streams deltas, then gives one whole reply or fails with one typed error.
import type { EventOf, Tokens } from "../core/events.ts";
import type { Reply } from "../core/messages.ts";
import type { ModelFailure } from "../core/records.ts";
import type { ModelRequest } from "../core/request.ts";

/** What a call is for and where it stands. Not part of the request's bytes. */
export interface ModelContext {
  readonly taskId: string;
  /** Replies of this task so far: the number (from 0) of the reply that is asked for. */
  readonly replies: number;
  readonly attempt: number;
  /** `turn`, or the nested work it is for, such as `compaction`. */
  readonly purpose: string;
  /** The bytes of a task file that the request's messages name; null where there is none. Absent: there are no files. */
  readonly file?: (name: string) => Promise<Uint8Array | null>;
  /** A line for an operator: what of the request the model is not given, and why. */
  readonly note?: (message: string) => void;
}

export interface ModelReply {
  /** Whole: nothing of it is stored before it is complete. May be empty; the runner refuses that. */
  readonly message: Reply;
  readonly stopReason: EventOf<"ModelReplied">["stopReason"];
  /** What the provider reported; `"unknown"` if nothing. */
  readonly tokens: Tokens;
  /** Calls whose arguments were cut or are no JSON: named here, absent from `message`. */
  readonly broken?: readonly string[];
}

/** Deltas are for viewers only and are never stored. `index` tells the calls of one reply apart. */
export type ModelPart =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "reasoning"; readonly delta: string }
  | { readonly type: "call"; readonly index: number; readonly name: string; readonly delta: string }
  | { readonly type: "reply"; readonly reply: ModelReply };

/** The closed set of failures of one attempt, told apart by status or typed field, never by matching text. */
export type ModelErrorClass = Exclude<ModelFailure, "empty" | "cut">;

export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly class: ModelErrorClass;
  /** The provider's word: not before this many ms from now. */
  readonly retryAfterMs: number | undefined;
  /** The HTTP status, where there was one. */
  readonly status: number | undefined;
  /** What the failed attempt used, where the provider said so. */
  readonly tokens: Tokens | undefined;
  constructor(
    errorClass: ModelErrorClass,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number; status?: number; tokens?: Tokens } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.class = errorClass;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    this.tokens = options.tokens;
  }
}

/** What a model costs per million tokens, in one currency of the configuration's choice. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Default: as `input`. */
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** By model, as settings name it. */
export type Prices = Readonly<Record<string, Price>>;

export interface Model {
  /** As it stands in settings and in the log: `scripted:replies.jsonl`, `demo`, `anthropic/…`. */
  readonly name: string;
  /** Tokens of context it takes; null where unknown. */
  readonly contextTokens: number | null;
  /**
   * Performs one attempt. The last part is the reply; nothing follows it. Throws ModelError and nothing else; an abort of
   * `signal` ends it within 100 ms as `aborted`. Does not retry by itself. The same request gives the provider the same
   * bytes, in any process, locale and time zone.
   */
  stream(request: ModelRequest, options: { signal: AbortSignal; context: ModelContext }): AsyncIterable<ModelPart>;
}
