import { expect, test } from "vitest";
import { fold } from "../core/fold.ts";
import type { Event, Recorded } from "../core/events.ts";
import { skeletonOf } from "../core/redact.ts";
import { call, called, core, created, finished, item, logOf, replied, say, started, taken } from "../testing/given.ts";
import { answerText, answerTo, fateOf, openQuestions } from "./questions.ts";
import { planView } from "./show-plan.ts";

const detail = { question: "which?", choices: ["red", "blue"] };
/** Two questions, with the ids c4_0 and c4_1. */
const asked = logOf(
  created(),
  taken(say("hi")),
  called(),
  replied([call("ask"), call("ask")]),
  started("c4_0", "ask", { effect: "internal" }),
  core("call_parked", { callId: "c4_0", on: "answer", detail }),
  started("c4_1", "ask", { effect: "internal" }),
  core("call_parked", { callId: "c4_1", on: "answer", detail: { question: "how?" } }),
);

const then = (...events: readonly Event[]): Recorded[] => [
  ...asked,
  ...logOf(...events).map((recorded, index) => ({ ...recorded, seq: asked.length + 1 + index })),
];

const open = (log: readonly Recorded[]) => openQuestions(log, fold("task1", log, {}));

test("open questions have their words and choices, until something answers them", () => {
  expect(open(asked)).toEqual([
    { question: "c4_0", text: "which?", choices: ["red", "blue"], askedSeq: 6 },
    { question: "c4_1", text: "how?", choices: [], askedSeq: 8 },
  ]);
  const answered = then(taken(item("Answer", { question: "c4_1", text: "so" })));
  expect(open(answered).map(({ question }) => question)).toEqual(["c4_0"]);
});

test("a question whose words were redacted is still open", () => {
  const log = asked.map((each) => (each.seq === 6 ? { ...each, event: skeletonOf(each.event) } : each));
  expect(open(log)[0]).toEqual({ question: "c4_0", text: null, choices: [], askedSeq: 6 });
});

test("the first answer is the one that counts, and what came before the question is none", () => {
  const early = logOf(created(), taken(item("Answer", { question: "c4_0", text: "early" }, { key: "k0" })));
  expect(answerTo(early, "c4_0")).toBeNull();
  const log = then(
    taken(item("Answer", { question: "c4_0", text: "one" }, { by: "local:a", key: "k1" })),
    taken(item("Answer", { question: "c4_0", text: "two" }, { by: "local:b", key: "k2" })),
    finished("c4_0", "one"),
  );
  expect(answerTo(log, "c4_0")).toEqual({ by: "local:a", key: "k1" });
  expect(fateOf(log, "c4_0")).toBe('was answered by local:a: "one"');
});

test("a question that was closed without an answer is none that a late answer meets", () => {
  const log = then(
    finished("c4_0", "Stopped", { status: "error" }),
    taken(item("Answer", { question: "c4_0", text: "late" })),
  );
  expect(answerTo(log, "c4_0")).toBeNull();
  expect(fateOf(log, "c4_0")).toContain("is closed");
  expect(fateOf(log, "c9_9")).toBe("was not asked");
});

test("a plan is shown by its rows, in the order of ids, with gaps where words were redacted", () => {
  const record = (kind: string, data: object) =>
    ({ type: "ExtensionRecorded", extension: "plan", kind, v: 1, data }) as const;
  const log = logOf(
    created(),
    record("goal", { id: "g10", status: "open", text: "ten" }),
    record("goal", { id: "g2", status: "done", text: "two", reason: "seen" }),
    record("note", { id: "n1" }),
    record("plan", { version: 3, steps: [{ id: "s1", status: "open" }] }),
  );
  const rows = [
    { table: "goals", key: "g10", set: { status: "open", seq: 2 } },
    { table: "goals", key: "g2", set: { status: "done", seq: 3 } },
    { table: "notes", key: "n1", set: { seq: 4 } },
    { table: "plans", key: "plan", set: { version: 3, seq: 5 } },
  ] as const;
  expect(planView(log, rows)).toEqual({
    plan: { version: 3, seq: 5, steps: [{ id: "s1", status: "open", text: null }] },
    goals: [
      { id: "g2", status: "done", text: "two", reason: "seen", seq: 3 },
      { id: "g10", status: "open", text: "ten", reason: null, seq: 2 },
    ],
    notes: [{ id: "n1", text: null, seq: 4 }],
  });
  expect(planView(log, [])).toEqual({ plan: null, goals: [], notes: [] });
});

test.each([
  ["2", ["red", "blue"], "blue"],
  ["3", ["red", "blue"], "3"],
  ["2", ["1", "2", "3"], "2"],
  ["2", ["3", "1"], "1"],
  ["0", ["red"], "0"],
  ["green", ["red"], "green"],
])("%s to the choices %j means %s", (text, choices, meant) => {
  expect(answerText(text, choices)).toBe(meant);
});
