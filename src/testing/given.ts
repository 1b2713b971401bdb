// Given a log, when events follow, then this is the state. Builders make events that perdure could have written.
import type { Facts } from "../core/decide.ts";
import type { Event, EventOf, Recorded, Source } from "../core/events.ts";
import { fold } from "../core/fold.ts";
import type { Item, ItemOf, ItemType, NewItem, Settings } from "../core/items.ts";
import { text, type CallPart, type Content, type Reply, type ReplyPart } from "../core/messages.ts";
import { RECORD_VERSION, type CoreRecord, type RecordKind, type ToolEntry } from "../core/records.ts";
import type { Reducers, TaskState } from "../core/state.ts";

/** The task that a given log is of, and who owns it unless `created` says otherwise. */
export const TASK = "task1";
export const OWNER = "local:root";

type Fields<K extends Event["type"]> = Partial<Omit<EventOf<K>, "type">>;

/** An event, or an event and the time of its commit (store's clock, ms). */
export type Step = Event | { readonly at: number; readonly event: Event };

/** Gives an event its time; the events after it follow a second apart. */
export const at = (ms: number, event: Event): Step => ({ at: ms, event });

export const created = (fields: Fields<"TaskCreated"> & { readonly settings?: Partial<Settings> } = {}): Event => {
  const { settings, ...rest } = fields;
  return {
    type: "TaskCreated",
    agent: "demo",
    config: { model: "m", ...settings },
    objective: "",
    owner: OWNER,
    origin: { frontEnd: "cli", place: "here", conversation: "one", private: true },
    root: TASK,
    onInterrupt: "continue",
    mode: "conversation",
    ...rest,
  };
};

/** An item of the given type. Its inbox seq is dealt by `taken` when it is not named. */
export const item = <K extends ItemType>(
  type: K,
  body: Omit<Extract<NewItem, { type: K }>, "type">,
  place: Partial<Pick<Item, "seq" | "at" | "by" | "key">> = {},
): ItemOf<K> => ({ seq: 0, at: 0, by: OWNER, key: "", ...place, type, ...body }) as unknown as ItemOf<K>;

export const say = (words: string, place: Parameters<typeof item>[2] = {}): Item => item("Say", { text: words }, place);
export const steer = (words: string, by = OWNER): Item => item("Steer", { text: words }, { by });

/** Items as they are taken together; what has no inbox seq gets the next. */
export const taken = (...items: readonly Item[]): Event => ({ type: "InputTaken", items, through: 0 });

export const called = (fields: Fields<"ModelCalled"> = {}): Event => ({
  type: "ModelCalled",
  model: "m",
  requestHash: "r",
  attempt: 1,
  purpose: "turn",
  prefixHash: "p",
  messages: 0,
  revision: 0,
  ...fields,
});

/** A call as a reply asks for it. */
export const call = (name: string, input: unknown = {}): CallPart => ({ type: "call", name, input });

const partsOf = (parts: string | readonly ReplyPart[]): Reply => ({
  parts: typeof parts === "string" ? [text(parts)] : [...parts],
});

export const replied = (parts: string | readonly ReplyPart[], fields: Fields<"ModelReplied"> = {}): Event => {
  const message = partsOf(parts);
  const calls = message.parts.some((part) => part.type === "call");
  return {
    type: "ModelReplied",
    message,
    stopReason: calls ? "tool_use" : "end_turn",
    usage: { tokens: "unknown", durationMs: 0 },
    ...fields,
  };
};

/** `definition` is what `toolsKnown` gives the tool of that name. */
export const started = (callId: string, name: string, fields: Fields<"ToolStarted"> = {}): Event => ({
  type: "ToolStarted",
  callId,
  name,
  input: {},
  effect: "read",
  definition: `definition of ${name}`,
  invocationId: `invocation of ${callId}`,
  attempt: 1,
  ...fields,
});

export const finished = (
  callId: string,
  content: string | Content = "done",
  fields: Fields<"ToolFinished"> = {},
): Event => ({
  type: "ToolFinished",
  callId,
  status: "ok",
  content: typeof content === "string" ? [text(content)] : content,
  ...fields,
});

export const compacted = (through: number, summary: string, kept: readonly number[] = []): Event => ({
  type: "Compacted",
  through,
  summary,
  kept: [...kept],
});

export const waiting = (on: EventOf<"Waiting">["on"], fields: Fields<"Waiting"> = {}): Event => ({
  type: "Waiting",
  on,
  detail: {},
  ...fields,
});

export const ended = (fields: Fields<"TaskEnded"> = {}): Event => ({ type: "TaskEnded", outcome: "done", ...fields });

/** A record of the kernel's own. */
export const core = <K extends RecordKind>(kind: K, data: CoreRecord<K>): Event => ({
  type: "ExtensionRecorded",
  extension: "core",
  kind,
  v: RECORD_VERSION,
  data,
});

/** A plugin's record; `words` join the conversation. */
export const recorded = (
  extension: string,
  kind: string,
  data: unknown = {},
  more: { readonly words?: string; readonly sources?: Source[]; readonly skeleton?: string[] } = {},
): Event => {
  const { words, ...rest } = more;
  const message = words === undefined ? {} : { message: [text(words)] };
  return { type: "ExtensionRecorded", extension, kind, v: 1, data, ...message, ...rest };
};

/** What `core/plugins` records of a tool: a read, unless `more` says otherwise. */
export const tool = (name: string, more: Partial<ToolEntry> = {}): ToolEntry => ({
  name,
  definition: `definition of ${name}`,
  plugin: "test",
  effect: "read",
  ...more,
});

export const toolsKnown = (...tools: readonly ToolEntry[]): Event => core("plugins", { pins: [], tools: [...tools] });

/** What the runner knows beside the log, when nothing is out of the ordinary. */
export const facts = (more: Partial<Facts> = {}): Facts => ({
  untaken: false,
  announced: new Set(),
  unverified: new Set(),
  stoppedMidTurn: null,
  now: 1_000_000,
  context: "fits",
  goals: null,
  ...more,
});

const numbered = (event: Event, from: number): Event => {
  if (event.type !== "InputTaken" || event.through !== 0) return event;
  let through = from;
  const items = event.items.map((each): Item => {
    through = each.seq === 0 ? through + 1 : each.seq;
    return { ...each, seq: through, key: each.key === "" ? `key ${String(through)}` : each.key };
  });
  return { ...event, items, through };
};

/** The events at their places: seqs from 1, a second apart, inbox items numbered as they are taken. */
export const logOf = (...steps: readonly Step[]): Recorded[] => {
  let now = 0;
  let through = 0;
  return steps.map((step, index) => {
    const timed = "event" in step ? step : { at: now + 1_000, event: step };
    const event = numbered(timed.event, through);
    if (event.type === "InputTaken") through = event.through;
    now = timed.at;
    return { seq: index + 1, at: now, event };
  });
};

export interface Given {
  /** Events that follow. */
  when(...steps: readonly Step[]): Given;
  /** Folds the whole log and hands over the state; to be called once per log and state. */
  then(check: (state: TaskState, log: readonly Recorded[]) => void): void;
}

/** A log, begun by `created()` where the first event is not a TaskCreated. `reducers` fold the plugins' records. */
export const givenWith =
  (reducers: Reducers) =>
  (...steps: readonly Step[]): Given => ({
    when: (...more) => givenWith(reducers)(...steps, ...more),
    then: (check) => {
      const first = steps[0];
      const event = first !== undefined && "event" in first ? first.event : first;
      const log = logOf(...(event?.type === "TaskCreated" ? steps : [created(), ...steps]));
      check(fold(TASK, log, reducers), log);
    },
  });

export const given = givenWith({});
