// Proves that no byte of a log can change, go or come unseen: each change is made once and must be named by its seq.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeHasher } from "../store/node-hasher.ts";
import { eventTombstone } from "../store/tombstone.ts";
import { checkLog, type LogToCheck } from "./check-log.ts";
import { FIRST_CHAIN, redactionChain, sealEvents, toHex, type Envelope, type Redaction } from "./envelope.ts";
import type { Event } from "./events.ts";

const TASK = "task-1";
const START = 1_000;

const told = (text: string): Event => ({ type: "ExtensionRecorded", extension: "t", kind: "k", v: 1, data: { text } });
const summed = (summary: string): Event => ({ type: "Compacted", through: 1, summary, kept: [] });
const waits: Event = { type: "Waiting", on: "input", detail: { answer: "yes" } };

/** A log as a store gives it, with `redacted` seqs as a store redacts them, in that order. */
const logOf = (events: readonly Event[], redacted: readonly number[] = []): LogToCheck => {
  let salts = 0;
  const salt = (): Uint8Array => new Uint8Array(16).fill((salts += 1));
  const sealed = sealEvents(nodeHasher, { seq: 0, chain: FIRST_CHAIN }, events, salt);
  const entries = sealed.map((event): Envelope => ({ ...event, at: START + event.seq }));
  const redactions: Redaction[] = [];
  for (const seq of redacted) {
    const { body, digest } = eventTombstone(TASK, entries[seq - 1] as Envelope);
    entries[seq - 1] = { ...(entries[seq - 1] as Envelope), body, salt: null };
    const entry = { n: redactions.length + 1, seq, digest };
    const chain = redactionChain(nodeHasher, redactions.at(-1)?.chain ?? FIRST_CHAIN, entry);
    redactions.push({ ...entry, chain });
  }
  const head = toHex(entries.at(-1)?.chain ?? FIRST_CHAIN);
  const row = { lastSeq: entries.length, head, redactions: redactions.length };
  return { taskId: TASK, entries, redactions, row, hasher: nodeHasher };
};

const change = (log: LogToCheck, seq: number, made: Partial<Envelope>): LogToCheck => ({
  ...log,
  entries: log.entries.map((entry) => (entry.seq === seq ? { ...entry, ...made } : entry)),
});

const namedIn = (log: LogToCheck): (number | null)[] => checkLog(log).map((finding) => finding.seq);

const whole = logOf([told("a"), summed("b"), waits, told("c"), told("d")], [4, 2]);

const flipBytes = (bytes: Uint8Array, bit: number): Uint8Array => {
  const place = Math.floor(bit / 8) % bytes.length;
  return bytes.map((byte, index) => (index === place ? byte ^ (1 << (bit % 8)) : byte));
};
const flipText = (text: string, bit: number): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(flipBytes(new TextEncoder().encode(text), bit));
/** A number as a database keeps it: up to six bytes. */
const flipNumber = (value: number, bit: number): number => Number(BigInt(value) ^ (1n << BigInt(bit % 48)));

const anyEvent = fc.oneof(
  fc.string({ unit: "binary" }).map(told),
  fc.string({ unit: "grapheme" }).map(summed),
  fc.constant(waits),
);

/** A log of up to 12 events, some of them redacted, and one of its seqs. */
const anyLog = fc
  .tuple(fc.array(anyEvent, { minLength: 1, maxLength: 12 }), fc.nat(), fc.array(fc.nat(), { maxLength: 5 }))
  .map(([events, place, marks]) => {
    const within = (n: number): number => (n % events.length) + 1;
    return { log: logOf(events, [...new Set(marks.map(within))]), seq: within(place) };
  });

const flipEvent = {
  seq: (entry: Envelope, bit: number) => ({ seq: flipNumber(entry.seq, bit) }),
  type: (entry: Envelope, bit: number) => ({ type: flipText(entry.type, bit) }),
  body: (entry: Envelope, bit: number) => ({ body: flipText(entry.body, bit) }),
  salt: (entry: Envelope, bit: number) => ({ salt: flipBytes(entry.salt ?? new Uint8Array(16), bit) }),
  digest: (entry: Envelope, bit: number) => ({ digest: flipBytes(entry.digest, bit) }),
  chain: (entry: Envelope, bit: number) => ({ chain: flipBytes(entry.chain, bit) }),
};

const flipRedaction = {
  n: (entry: Redaction, bit: number) => ({ n: flipNumber(entry.n, bit) }),
  seq: (entry: Redaction, bit: number) => ({ seq: flipNumber(entry.seq, bit) }),
  digest: (entry: Redaction, bit: number) => ({ digest: flipBytes(entry.digest, bit) }),
  chain: (entry: Redaction, bit: number) => ({ chain: flipBytes(entry.chain, bit) }),
};

const anyBit = fc.nat({ max: 8 * 4_096 - 1 });

describe("a log that is whole", () => {
  it("has no findings, redacted or not", () => {
    fc.assert(
      fc.property(anyLog, ({ log }) => {
        expect(checkLog(log)).toEqual([]);
      }),
    );
  });

  it("has had the head of each of its events", () => {
    for (const { chain } of whole.entries) expect(checkLog({ ...whole, expect: toHex(chain) })).toEqual([]);
    expect(checkLog({ ...whole, expect: whole.row.head.toUpperCase() })).toEqual([]);
  });

  it("may be empty", () => {
    expect(checkLog(logOf([]))).toEqual([]);
  });
});

describe("a flipped bit", () => {
  it.each(Object.entries(flipEvent))("in the %s of any event is named", (_, flip) => {
    fc.assert(
      fc.property(anyLog, anyBit, ({ log, seq }, bit) => {
        const flipped = change(log, seq, flip(log.entries[seq - 1] as Envelope, bit));
        expect(namedIn(flipped)).toContain(seq);
        const sorted = flipped.entries.toSorted((a, b) => a.seq - b.seq);
        expect(namedIn({ ...flipped, entries: sorted })).toContain(seq);
      }),
    );
  });

  it.each(Object.entries(flipRedaction))("in the %s of any redaction is named by the event's seq", (_, flip) => {
    fc.assert(
      fc.property(anyLog, anyBit, ({ log, seq }, bit) => {
        fc.pre(log.redactions.some((redaction) => redaction.seq === seq));
        const redactions = log.redactions.map((one) => (one.seq === seq ? { ...one, ...flip(one, bit) } : one));
        expect(namedIn({ ...log, redactions })).toContain(seq);
      }),
    );
  });

  it("in the row's head is found", () => {
    const row = { ...whole.row, head: whole.row.head.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")) };
    expect(namedIn({ ...whole, row })).toEqual([null]);
  });

  it("in a chain is named once, not again by every event that follows", () => {
    const chain = flipBytes((whole.entries[0] as Envelope).chain, 3);
    expect(namedIn(change(whole, 1, { chain }))).toEqual([1]);
  });
});

describe("a log that was cut", () => {
  const cut = { ...whole, entries: whole.entries.slice(0, 3), redactions: whole.redactions.slice(1) };
  const head = toHex((whole.entries[2] as Envelope).chain);

  it("is found against its row, which names the first event that is gone", () => {
    expect(checkLog({ ...cut, row: { ...whole.row, redactions: 1 } })).toContainEqual(
      expect.objectContaining({ seq: 4, what: "the log lacks events 4 to 5" }),
    );
  });

  it("by its last event is found against its row", () => {
    expect(namedIn({ ...whole, entries: whole.entries.slice(0, -1) })).toContain(5);
  });

  it("is found against a known head when its row was cut with it", () => {
    const short = logOf([told("a"), summed("b"), waits]);
    expect(toHex((short.entries[2] as Envelope).chain)).toBe(head);
    expect(checkLog(short)).toEqual([]);
    expect(namedIn({ ...short, expect: whole.row.head })).toEqual([null]);
  });

  it("is found in the middle and at the beginning too", () => {
    const without = (...seqs: number[]) => whole.entries.filter(({ seq }) => !seqs.includes(seq));
    const gap = (what: string) => expect.objectContaining({ seq: 3, what }) as unknown;
    expect(checkLog({ ...whole, entries: without(3) })).toContainEqual(gap("the log lacks event 3"));
    expect(checkLog({ ...whole, entries: without(3, 4) })).toContainEqual(gap("the log lacks events 3 to 4"));
    expect(namedIn({ ...whole, entries: whole.entries.slice(1) })).toContain(1);
    expect(namedIn({ ...whole, entries: [] })).toContain(1);
  });

  it("is found when the row counts fewer events than there are", () => {
    expect(namedIn({ ...whole, row: { ...whole.row, lastSeq: 4 } })).toContain(5);
  });
});

describe("a log that was rewritten", () => {
  const [first, second, third] = whole.entries as [Envelope, Envelope, Envelope];

  it("shows two events that changed places", () => {
    const swapped = [first, third, second, ...whole.entries.slice(3)];
    const entries = swapped.map((entry) => ({ ...entry, at: START }));
    expect(namedIn({ ...whole, entries })).toContain(2);
    const renumbered = entries.map((entry, index) => ({ ...entry, seq: index + 1 }));
    expect(namedIn({ ...whole, entries: renumbered })).toContain(2);
  });

  it("shows an event that stands twice", () => {
    expect(checkLog({ ...whole, entries: [first, first, ...whole.entries.slice(1)] })).toContainEqual(
      expect.objectContaining({ seq: 1, what: "it stands after event 1" }),
    );
  });

  it("shows an event under whose salt another body was put, even with a digest that fits", () => {
    const other = logOf([told("a"), summed("b"), { ...waits, detail: { answer: "no" } }]).entries[2] as Envelope;
    expect(namedIn(change(whole, 3, { body: other.body, digest: other.digest }))).toEqual([3]);
    expect(namedIn(change(whole, 3, { body: other.body, digest: other.digest, chain: other.chain }))).toEqual([4]);
  });

  it("shows a time that goes back", () => {
    expect(namedIn(change(whole, 3, { at: START }))).toEqual([3]);
  });
});

describe("a tombstone", () => {
  const { body } = eventTombstone(TASK, whole.entries[2] as Envelope);

  it("that nobody recorded is found", () => {
    expect(namedIn(change(whole, 3, { body, salt: null }))).toEqual([3]);
    expect(namedIn({ ...whole, redactions: [], row: { ...whole.row, redactions: 0 } })).toEqual([2, 4]);
  });

  it("whose skeleton is not the recorded one is found", () => {
    expect(namedIn(change(whole, 2, { body: (whole.entries[1] as Envelope).body.replace('""', '"b"') }))).toEqual([2]);
  });

  it("that holds content again is found", () => {
    const before = logOf([told("a"), summed("b")]).entries[1] as Envelope;
    expect(namedIn(change(whole, 2, { body: before.body, salt: before.salt }))).toEqual([2]);
  });

  it("is missed when its entry is taken out of the list, even with the count", () => {
    const row = { ...whole.row, redactions: 1 };
    expect(namedIn({ ...whole, redactions: whole.redactions.slice(0, 1), row })).toEqual([2]);
    expect(namedIn({ ...whole, redactions: whole.redactions.slice(1), row })).toContain(4);
  });

  it("is numbered from 1, even in a list whose chain fits", () => {
    const [{ seq, digest }] = whole.redactions as [Redaction];
    const entry = { n: 2, seq, digest };
    const redactions = [{ ...entry, chain: redactionChain(nodeHasher, FIRST_CHAIN, entry) }];
    const log = logOf([told("a"), summed("b"), waits, told("c"), told("d")], [4]);
    expect(namedIn({ ...log, redactions })).toEqual([4]);
  });

  it("is counted by the row", () => {
    expect(namedIn({ ...whole, row: { ...whole.row, redactions: 3 } })).toEqual([null]);
  });

  it("stands in the list once, and for an event that there is", () => {
    const add = (seq: number): LogToCheck => {
      const entry = { n: 3, seq, digest: (whole.redactions[0] as Redaction).digest };
      const chain = redactionChain(nodeHasher, (whole.redactions[1] as Redaction).chain, entry);
      return { ...whole, redactions: [...whole.redactions, { ...entry, chain }], row: { ...whole.row, redactions: 3 } };
    };
    expect(namedIn(add(4))).toEqual([4]);
    expect(namedIn(add(9))).toEqual([9]);
  });
});
