// What anyone outside may post to a task's inbox. InputTaken copies the items into the log, whole.
import { Type, type Static, type TSchema } from "typebox";
import { FilePart, Json } from "./messages.ts";

const strict = { additionalProperties: false };

export const Origin = Type.Object(
  {
    frontEnd: Type.String(),
    place: Type.String(),
    conversation: Type.String(),
    private: Type.Boolean(),
  },
  strict,
);
export type Origin = Static<typeof Origin>;

/** Settings a task runs under. Recorded at creation and changed by `core/config`; the fold merges them. */
export const Settings = Type.Object(
  {
    model: Type.String(),
    maxSteps: Type.Optional(Type.Integer({ minimum: 1 })),
    maxLegs: Type.Optional(Type.Integer({ minimum: 1 })),
    maxOutputTokens: Type.Optional(Type.Integer({ minimum: 1 })),
    contextTokens: Type.Optional(Type.Integer({ minimum: 1 })),
    temperature: Type.Optional(Type.Number()),
    modelAttempts: Type.Optional(Type.Integer({ minimum: 1 })),
    workspace: Type.Optional(Type.Object({ host: Type.String(), path: Type.String() }, strict)),
    queue: Type.Optional(Type.String()),
    priority: Type.Optional(Type.Integer()),
    providerOptions: Type.Optional(Json),
    approvalExpiryMs: Type.Optional(Type.Integer({ minimum: 1 })),
    autoApprove: Type.Optional(Type.Boolean()),
  },
  strict,
);
export type Settings = Static<typeof Settings>;

/** Changes to settings: what is absent stays as it is. */
export const SettingsChange = Type.Partial(Settings, strict);
export type SettingsChange = Static<typeof SettingsChange>;

const bodies = {
  Say: { text: Type.String(), files: Type.Optional(Type.Array(FilePart)) },
  Steer: { text: Type.String() },
  Decide: {
    requestId: Type.String(),
    inputHash: Type.String(),
    showing: Type.Integer(),
    decision: Type.Union([Type.Literal("approve"), Type.Literal("deny")]),
    input: Type.Optional(Json),
    reason: Type.Optional(Type.String()),
  },
  Answer: { question: Type.String(), text: Type.String() },
  Signal: { name: Type.String(), data: Type.Optional(Json) },
  ChildEnded: {
    childId: Type.String(),
    callId: Type.String(),
    outcome: Type.Union([Type.Literal("done"), Type.Literal("failed"), Type.Literal("cancelled")]),
    answer: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
  },
  TimerFired: { timerId: Type.String(), dueAt: Type.Integer() },
  Interrupt: {},
  Cancel: { reason: Type.Optional(Type.String()) },
  Close: {},
  Resume: { text: Type.Optional(Type.String()) },
  Resolve: {
    callId: Type.String(),
    outcome: Type.Union([Type.Literal("done"), Type.Literal("absent")]),
    verification: Type.String(),
  },
  Verify: { callId: Type.String() },
  SourceChanged: {
    source: Type.String(),
    version: Type.Optional(Type.String()),
    deleted: Type.Boolean(),
  },
  Handoff: { origin: Origin },
  Collaborate: { principal: Type.String(), change: Type.Union([Type.Literal("add"), Type.Literal("remove")]) },
  Reconfigure: { settings: SettingsChange },
} as const satisfies Record<string, Record<string, TSchema>>;

type Bodies = typeof bodies;
export type ItemType = keyof Bodies;

type Body<K extends ItemType> = Static<ReturnType<typeof Type.Object<Bodies[K]>>>;

/** An item before it has a place in an inbox. `redacted`: its words were removed while it waited there. */
export type NewItem = { [K in ItemType]: { readonly type: K } & Body<K> }[ItemType] & { readonly redacted?: true };

/** An item as the inbox holds it and InputTaken copies it. `seq` is its inbox seq, `at` the store's clock (ms). */
export type Item = {
  readonly seq: number;
  readonly at: number;
  readonly by: string;
  readonly key: string;
  /** Why it does nothing, in a word (see Refusal): whoever took it found that its poster may not ask this. */
  readonly refused?: string;
} & NewItem;
export type ItemOf<K extends ItemType> = Extract<Item, { type: K }>;

const place = {
  ...{ seq: Type.Integer(), at: Type.Integer(), by: Type.String(), key: Type.String() },
  refused: Type.Optional(Type.String()),
};

const typed = (entry: [string, Record<string, TSchema>], more: Record<string, TSchema>): TSchema =>
  Type.Object(
    { ...more, type: Type.Literal(entry[0]), ...entry[1], redacted: Type.Optional(Type.Literal(true)) },
    strict,
  );

export const itemTypes = Object.keys(bodies) as ItemType[];
/** The schema of a new item, by type. */
export const newItemSchemas = Object.fromEntries(
  Object.entries(bodies).map((entry) => [entry[0], typed(entry, {})]),
) as Record<ItemType, TSchema>;
/** The schema of an item in InputTaken. A redacted item keeps its skeleton and `redacted: true`. */
export const ItemSchema = Type.Union(Object.entries(bodies).map((entry) => typed(entry, place)));

/** Per item type, the fields that are content (words, inputs, outputs); the rest is skeleton. */
export const itemContent: { readonly [K in ItemType]?: readonly string[] } = {
  Say: ["text", "files"],
  Steer: ["text"],
  Decide: ["input", "reason"],
  Answer: ["text"],
  Signal: ["data"],
  ChildEnded: ["answer", "reason"],
  Cancel: ["reason"],
  Resume: ["text"],
  Resolve: ["verification"],
};

/** Items that `decide` serves before anything else, in the order in which they are served. */
export const controlItems: readonly ItemType[] = [
  "Cancel",
  "Interrupt",
  "SourceChanged",
  "Resolve",
  "Verify",
  "Decide",
];
