// What may befall a stored log: bits flipped, events gone, doubled, misplaced or cut off, and events of a newer version.
import type { Chance } from "../../src/testing/simulation/chance.ts";
import { sealAnew, type RawEvent } from "./raw-log.ts";

export interface Mutated {
  readonly events: readonly RawEvent[];
  /** What the row goes on saying of the log's end. */
  readonly lastSeq: number;
}

type Mutate = (events: readonly RawEvent[], chance: Chance) => Mutated;

const decode = (body: Uint8Array): string => Buffer.from(body).toString("utf8");

export const flipBit = (bytes: Uint8Array, chance: Chance): Uint8Array => {
  const flipped = chance.below(bytes.length);
  const bit = 1 << chance.below(8);
  return Uint8Array.from(bytes, (byte, at) => (at === flipped ? byte ^ bit : byte));
};

/** Changes one event of those that are not redacted: a tombstone's bytes lie elsewhere. */
const changeOne =
  (change: (event: RawEvent, chance: Chance) => Partial<RawEvent>): Mutate =>
  (events, chance) => {
    const whole = events.filter(({ salt }) => salt !== null);
    const chosen = whole[chance.below(whole.length)];
    return {
      events: events.map((event) => (event === chosen ? { ...event, ...change(event, chance) } : event)),
      lastSeq: events.length,
    };
  };

/** Dense seqs, and times that never go back. */
const renumbered = (events: readonly RawEvent[]): Mutated => {
  let at = 0;
  const dense = events.map((event, index) => {
    at = Math.max(at, event.at);
    return { ...event, seq: index + 1, at };
  });
  return { events: dense, lastSeq: events.length };
};

const without = (events: readonly RawEvent[], index: number): RawEvent[] => events.filter((_, at) => at !== index);

const swapped = (events: readonly RawEvent[], chance: Chance): RawEvent[] => {
  const [a, b] = [chance.below(events.length), chance.below(events.length)];
  return events.map((event, index) => (index === a ? events[b] : index === b ? events[a] : event) ?? event);
};

const doubled = (events: readonly RawEvent[], chance: Chance): RawEvent[] => {
  const index = chance.below(events.length);
  return [...events.slice(0, index + 1), ...events.slice(index)];
};

/** Damage: nothing is sealed again. */
const damages: Readonly<Record<string, Mutate>> = {
  "a bit of a body is flipped": changeOne(({ body }, chance) => ({ body: flipBit(body, chance) })),
  "a body is cut": changeOne(({ body }, chance) => ({ body: body.slice(0, chance.below(body.length)) })),
  "a body is another's": (events, chance) => {
    const other = events[chance.below(events.length)];
    return changeOne(({ body }) => ({ body: other?.body ?? body }))(events, chance);
  },
  "a letter of a body is another": changeOne(({ body }, chance) => {
    const text = decode(body);
    const at = chance.below(text.length);
    return {
      body: Buffer.from(`${text.slice(0, at)}${String.fromCharCode(32 + chance.below(95))}${text.slice(at + 1)}`),
    };
  }),
  "a bit of a salt is flipped": changeOne(({ salt }, chance) => ({
    salt: salt === null ? null : flipBit(salt, chance),
  })),
  "a bit of a chain is flipped": changeOne(({ chain }, chance) => ({ chain: flipBit(chain, chance) })),
  "a type is another": changeOne((_, chance) => ({
    type: ["Waiting", "TaskEnded", "InputTaken", "ToolFinished", "Unheard"][chance.below(5)] ?? "",
  })),
  "an event is gone": (events, chance) => ({
    events: without(events, chance.below(events.length)),
    lastSeq: events.length,
  }),
  "an event is gone and the rest moved up": (events, chance) =>
    renumbered(without(events, chance.below(events.length))),
  "an event is there twice": (events, chance) => renumbered(doubled(events, chance)),
  "an event stands in the next one's place too": (events, chance) => {
    const index = chance.below(events.length - 1);
    return renumbered(events.map((event, at) => (at === index + 1 ? events[index] : event) ?? event));
  },
  "two events changed places": (events, chance) => renumbered(swapped(events, chance)),
  "the end is cut off": (events, chance) => ({
    events: events.slice(0, 1 + chance.below(events.length - 1)),
    lastSeq: events.length,
  }),
};

const withField = ({ body }: RawEvent, change: (fields: Record<string, unknown>) => void): Partial<RawEvent> => {
  const fields = JSON.parse(decode(body)) as Record<string, unknown>;
  change(fields);
  return { body: Buffer.from(JSON.stringify(fields)) };
};

const another = (event: RawEvent, type: string, fields: object): RawEvent => ({
  ...event,
  type,
  body: Buffer.from(JSON.stringify(fields)),
  salt: new Uint8Array(16),
});

const added =
  (type: string, fields: object): Mutate =>
  (events, chance) => {
    const index = 1 + chance.below(events.length);
    const before = events[index - 1];
    if (before === undefined) throw new Error("the log is empty");
    return renumbered([...events.slice(0, index), another(before, type, fields), ...events.slice(index)]);
  };

/** What another version of perdure, or a faulty one, would have written: sealed as it stands. */
const writings: Readonly<Record<string, Mutate>> = {
  "an event of an unknown type": added("TaskPostponed", { until: 7 }),
  "a core record of an unknown kind": added("ExtensionRecorded", {
    extension: "core",
    kind: "postponed",
    v: 1,
    data: {},
  }),
  "a core record of a newer version": added("ExtensionRecorded", {
    extension: "core",
    kind: "timer_cancelled",
    v: 2,
    data: { id: "t" },
  }),
  "an unknown field": changeOne((event) =>
    withField(event, (fields) => {
      fields["until"] = 7;
    }),
  ),
  "an unknown item": added("InputTaken", {
    items: [{ seq: 99, at: 1, by: "person:ada", key: "new", type: "Wave" }],
    through: 99,
  }),
  "a field of another type": changeOne((event, chance) =>
    withField(event, (fields) => {
      const keys = Object.keys(fields);
      fields[keys[chance.below(keys.length)] ?? ""] = [[]];
    }),
  ),
  "a log that lacks an event": (events, chance) => renumbered(without(events, chance.below(events.length))),
  "a log that holds an event twice": (events, chance) => renumbered(doubled(events, chance)),
  "a log in another order": (events, chance) => renumbered(swapped(events, chance)),
};

const sealed =
  (mutate: Mutate): Mutate =>
  (events, chance) => {
    const mutated = mutate(events, chance);
    return { ...mutated, events: sealAnew(mutated.events) };
  };

/** By what it is called in a report. */
export const mutations: readonly (readonly [name: string, mutate: Mutate])[] = [
  ...Object.entries(damages),
  ...Object.entries(writings).map(([name, mutate]) => [`written: ${name}`, sealed(mutate)] as const),
];
