// The ten event types: what each holds, and which of its fields are content. A capability never adds one.
import { Type, type Static, type TSchema } from "typebox";
import { ItemSchema, Origin, Settings, type Item } from "./items.ts";
import { Content, Json, Reply } from "./messages.ts";

const strict = { additionalProperties: false };
const literals = <T extends string>(...values: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value))));
const optional = Type.Optional;

/** What a source gave: its id, the version seen, and how far it was read. */
export const Source = Type.Object(
  { id: Type.String(), version: optional(Type.String()), cursor: optional(Type.String()) },
  strict,
);
export type Source = Static<typeof Source>;
const sources = optional(Type.Array(Source));
const redacted = optional(Type.Literal(true));

export const Effect = literals("read", "internal", "write", "destructive");
export type Effect = Static<typeof Effect>;

/** Whether a tool, or a call of one, changes anything but perdure's own records. */
export const changesOutside = ({ effect }: { readonly effect?: Effect | undefined }): boolean =>
  effect === "write" || effect === "destructive";
export type Outcome = "completed" | "paused" | "cancelled" | "failed";
export type EndOutcome = "done" | "failed" | "cancelled";
export type Mode = "conversation" | "run" | "oneShot";

/** In order of precedence: a task that waits for several things waits on the first of them. */
export const waitingOn = [
  "resolution",
  "resume",
  "approval",
  "answer",
  "children",
  "timer",
  "signal",
  "input",
] as const;
export type WaitingOn = (typeof waitingOn)[number];

/**
 * Tokens of one model call. A count the provider did not report is absent; nothing reported is `"unknown"`. `input` leaves
 * out what was read from or written to the cache; `output` includes `reasoning`.
 */
export const Tokens = Type.Union([
  Type.Literal("unknown"),
  Type.Object(
    {
      input: Type.Integer(),
      output: Type.Integer(),
      cacheRead: optional(Type.Integer()),
      cacheWrite: optional(Type.Integer()),
      reasoning: optional(Type.Integer()),
    },
    strict,
  ),
]);
export type Tokens = Static<typeof Tokens>;

/** `priceEstimate` is in the currency of the configured prices; absent where no price is configured. */
export const Usage = Type.Object(
  { tokens: Tokens, durationMs: Type.Integer(), priceEstimate: optional(Type.Number()) },
  strict,
);
export type Usage = Static<typeof Usage>;

export const StopReason = literals("end_turn", "tool_use", "max_tokens", "refusal", "other");

/** One thing that is waited for. `detail` of a `Waiting` lists every one, the word `on` only the first. */
export const Wait = Type.Object(
  {
    on: literals(...waitingOn),
    callId: optional(Type.String()),
    ref: optional(Type.String()),
  },
  strict,
);
export type Wait = Static<typeof Wait>;

const fields = {
  TaskCreated: {
    agent: Type.String(),
    config: Settings,
    objective: Type.String(),
    owner: Type.String(),
    origin: Origin,
    parent: optional(Type.Object({ taskId: Type.String(), callId: Type.String() }, strict)),
    root: Type.String(),
    historyFrom: optional(Type.Object({ taskId: Type.String(), through: Type.Integer() }, strict)),
    onInterrupt: literals("continue", "pause"),
    mode: literals("conversation", "run", "oneShot"),
    sources,
    redacted,
  },
  InputTaken: { items: Type.Array(ItemSchema), through: Type.Integer(), redacted },
  ModelCalled: {
    model: Type.String(),
    requestHash: Type.String(),
    attempt: Type.Integer(),
    purpose: Type.String(),
    prefixHash: Type.String(),
    messages: Type.Integer(),
    revision: Type.Integer(),
    redacted,
  },
  ModelReplied: {
    message: Reply,
    stopReason: StopReason,
    usage: Usage,
    sources,
    redacted,
  },
  ToolStarted: {
    callId: Type.String(),
    name: Type.String(),
    input: Json,
    effect: Effect,
    idempotent: optional(Type.Object({ ttlMs: Type.Integer() }, strict)),
    definition: Type.String(),
    invocationId: Type.String(),
    attempt: Type.Integer(),
    redacted,
  },
  ToolFinished: {
    callId: Type.String(),
    status: literals("ok", "error", "denied", "skipped"),
    content: Content,
    details: optional(Json),
    resources: optional(Type.Array(Type.String())),
    sources,
    settledBy: optional(literals("attestation", "verification")),
    redacted,
  },
  Compacted: {
    through: Type.Integer(),
    summary: Type.String(),
    kept: Type.Array(Type.Integer()),
    sources,
    redacted,
  },
  Waiting: {
    on: literals(...waitingOn),
    outcome: optional(literals("completed", "paused", "cancelled", "failed")),
    reason: optional(Type.String()),
    detail: Type.Object({ answer: optional(Type.String()), waits: optional(Type.Array(Wait)) }, strict),
    redacted,
  },
  TaskEnded: {
    outcome: literals("done", "failed", "cancelled"),
    answer: optional(Type.String()),
    reason: optional(Type.String()),
    redacted,
  },
  ExtensionRecorded: {
    extension: Type.String(),
    kind: Type.String(),
    v: Type.Integer(),
    data: Json,
    message: optional(Content),
    sources,
    skeleton: optional(Type.Array(Type.String())),
    redacted,
  },
} as const satisfies Record<string, Record<string, TSchema>>;

type Fields = typeof fields;
export type EventType = keyof Fields;
export const eventTypes = Object.keys(fields) as EventType[];

type Narrow<K extends EventType> = Static<ReturnType<typeof Type.Object<Fields[K]>>>;
/** One event without its envelope. `redacted: true` marks a skeleton whose content was removed. */
export type Event = {
  [K in EventType]: { readonly type: K } & (K extends "InputTaken"
    ? Omit<Narrow<K>, "items"> & { readonly items: readonly Item[] }
    : Narrow<K>);
}[EventType];
export type EventOf<K extends EventType> = Extract<Event, { type: K }>;

/** An event at its place in a log. `at` is the store's clock in ms and never goes back within a task. */
export interface Recorded {
  readonly seq: number;
  readonly at: number;
  readonly event: Event;
}

export const eventSchemas = Object.fromEntries(
  eventTypes.map((type) => [type, Type.Object(fields[type] as Record<string, TSchema>, strict)]),
) as unknown as Record<EventType, TSchema>;

/**
 * Per event type, the fields that are content: words, inputs and outputs. All other fields are skeleton. `items`,
 * `message` and `data` are content of which a part is kept; `redact.ts` says which.
 */
export const eventContent: { readonly [K in EventType]: readonly (keyof Fields[K])[] } = {
  TaskCreated: [],
  InputTaken: ["items"],
  ModelCalled: [],
  ModelReplied: ["message"],
  ToolStarted: ["input"],
  ToolFinished: ["content", "details", "resources"],
  Compacted: ["summary"],
  Waiting: ["detail"],
  TaskEnded: ["answer"],
  ExtensionRecorded: ["data", "message"],
};
