// PORT: a capability added to an agent: tools, state, words for the model, hooks. Its records land with what they belong to.
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { Static, TSchema } from "typebox";
import type { ApprovalPolicy, Verdict } from "../core/approval.ts";
import type { Effect, Mode, Source } from "../core/events.ts";
import type { Settings } from "../core/items.ts";
import type { CallResult, Content } from "../core/messages.ts";
import type { Mac } from "../core/request.ts";
import type { CoreRecord, Pin, ToolEntry } from "../core/records.ts";
import type { Reducer, Reducers, TaskState } from "../core/state.ts";
import type { Exec } from "../exec/exec.ts";

/** A tool's schema: any Standard Schema that can say its JSON Schema, or a JSON Schema itself (TypeBox makes those). */
export type InputSchema = (StandardSchemaV1 & StandardJSONSchemaV1) | TSchema;

/** What `execute` is handed: what the schema puts out. */
export type InputOf<Schema extends InputSchema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Static<Schema>;

/** Thrown or returned by a tool: the effect certainly did not happen. The model sees the message as an error. */
export class NothingHappened extends Error {
  override readonly name = "NothingHappened";
}

/** A record for the plugin's own reducer, or words that join the conversation, or both. */
export interface NewRecord {
  readonly kind: string;
  /** JSON. All of it is content, but for the keys that the plugin declares in `records`. */
  readonly data: unknown;
  readonly message?: Content;
  readonly sources?: readonly Source[];
}

export interface ToolContext {
  readonly taskId: string;
  readonly callId: string;
  /** Names this dispatch to an outside service: the same again only where the tool is idempotent. */
  readonly invocationId: string;
  readonly attempt: number;
  /** Grows with every claim; an outside system may refuse a smaller one than it has seen. */
  readonly fence: number;
  /** Aborted by an interrupt, a cancel, a timeout, or when the worker lost its claim. Stop at once. */
  readonly signal: AbortSignal;
  readonly exec: Exec;
  /** A hash of content goes into a record only through this: it is worth nothing without the task's secret. */
  readonly mac: Mac;
  /** The plugin's own state as of this call; read only. */
  readonly state: unknown;
  /** Adds a record of the tool's plugin, appended together with the call's result. */
  record(record: NewRecord): void;
}

/**
 * The call has no result yet: it waits for something outside the task, and what comes is its one result. For `internal`
 * tools alone; nothing of the tool runs again for it.
 */
export interface Parked {
  readonly park: {
    /** `answer`: an `Answer` item that names this call. */
    readonly on: CoreRecord<"call_parked">["on"];
    /** Which one, where the call's id does not say it: a timer's id, a signal's name. */
    readonly ref?: string;
    /** JSON for front ends: the question, say. It is content, and goes with a redaction. */
    readonly detail?: unknown;
  };
}

export type ToolOutput =
  | string
  | Parked
  | {
      readonly content: string | Content;
      /** A failure the model sees and may correct; for a write it says that nothing happened. */
      readonly isError?: boolean;
      /** JSON for front ends; the model never sees it. */
      readonly details?: unknown;
      /** Ids of what was made or changed outside. */
      readonly resources?: readonly string[];
      readonly sources?: readonly Source[];
    };

/** What is known of an action whose outcome is not. */
export interface Receipt {
  readonly callId: string;
  readonly invocationId: string;
  readonly input: unknown;
  readonly attempt: number;
  /** When it was first announced (store's clock, ms). */
  readonly startedAt: number;
}

export interface Tool {
  /** As the model calls it: `[A-Za-z][A-Za-z0-9_-]{0,63}`. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
  /** `read` and `internal` calls may run again after a crash; `write` and `destructive` never do by themselves. */
  readonly effect: Effect;
  /**
   * Performs the call with validated input. A write that throws anything but NothingHappened, or that is stopped
   * part-way, is unknown: it is verified or settled by a person, never run again.
   */
  execute(input: never, context: ToolContext): ToolOutput | Promise<ToolOutput>;
  /** The outside service honours the invocation id for this long: an interrupted call is dispatched again with it. */
  readonly idempotent?: { readonly ttlMs: number };
  /** Looks at the postcondition of an interrupted call. Must not change anything. */
  verify?(receipt: Receipt, context: ToolContext): Promise<"done" | "absent" | "unknown">;
  /** `tell` only for effects inside the task's own workspace, which the model can inspect. Default `pause`. */
  readonly onUnknown?: "pause" | "tell";
  /**
   * Whether a call runs at once (the default), is decided by a person first, or never runs. As a function: pure, from the
   * input as it would run, which fits the schema.
   */
  readonly approval?: Verdict | ((input: never) => Verdict);
  /** For a batch: each thing that the call would do, as the person who decides is shown it. Pure. */
  items?(input: never): readonly string[];
  readonly outputSchema?: InputSchema;
  /** Default 120,000 for reads, none for writes. */
  readonly timeoutMs?: number;
  /** Results longer than this are cut for the model and kept whole as a task file. Default 50,000. */
  readonly maxOutputChars?: number;
  readonly deferred?: boolean;
}

/** A tool as it is written: `execute` takes what its schema puts out. */
export interface TypedTool<Schema extends InputSchema> extends Tool {
  readonly inputSchema: Schema;
  readonly approval?: Verdict | ((input: InputOf<Schema>) => Verdict);
  items?(input: InputOf<Schema>): readonly string[];
  execute(input: InputOf<Schema>, context: ToolContext): ToolOutput | Promise<ToolOutput>;
}

/** A call as hooks see it, before it is announced. */
export interface HookCall {
  readonly callId: string;
  readonly name: string;
  readonly effect: Effect;
  readonly input: unknown;
}

export interface TaskView {
  readonly taskId: string;
  /** The whole state; read only. */
  readonly state: TaskState;
  /** Adds a record of this plugin to the next append. */
  record(record: NewRecord): void;
}

export type HookVerdict =
  | { readonly verdict: "allow" }
  | { readonly verdict: "deny"; readonly reason: string }
  | {
      readonly verdict: "ask";
      /** Why, for the person who decides. */
      readonly reason?: string;
      /** A principal; default the task's owner. Of several that are named, the first. */
      readonly decides?: string;
      /** Of several, the shortest. */
      readonly expiresInMs?: number;
    }
  | { readonly verdict: "rewrite"; readonly input: unknown };

export interface Hooks {
  /**
   * Before a call is announced, and once more after it was approved. The first plugin that denies ends it; rewrites build
   * on one another; what one asks for, no other allows.
   */
  beforeTool?(call: HookCall, view: TaskView): HookVerdict | Promise<HookVerdict>;
  afterTool?(call: HookCall, result: CallResult, view: TaskView): void | Promise<void>;
  /** Before the first model call of a turn. A message recorded here joins the conversation. */
  turnStart?(view: TaskView): void | Promise<void>;
  /** After a Waiting was recorded, before the claim is given back. */
  waiting?(view: TaskView): void | Promise<void>;
}

export interface Plugin {
  /** `[a-z][a-z0-9_]*`, unique in an agent; `core` is the kernel's. */
  readonly name: string;
  readonly version: string;
  /** `import.meta.url` of the module that defines it: its sources, with what they import, become part of its pin. */
  readonly module?: string;
  /** JSON: what it was configured with. Part of its pin. */
  readonly args?: unknown;
  readonly tools?: readonly Tool[];
  readonly reducer?: Reducer;
  /** Per kind of record: the version written now, and the keys of `data` that stay when its content is redacted. */
  readonly records?: Readonly<Record<string, { readonly v: number; readonly skeleton?: readonly string[] }>>;
  /** Text for the system prompt, recorded once at first pickup. */
  readonly part?: string;
  /** Words ahead of a model call, recorded before it. Pure: from the state alone. */
  reminders?(state: TaskState): readonly NewRecord[];
  readonly hooks?: Hooks;
  /** What a fork of a task starts with, from the plugin's state in the source. Default: the same state. */
  continueState?(state: unknown): unknown;
  /** How many goals are not done, how many of those are blocked, and whether this leg moved any. */
  goals?(state: unknown): { readonly open: number; readonly blocked: number; readonly progress: boolean };
  /** A summary of the conversation through a seq, to stand in its place; null if it cannot be made smaller. */
  compact?(
    state: TaskState,
  ): Promise<{ readonly through: number; readonly summary: string; readonly kept: readonly number[] } | null>;
  /** What to record to begin another leg of the turn: unfinished goals as context. */
  nextLeg?(state: TaskState): NewRecord;
}

/** What a task runs as. Recorded by name; its settings at creation, its prompt and plugins at first pickup. */
export interface Agent {
  readonly name: string;
  /** The first block of the system prompt: one line that says who it is. */
  readonly identity: string;
  readonly system: string;
  readonly settings: Settings;
  readonly mode: Mode;
  readonly onInterrupt: "continue" | "pause";
  readonly plugins: readonly Plugin[];
  /** What is asked for or denied beside what tools and hooks say. Not recorded: what holds is what runs now. */
  readonly approvals?: ApprovalPolicy;
}

/** The outcome of checking a value against a tool's schema. `value` is what the schema made of it. */
export type Checked = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

/** A tool made ready: its definition by hash, its schemas compiled. */
export interface PreparedTool {
  readonly tool: Tool;
  readonly plugin: Plugin;
  readonly entry: ToolEntry;
  /** The text that `entry.definition` is the hash of. */
  readonly definition: string;
  checkInput(value: unknown): Checked | Promise<Checked>;
  checkOutput(value: unknown): Checked | Promise<Checked>;
}

/** An agent made ready to run (see prepare.ts): names checked, tools compiled, pins taken. */
export interface PreparedAgent {
  readonly agent: Agent;
  readonly tools: ReadonlyMap<string, PreparedTool>;
  readonly pins: readonly Pin[];
  readonly reducers: Reducers;
}
