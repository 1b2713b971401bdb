// The kernel's own bookkeeping: ExtensionRecorded under `core`, one typed payload per kind.
import { Type, type Static, type TSchema } from "typebox";
import { Effect, Tokens } from "./events.ts";
import { Origin, SettingsChange } from "./items.ts";
import { Json } from "./messages.ts";

const strict = { additionalProperties: false };
const optional = Type.Optional;
const words = <T extends string>(...values: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value))));

/** One plugin a task runs with. `source` is a hash of its code, or the build id where the code cannot be known. */
export const Pin = Type.Object(
  { name: Type.String(), version: Type.String(), source: Type.String(), args: optional(Json) },
  strict,
);
export type Pin = Static<typeof Pin>;

/** What `decide` must know of a tool; the rest is in its definition, stored once by hash. */
export const ToolEntry = Type.Object(
  {
    name: Type.String(),
    definition: Type.String(),
    plugin: Type.String(),
    effect: Effect,
    idempotent: optional(Type.Object({ ttlMs: Type.Integer() }, strict)),
    verify: optional(Type.Literal(true)),
    onUnknown: optional(words("pause", "tell")),
    deferred: optional(Type.Literal(true)),
    server: optional(Type.Literal(true)),
  },
  strict,
);
export type ToolEntry = Static<typeof ToolEntry>;

export const Fragment = Type.Object({ plugin: Type.String(), text: Type.String() }, strict);

/** Why an attempt at a model call gave no reply. The last two are the kernel's: an empty or a cut reply. */
export const ModelFailure = words(
  "overloaded",
  "rate_limited",
  "overflow",
  "refused",
  "auth",
  "network",
  "bad_request",
  "aborted",
  "empty",
  "cut",
);
export type ModelFailure = Static<typeof ModelFailure>;

const callId = Type.String();

/** Content fields are marked `content: true`: redaction empties them and keeps the rest. */
const content = { content: true };

/** What a call may be parked on by its own tool. */
export const waitsOutside = words("answer", "children", "timer", "signal");

const kinds = {
  prompts: {
    identity: Type.String(content),
    system: Type.String(content),
    parts: Type.Array(Fragment, content),
  },
  plugins: { pins: Type.Array(Pin), tools: Type.Array(ToolEntry) },
  config: { settings: SettingsChange, by: Type.String() },
  timer_set: { id: Type.String(), dueAt: Type.Integer(), callId: optional(callId), repeat: optional(Type.String()) },
  timer_cancelled: { id: Type.String() },
  turn_failed: { reason: Type.String(), message: optional(Type.String(content)) },
  model_failed: {
    class: ModelFailure,
    purpose: Type.String(),
    attempt: Type.Integer(),
    durationMs: Type.Integer(),
    tokens: optional(Tokens),
    priceEstimate: optional(Type.Number()),
    status: optional(Type.Integer()),
    retryAt: optional(Type.Integer()),
    message: optional(Type.String(content)),
  },
  usage: {
    purpose: Type.String(),
    model: Type.String(),
    tokens: Tokens,
    durationMs: Type.Integer(),
    priceEstimate: optional(Type.Number()),
    failed: optional(ModelFailure),
  },
  call_parked: {
    callId,
    on: waitsOutside,
    ref: optional(Type.String()),
    detail: optional(Type.Unknown(content)),
  },
  approval_requested: {
    requestId: Type.String(),
    callId,
    inputHash: Type.String(),
    definition: Type.String(),
    decides: Type.String(),
    expiresAt: optional(Type.Integer()),
    input: optional(Type.Unknown(content)),
    items: optional(Type.Array(Type.String(), content)),
    reason: optional(Type.String(content)),
  },
  approval_settled: {
    requestId: Type.String(),
    callId,
    decision: words("approved", "denied", "expired", "cancelled", "void"),
    by: Type.String(),
    inputHash: optional(Type.String()),
    auto: optional(Type.Literal(true)),
    input: optional(Type.Unknown(content)),
    reason: optional(Type.String(content)),
  },
  action_unknown: { callId, reason: Type.String(), message: optional(Type.String(content)) },
  action_settled: {
    callId,
    how: words("attestation", "verification"),
    outcome: words("done", "absent", "unknown"),
    by: Type.String(),
    verification: optional(Type.String(content)),
  },
  interrupted: { reason: words("crashed", "stopped", "restored"), restoredFrom: optional(Type.Integer()) },
  handoff: { origin: Origin, by: Type.String() },
  collaborator: { principal: Type.String(), change: words("add", "remove"), by: Type.String() },
  refreshed: { source: Type.String(), version: optional(Type.String()), seqs: Type.Array(Type.Integer()) },
  erased: { seqs: Type.Array(Type.Integer()), reason: Type.String(content) },
  detached: { callId, job: Type.String() },
  detached_ended: { callId, job: Type.String(), status: words("ok", "error", "unknown") },
} as const satisfies Record<string, Record<string, TSchema>>;

type Kinds = typeof kinds;
export type RecordKind = keyof Kinds;
export type CoreRecord<K extends RecordKind> = Static<ReturnType<typeof Type.Object<Kinds[K]>>>;

/** The version that this build writes and the newest that it reads, the same for every kind. */
export const RECORD_VERSION = 1;

const isContent = (schema: TSchema): boolean => (schema as { content?: boolean }).content === true;

export const recordKinds = Object.keys(kinds) as RecordKind[];
export const recordSchemas = Object.fromEntries(
  recordKinds.map((kind) => [kind, Type.Object(kinds[kind] as Record<string, TSchema>, strict)]),
) as unknown as Record<RecordKind, TSchema>;

/** Of redacted records: what is content may be gone. */
export const redactedRecordSchemas = Object.fromEntries(
  recordKinds.map((kind) => {
    const fields = Object.entries(kinds[kind] as Record<string, TSchema>);
    const kept = fields.map(([key, schema]) => [key, isContent(schema) ? optional(schema) : schema]);
    return [kind, Type.Object(Object.fromEntries(kept) as Record<string, TSchema>, strict)];
  }),
) as unknown as Record<RecordKind, TSchema>;

/** The data keys of a core record that stay when its content is redacted. */
export const recordSkeleton = (kind: RecordKind): string[] =>
  Object.entries(kinds[kind] as Record<string, TSchema>)
    .filter(([, schema]) => !isContent(schema))
    .map(([key]) => key);

export const isRecordKind = (kind: string): kind is RecordKind => Object.hasOwn(kinds, kind);
