import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCourse, anyEvent, follow } from "../testing/arbitraries.ts";
import {
  OWNER,
  TASK,
  call,
  compacted,
  core,
  created,
  facts,
  finished,
  item,
  recorded,
  replied,
  say,
  started,
  steer,
  taken,
  waiting,
} from "../testing/given.ts";
import { choicesOf } from "../testing/pure-run/choices.ts";
import { beginRun, settleDown } from "../testing/pure-run/runner.ts";
import { requestFaults } from "../testing/request-faults.ts";
import { decodeEvent, decodeItem, encodeEvent, encodeItem } from "./codec.ts";
import { decide } from "./decide.ts";
import { isEqualJson } from "./equal.ts";
import { eventTypes, type Event, type Recorded } from "./events.ts";
import { apply, createState, fold } from "./fold.ts";
import { itemContent, itemTypes, type Item } from "./items.ts";
import { GAP, text } from "./messages.ts";
import { recordKinds } from "./records.ts";
import { itemSkeleton, skeletonOf, withoutTaint } from "./redact.ts";

const reply = replied([
  { type: "reasoning", text: "CONTENT", provider: { signature: "CONTENT" } },
  text("CONTENT"),
  { ...call("look", { path: "CONTENT" }), providerId: "CONTENT", provider: "CONTENT" },
]);

/** Of every type that has content, an event in which all content says CONTENT, and its skeleton. */
const skeletons: readonly [Event, Event][] = [
  [
    reply,
    {
      ...reply,
      message: {
        parts: [
          { type: "reasoning", text: "" },
          { type: "text", text: "" },
          { type: "call", name: "look", input: {} },
        ],
      },
      redacted: true,
    } as Event,
  ],
  [started("c1_0", "look", { input: { path: "CONTENT" } }), started("c1_0", "look", { input: null, redacted: true })],
  [started("c1_0", "look", { input: "CONTENT" }), started("c1_0", "look", { input: "", redacted: true })],
  [started("c1_0", "look", { input: ["CONTENT"] }), started("c1_0", "look", { input: [], redacted: true })],
  [
    finished("c1_0", "CONTENT", { details: "CONTENT", resources: ["CONTENT"], sources: [{ id: "s" }] }),
    finished("c1_0", [], { details: "", resources: [], sources: [{ id: "s" }], redacted: true }),
  ],
  [compacted(3, "CONTENT", [2]), { ...compacted(3, "", [2]), redacted: true } as Event],
  [
    waiting("answer", {
      outcome: "paused",
      reason: "r",
      detail: { answer: "CONTENT", waits: [{ on: "answer", callId: "c" }] },
    }),
    waiting("answer", {
      outcome: "paused",
      reason: "r",
      detail: { waits: [{ on: "answer", callId: "c" }], answer: "" },
      redacted: true,
    }),
  ],
  [waiting("input"), waiting("input", { redacted: true })],
  [
    { type: "TaskEnded", outcome: "done", answer: "CONTENT", reason: "r" },
    { type: "TaskEnded", outcome: "done", answer: "", reason: "r", redacted: true },
  ],
  [
    recorded("fs", "read", { path: "p", digest: "CONTENT" }, { words: "CONTENT", skeleton: ["path"] }),
    { ...recorded("fs", "read", { path: "p" }, { skeleton: ["path"] }), message: [], redacted: true } as Event,
  ],
  [recorded("fs", "read", "CONTENT"), { ...recorded("fs", "read", {}), redacted: true } as Event],
  [recorded("fs", "read", null), { ...recorded("fs", "read", {}), redacted: true } as Event],
  [
    core("action_settled", { callId: "c", how: "attestation", outcome: "done", by: OWNER, verification: "CONTENT" }),
    {
      ...core("action_settled", { callId: "c", how: "attestation", outcome: "done", by: OWNER }),
      redacted: true,
    } as Event,
  ],
];

describe("the skeleton of an event", () => {
  test("keeps types, ids, names, seqs, statuses and sources, and no word of its content", () => {
    for (const [event, skeleton] of skeletons) expect(skeletonOf(event)).toEqual(skeleton);
  });

  test("is whole for the codec, and its own skeleton", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const skeleton = skeletonOf(event);
        expect(isEqualJson(decodeEvent(event.type, encodeEvent(skeleton)), skeleton)).toBe(true);
        expect(isEqualJson(skeletonOf(skeleton), skeleton)).toBe(true);
        expect(skeleton.redacted).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  test("keeps the objective: only forgetting a task removes it", () => {
    expect(skeletonOf(created({ objective: "do it" }))).toEqual({ ...created({ objective: "do it" }), redacted: true });
  });

  test("a plugin's record keeps nothing for bearing the name of a core record, and of what is no object nothing", () => {
    const timer = recorded("mine", "timer_set", { id: "t", dueAt: 5, words: "CONTENT" }, { skeleton: ["dueAt"] });
    expect(skeletonOf(timer)).toEqual({ ...timer, data: { dueAt: 5 }, redacted: true });
    expect(skeletonOf(recorded("mine", "said", { id: "t", words: "CONTENT" }))).toMatchObject({ data: {} });
    for (const data of ["CONTENT", 7, null])
      expect(skeletonOf(recorded("mine", "said", data))).toMatchObject({ data: {} });
  });

  test("a plugin's record keeps what the plugin declared, and a core record what its kind does", () => {
    for (const kind of recordKinds) {
      const record: Event = {
        type: "ExtensionRecorded",
        extension: "core",
        kind,
        v: 1,
        data: { callId: "c", by: "b" },
      };
      expect(skeletonOf(record)).toMatchObject({ extension: "core", kind, redacted: true });
    }
    expect(
      skeletonOf(recorded("x", "y", { a: 1, ["__proto__"]: 2 }, { skeleton: ["__proto__", "gone"] })),
    ).toMatchObject({
      skeleton: ["__proto__", "gone"],
    });
  });

  test("holds no string of the content, whatever the event", () => {
    // A marker that no field of the skeleton can hold by accident.
    const mark = (value: unknown, path: string): unknown => {
      if (typeof value === "string") return `MARK ${path}`;
      if (Array.isArray(value)) return value.map((each, index) => mark(each, `${path}/${String(index)}`));
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mark(each, `${path}/${key}`)]));
    };
    const contentOf = (event: Event): Record<string, unknown> => {
      if (event.type === "ToolStarted") return { input: mark(event.input, "input") };
      if (event.type === "ToolFinished") {
        const content = event.content.map((part) => (part.type === "text" ? text("MARK") : part));
        return { content, details: { deep: ["MARK"] }, resources: ["MARK"] };
      }
      if (event.type === "ModelReplied") {
        const marked = event.message.parts.map((part) =>
          part.type === "call" ? { ...part, input: { k: "MARK" }, providerId: "MARK" } : { ...part, text: "MARK" },
        );
        return { message: { parts: [...marked, text("MARK")] } };
      }
      if (event.type === "Compacted") return { summary: "MARK" };
      if (event.type === "Waiting") return { detail: { ...event.detail, answer: "MARK" } };
      if (event.type === "TaskEnded") return { answer: "MARK" };
      if (event.type === "ExtensionRecorded" && event.extension !== "core") {
        return { data: { kept: 1, gone: "MARK" }, message: [text("MARK")], skeleton: ["kept"] };
      }
      return {};
    };
    fc.assert(
      fc.property(anyEvent, (event) => {
        const marked = { ...event, ...contentOf(event) } as Event;
        expect(encodeEvent(skeletonOf(marked))).not.toContain("MARK");
      }),
      { numRuns: 500 },
    );
  });
});

describe("the skeleton of an item", () => {
  const bodies: Record<string, Record<string, unknown>> = {
    Say: { text: "CONTENT", files: [{ type: "file", name: "CONTENT", mediaType: "m", size: 1 }] },
    Steer: { text: "CONTENT" },
    Decide: { requestId: "q", inputHash: "h", showing: 1, decision: "deny", input: "CONTENT", reason: "CONTENT" },
    Answer: { question: "q", text: "CONTENT" },
    Signal: { name: "n", data: { deep: ["CONTENT"] } },
    ChildEnded: { childId: "c", callId: "i", outcome: "done", answer: "CONTENT", reason: "CONTENT" },
    Cancel: { reason: "CONTENT" },
    Resume: { text: "CONTENT" },
    Resolve: { callId: "c", outcome: "done", verification: "CONTENT" },
  };

  test("keeps who posted it, when, and what it is about; no word of it", () => {
    expect(Object.keys(bodies)).toEqual(Object.keys(itemContent));
    for (const [type, body] of Object.entries(bodies)) {
      const posted = item(type as Item["type"], body as never, { seq: 3, at: 4, by: "p", key: "k" });
      const skeleton = itemSkeleton(posted);
      expect(JSON.stringify(skeleton)).not.toContain("CONTENT");
      expect(skeleton).toMatchObject({ type, seq: 3, at: 4, by: "p", key: "k", redacted: true });
      expect(encodeEvent(skeletonOf(taken(posted)))).not.toContain("CONTENT");
      expect(itemSkeleton(skeleton)).toEqual(skeleton);
    }
  });

  test("can be read from the inbox, and shows a gap once it is taken", () => {
    const waitingItem = itemSkeleton({ type: "Say", text: "CONTENT" });
    expect(decodeItem(encodeItem(waitingItem))).toEqual({ type: "Say", text: "", redacted: true });
    const { type: _, ...body } = waitingItem;
    const state = fold(
      TASK,
      [
        { seq: 1, at: 0, event: created() },
        { seq: 2, at: 0, event: { ...taken(item("Say", body as never, { seq: 1 })), through: 1 } as Event },
      ],
      {},
    );
    expect(state.messages).toEqual([{ seq: 2, role: "user", content: [text(GAP)] }]);
  });

  test("of items without content only gets its mark", () => {
    for (const type of itemTypes.filter((each) => itemContent[each] === undefined)) {
      const posted = item(type, { any: "thing" } as never, { seq: 1 });
      expect(itemSkeleton(posted)).toEqual({ ...posted, redacted: true });
    }
  });
});

test("redacting what was redacted changes nothing in InputTaken", () => {
  const event = taken(say("a"), steer("b"));
  expect(skeletonOf(skeletonOf(event))).toEqual(skeletonOf(event));
});

const redactedLog = (log: readonly Recorded[], picks: readonly boolean[]): Recorded[] =>
  log.map((each, index) => (picks[index % picks.length] === true ? { ...each, event: skeletonOf(each.event) } : each));

describe("a redacted log", () => {
  const anyPicks = fc.array(fc.boolean(), { minLength: 1, maxLength: 31 });

  test("folds and decides like the whole one, whatever was redacted, and asks for nothing that a provider refuses", () => {
    fc.assert(
      fc.property(anyCourse, anyPicks, (course, picks) => {
        const { log, state: whole } = follow(course);
        const [first, ...rest] = redactedLog(log, picks) as [Recorded, ...Recorded[]];
        const state = createState(TASK, first);
        for (const each of rest) {
          if (each.event.type === "ModelCalled") expect(requestFaults(state)).toEqual([]);
          apply(state, each, {});
        }
        expect(state.turn?.outcome).toBe(whole.turn?.outcome);
        expect(state.waiting).toEqual(whole.waiting);
        expect(state.calls.map(({ id, phase }) => [id, phase])).toEqual(
          whole.calls.map(({ id, phase }) => [id, phase]),
        );
        expect(decide(state, facts()).do).toBe(decide(whole, facts()).do);
      }),
      { numRuns: 200 },
    );
  });

  test("cut and redacted anywhere still comes to rest, and runs nothing whose input is gone", () => {
    fc.assert(
      fc.property(anyCourse, anyPicks, fc.nat(), (course, picks, cut) => {
        const { log } = follow(course);
        const kept = redactedLog(log.slice(0, 1 + (cut % log.length)), picks);
        const run = beginRun({ choices: choicesOf([]), log: kept });
        if (run.state.ended !== undefined) return;
        settleDown(run, (state, _, step) => {
          const starts = step.do === "RunCalls" ? step.start : [];
          const again =
            step.do === "RecoverCalls"
              ? step.orders
                  .filter(({ order }) => order !== "unknown" && order !== "settle" && order !== "tell")
                  .map(({ callId }) => callId)
              : [];
          for (const id of [...starts, ...again]) {
            const asked = state.calls.find((each) => each.id === id);
            expect(asked?.redacted === true && asked.phase !== "unknown").toBe(false);
          }
        });
      }),
      { numRuns: 200 },
    );
  });
});

describe("what came of a call whose input was redacted meanwhile", () => {
  const events = [recorded("fs", "read", { path: "p" }), finished("c3_0", "CONTENT", { details: 1, resources: ["r"] })];
  const stateWith = (redacted: boolean) => {
    const asked = replied([call("look", { path: "CONTENT" })]);
    const log = [created(), { type: "ModelCalled" } as never, redacted ? skeletonOf(asked) : asked];
    return fold(
      TASK,
      log.map((event, index) => ({ seq: index + 1, at: 0, event })),
      {},
    );
  };

  test("is written as gaps", () => {
    expect(withoutTaint(stateWith(true), events)).toEqual([
      { ...recorded("fs", "read", {}), redacted: true },
      finished("c3_0", GAP),
    ]);
  });

  test("leaves the results of other calls, and what the kernel records", () => {
    const replied2 = replied([call("look", { path: "CONTENT" }), call("see", {})]);
    const log = [created(), { type: "ModelCalled" } as never, replied2];
    const state = fold(
      TASK,
      log.map((event, index) => ({ seq: index + 1, at: 0, event })),
      {},
    );
    for (const each of state.calls) if (each.id === "c3_0") each.redacted = true;
    const unknown = core("action_unknown", { callId: "c3_1", reason: "threw", message: "it broke" });
    const whole = finished("c3_1", "seen");
    expect(withoutTaint(state, [...events, whole, unknown])).toEqual([
      { ...recorded("fs", "read", {}), redacted: true },
      finished("c3_0", GAP),
      whole,
      unknown,
    ]);
    expect(withoutTaint(state, [whole, events[0] as Event])).toEqual([whole, events[0]]);
  });

  test("stays as it is where the input stands", () => {
    expect(withoutTaint(stateWith(false), events)).toEqual(events);
  });
});

test("every event type has been thought of", () => {
  const seen = new Set<string>(["TaskCreated", "InputTaken", "ModelCalled", ...skeletons.map(([event]) => event.type)]);
  expect(eventTypes.filter((type) => !seen.has(type))).toEqual([]);
});
