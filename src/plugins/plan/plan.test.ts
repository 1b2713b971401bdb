import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isEqualJson } from "../../core/equal.ts";
import { GAP, textOf } from "../../core/messages.ts";
import { skeletonOf } from "../../core/redact.ts";
import type { PluginRecord } from "../../core/state.ts";
import { ModelError } from "../../model/model.ts";
import { call } from "../../testing/given.ts";
import { at } from "../../testing/fault-plans.ts";
import { TASK, runHarness, type Harness, type HarnessOptions } from "../../testing/harness.ts";
import { tries, type Script } from "../../testing/scripted-answers.ts";
import { pluginContract } from "../plugin.contract.ts";
import { plan } from "./plan.ts";
import { nothing, records, statuses, type Saved } from "./saved.ts";

pluginContract("plan", {
  create: plan,
  records: [
    { kind: "plan", v: 1, data: { version: 1, steps: [{ id: "s1", status: "open" }], texts: ["look"] } },
    { kind: "goal", v: 1, data: { id: "g1", status: "open", text: "know it" } },
    { kind: "note", v: 1, data: { id: "n1", text: "it is there" } },
    { kind: "shown", v: 1, data: { turn: 3, leg: 1, begins: true } },
    { kind: "goal", v: 1, data: { id: "g1", status: "done", text: "know it", reason: "seen" } },
    { kind: "note_deleted", v: 1, data: { id: "n1" } },
  ],
});

const reducer = plan().reducer ?? expect.fail("plan has a reducer");

const planning = (script: Script, more: Partial<HarnessOptions> = {}): HarnessOptions => ({
  plugins: [plan()],
  script,
  ...more,
});

const update = (expected_version: number, ...steps: readonly object[]) =>
  call("plan_update", { expected_version, steps });
const step = (text: string, status = "open", id?: string) => ({ text, status, ...(id === undefined ? {} : { id }) });
const goal = (text: string, status = "open") => call("goal_set", { text, status });

/** The texts of the results that the model got last. */
const results = (harness: Harness): string[] => {
  const last = harness.sent.at(-1)?.request.messages.findLast((message) => message.role === "tool");
  return last?.results.map(({ status, content }) => `${status}: ${textOf(content)}`) ?? [];
};

/** What the plugin put before the model in the newest request. */
const shown = (harness: Harness): string[] =>
  (harness.sent.at(-1)?.request.messages ?? []).flatMap((message) =>
    message.role === "user" && textOf(message.content).startsWith("[Saved by this task itself")
      ? [textOf(message.content).split("\n").slice(1).join("\n")]
      : [],
  );

const say = async (harness: Harness, words: string): Promise<void> => {
  await harness.post({ type: "Say", text: words });
  await harness.rest();
};

describe("a plan", () => {
  test("is saved whole, with an id for each step that stays over turns", async () => {
    const harness = await runHarness(
      planning([
        [update(0, step("read"), step("write"))],
        "Begun.",
        [update(1, step("read it", "done", "s1"), step("check"), step("write", "open", "s2"))],
        "Going on.",
      ]),
    );
    expect(results(harness)).toEqual(["ok: Saved as version 1: s1, s2."]);
    await say(harness, "go on");
    expect(results(harness)).toEqual(["ok: Saved as version 2: s1, s3, s2."]);
    expect(shown(harness).at(-1)).toBe("Plan, version 2:\n- s1 (done) read it\n- s3 (open) check\n- s2 (open) write");
  });

  test("is refused when it was made for a version that is no longer the newest, also in one reply", async () => {
    const harness = await runHarness(planning([[update(0, step("one")), update(0, step("two")), update(7)], "Done."]));
    expect(results(harness)).toEqual([
      "ok: Saved as version 1: s1.",
      "error: The plan is at version 1, not 0. Nothing was saved.\nPlan, version 1:\n- s1 (open) one",
      "error: The plan is at version 1, not 7. Nothing was saved.\nPlan, version 1:\n- s1 (open) one",
    ]);
    const rows = await harness.store.readRows({ taskId: TASK, table: "plans" });
    expect(rows).toMatchObject([{ key: "plan", set: { version: 1 } }]);
  });

  test("is refused with a step that it does not have, that stands twice, or that says nothing", async () => {
    const harness = await runHarness(
      planning([
        [update(0, step("one", "open", "s9")), update(0, step(" ")), update(0, step("one"))],
        [update(1, step("one", "open", "s1"), step("one", "open", "s1"))],
        "Done.",
      ]),
    );
    expect(results(harness)[0]).toContain("error: The step s1 stands twice.");
    expect((await harness.store.readRows({ taskId: TASK, table: "plans" }))[0]?.set).toMatchObject({ version: 1 });
  });

  test.each(["crash_before", "crash_after", "lose_answer"] as const)(
    "takes one version for one update, whatever append meets %s",
    async (fault) => {
      for (let nth = 2; nth <= 5; nth += 1) {
        const script: Script = [[update(0, step("one"))], [update(1, step("one", "done", "s1"))], "Done."];
        const harness = await runHarness(planning(script, { plan: at("store.append", fault, nth) }));
        expect((await harness.store.readRows({ taskId: TASK, table: "plans" }))[0]?.set).toMatchObject({ version: 2 });
        expect(await harness.row()).toMatchObject({ outcome: "completed" });
      }
    },
  );
});

describe("notes", () => {
  test("are added, changed and deleted; an id is given once", async () => {
    const harness = await runHarness(
      planning([
        [call("note_add", { text: "a" }), call("note_add", { text: "b" })],
        [call("note_edit", { id: "n1", text: "A" }), call("note_delete", { id: "n2" })],
        [call("note_add", { text: "c" }), call("note_edit", { id: "n2", text: "x" }), call("note_list", {})],
        "Done.",
      ]),
    );
    expect(results(harness)).toEqual([
      "ok: Saved as note n3.",
      "error: This task has no note n2; it has n1, n3. Nothing was changed.",
      "ok: There is no plan yet; its version is 0.\nNotes:\n- n1 A\n- n3 c",
    ]);
    const rows = await harness.store.readRows({ taskId: TASK, table: "notes" });
    expect(rows.map(({ key }) => key)).toEqual(["n1", "n3"]);
  });

  test("come before the model again in a later turn, once", async () => {
    const harness = await runHarness(
      planning([[call("note_add", { text: "the key is in the pot" })], "Noted.", [call("note_list", {})], "Yes."]),
    );
    await say(harness, "where is it?");
    expect(shown(harness)).toEqual(["Notes:\n- n1 the key is in the pot", "Notes:\n- n1 the key is in the pot"]);
    const events = await harness.events();
    expect(
      events.flatMap(({ event }) => (event.type === "ExtensionRecorded" && event.kind === "shown" ? event.data : [])),
    ).toEqual([
      { turn: 4, leg: 1, begins: false },
      { turn: 14, leg: 1, begins: true },
    ]);
    const [, system] = harness.sent.at(-1)?.request.system ?? [];
    expect(system).not.toContain("pot");
  });
});

describe("what is put before the model", () => {
  test("is all of it at the start of a leg, and then only what changes, so that what was sent stays as it was", async () => {
    const harness = await runHarness(
      planning([
        [update(0, step("read"))],
        "Begun.",
        [call("note_add", { text: "a" })],
        [update(1, step("read", "done", "s1"))],
        "Done.",
      ]),
    );
    await say(harness, "go on");
    expect(shown(harness)).toEqual([
      "Plan, version 1:\n- s1 (open) read",
      "Plan, version 1:\n- s1 (open) read",
      "Note n1 a",
      "Plan, version 2:\n- s1 (done) read",
    ]);
    const [first, ...later] = harness.sent.map(({ request }) => request.messages);
    for (const messages of later) expect(messages.slice(0, first?.length)).toEqual(first);
  });

  test("is shown anew when a compaction took it out of the conversation", async () => {
    const shortens = {
      name: "shortens",
      version: "1",
      compact: async () => ({ through: 14, summary: "short", kept: [] }),
    };
    const full = new ModelError("overflow", "too large");
    const harness = await runHarness(
      planning([[call("note_add", { text: "keep this" })], [call("note_list", {})], tries(full, "Done.")], {
        plugins: [plan(), shortens],
      }),
    );
    expect((await harness.events()).some(({ event }) => event.type === "Compacted")).toBe(true);
    expect(shown(harness)).toEqual(["Notes:\n- n1 keep this"]);
  });

  test("is nothing where nothing is saved", async () => {
    const harness = await runHarness(planning([[call("note_list", {})], "Done."]));
    expect(shown(harness)).toEqual([]);
    expect(await harness.log()).not.toContain("plan/");
  });
});

describe("goals", () => {
  test("that are left open make another leg of the same turn, until they are done", async () => {
    const harness = await runHarness(
      planning([
        [goal("both files are there")],
        "One is there.",
        [call("goal_update", { id: "g1", status: "in_progress" })],
        "Nearly.",
        [call("goal_update", { id: "g1", status: "done", reason: "seen" })],
        "Both are there.",
      ]),
    );
    const kinds = (await harness.events()).flatMap(({ event }) =>
      event.type === "ExtensionRecorded" && event.extension === "plan"
        ? `${event.kind} ${JSON.stringify(event.data)}`
        : [],
    );
    expect(kinds).toEqual([
      'goal {"id":"g1","status":"open","text":"both files are there"}',
      'shown {"turn":4,"leg":1,"begins":false}',
      'shown {"turn":4,"leg":2,"begins":true}',
      'goal {"id":"g1","status":"in_progress","text":"both files are there"}',
      'shown {"turn":4,"leg":2,"begins":false}',
      'shown {"turn":4,"leg":3,"begins":true}',
      'goal {"id":"g1","status":"done","text":"both files are there","reason":"seen"}',
      'shown {"turn":4,"leg":3,"begins":false}',
    ]);
    expect(shown(harness)[1]).toMatch(/^Your answer left goals that are not done.*\nGoals:\n- g1 \(open\) both/);
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
    expect(await harness.store.readRows({ taskId: TASK, table: "goals" })).toMatchObject([
      { key: "g1", set: { status: "done" } },
    ]);
  });

  test("pause the turn when a leg moves none of them, and again after a resume that changes nothing", async () => {
    const harness = await runHarness(planning([[goal("one")], "Not yet.", "Still not."]));
    expect(await harness.row()).toMatchObject({ waitingOn: "resume", outcome: "paused", reason: "no_progress" });
    expect(harness.sent).toHaveLength(3);
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ waitingOn: "resume", outcome: "paused", reason: "no_progress" });
    expect(harness.sent).toHaveLength(4);
  });

  test("pause the turn when only blocked ones are left, and a new turn may go on", async () => {
    const harness = await runHarness(
      planning([
        [goal("one"), goal("two")],
        [
          call("goal_update", { id: "g1", status: "done" }),
          call("goal_update", { id: "g2", status: "blocked", reason: "no key" }),
        ],
        "I need the key.",
        [call("goal_update", { id: "g2", status: "done" })],
        "Done.",
      ]),
    );
    expect(await harness.row()).toMatchObject({ waitingOn: "resume", outcome: "paused", reason: "goals_blocked" });
    await say(harness, "here is the key");
    expect(shown(harness)).toContain("Goals:\n- g2 (blocked) two: no key\n- done: 1 (note_list shows them)");
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
  });

  test("pause the turn at its limit of steps", async () => {
    const flip = (status: string) => [call("goal_update", { id: "g1", status })];
    const script: Script = [[goal("one")], "No.", flip("in_progress"), "No.", flip("open"), "No.", flip("in_progress")];
    const harness = await runHarness(planning(script, { settings: { maxSteps: 6 } }));
    expect(await harness.row()).toMatchObject({ outcome: "paused", reason: "max_steps" });
  });

  test("go on over a crash: the leg that was begun is begun once", async () => {
    for (const fault of ["crash_before", "crash_after", "lose_answer"] as const) {
      const script: Script = [[goal("one")], "No.", [call("goal_update", { id: "g1", status: "done" })], "Yes."];
      const harness = await runHarness(planning(script, { plan: at("model.stream", fault, 3) }));
      expect(shown(harness).filter((words) => words.startsWith("Your answer left"))).toHaveLength(1);
      expect(await harness.row()).toMatchObject({ outcome: "completed" });
    }
  });

  test("have no cap on their number", async () => {
    const many = Array.from({ length: 300 }, (_, index) => goal(`goal ${String(index)}`, "done"));
    const harness = await runHarness(planning([many, "Done."]));
    expect(await harness.store.readRows({ taskId: TASK, table: "goals" })).toHaveLength(300);
  });

  test("that are not there cannot be changed", async () => {
    const harness = await runHarness(planning([[call("goal_update", { id: "g1" }), goal(" ")], "Done."]));
    expect(results(harness)).toEqual([
      "error: This task has no goal g1; it has none. Nothing was changed.",
      "error: The goal has no text. Nothing was saved.",
    ]);
  });
});

test("words that were redacted leave a gap in what is saved, and its ids and statuses stay", async () => {
  const harness = await runHarness(planning([[update(0, step("the secret")), goal("the secret", "done")], "Begun."]));
  const seqs = (await harness.events())
    .filter(({ event }) => JSON.stringify(event).includes("the secret"))
    .map(({ seq }) => seq);
  await harness.store.redact({ taskId: TASK, seqs, secret: new Uint8Array(32).fill(7) });
  await say(harness, "go on");
  expect(JSON.stringify(harness.sent.at(-1))).not.toContain("the secret");
  expect(shown(harness).at(-1)).toBe(`Plan, version 1:\n- s1 (open) ${GAP}\nGoals:\n- done: 1 (note_list shows them)`);
});

describe("the fold of the plugin's records", () => {
  const id = fc.constantFrom("s1", "s2", "g1", "g2", "n1", "n2", "__proto__", "g99999999999999999999");
  const text = fc.string({ maxLength: 5 });
  const status = fc.constantFrom(...statuses);
  const good = fc.oneof(
    fc.record({
      kind: fc.constant("plan"),
      data: fc.record({
        version: fc.integer({ min: 0, max: 6 }),
        steps: fc.array(fc.record({ id, status }), { maxLength: 3 }),
        texts: fc.array(text, { maxLength: 3 }),
      }),
    }),
    fc.record({ kind: fc.constant("goal"), data: fc.record({ id, status, text }) }),
    fc.record({ kind: fc.constantFrom("note", "note_deleted"), data: fc.record({ id, text }) }),
    fc.record({
      kind: fc.constant("shown"),
      data: fc.record({ turn: fc.nat(9), leg: fc.nat(3), begins: fc.boolean() }),
    }),
  );
  const other = fc.record({ kind: fc.constantFrom(...Object.keys(records), "later"), data: fc.jsonValue() });
  const record = fc.record({
    what: fc.oneof({ weight: 5, arbitrary: good }, other),
    v: fc.integer({ min: 1, max: 3 }),
    core: fc.nat(9),
  });
  const log = fc.array(record, { maxLength: 30 }).map((all) =>
    all.map(({ what, v, core }, index): PluginRecord => {
      const place = { v, seq: index + 1, redacted: false };
      return core === 0
        ? { ...place, extension: "core", kind: "erased", data: { seqs: [index, index - 1], reason: "" } }
        : { ...place, extension: "plan", kind: what.kind, data: what.data };
    }),
  );
  const foldAll = (all: readonly PluginRecord[]): Saved[] => {
    const states: Saved[] = [nothing];
    for (const each of all) states.push(reducer.reduce(states.at(-1), each) as Saved);
    return states;
  };
  const skeleton = (each: PluginRecord): PluginRecord => {
    const { extension, kind, v, data } = each;
    const keys = [...((records as Record<string, { skeleton: readonly string[] }>)[kind]?.skeleton ?? [])];
    const event = skeletonOf({ type: "ExtensionRecorded", extension, kind, v, data, skeleton: keys });
    return { ...each, data: event.type === "ExtensionRecorded" ? event.data : null, redacted: true };
  };

  test("never throws, gives a state that JSON holds, and never lowers a version or gives an id twice", () => {
    fc.assert(
      fc.property(log, (all) => {
        const states = foldAll(all);
        states.forEach((state, index) => {
          expect(isEqualJson(JSON.parse(JSON.stringify(state)), state)).toBe(true);
          const before = states[index - 1] ?? nothing;
          expect(state.version - before.version === 0 || state.version - before.version === 1).toBe(true);
          for (const kind of ["s", "g", "n"] as const)
            expect(state.next[kind]).toBeGreaterThanOrEqual(before.next[kind]);
          for (const { id: known } of state.goals) {
            const number = Number(/^g(\d{1,15})$/.exec(known)?.[1] ?? 0);
            expect(number).toBeLessThan(state.next.g);
          }
        });
      }),
    );
  });

  test("keeps ids, statuses and versions of records whose words are gone", () => {
    fc.assert(
      fc.property(log, (all) => {
        const whole = foldAll(all).at(-1) ?? nothing;
        const gone = foldAll(all.map((each) => (each.extension === "core" ? each : skeleton(each)))).at(-1) ?? nothing;
        const bones = ({ version, steps, goals, notes, next, progress }: Saved) => ({
          version,
          steps: steps.map((each) => [each.id, each.status]),
          goals: goals.map((each) => [each.id, each.status]),
          notes: notes.map((each) => each.id),
          next,
          progress,
        });
        expect(bones(gone)).toEqual(bones(whole));
      }),
    );
  });
});
