import { describe, expect, it } from "vitest";
import { text } from "../core/messages.ts";
import type { Hooks, Plugin } from "../plugins/plugin.ts";
import { call } from "../testing/given.ts";
import { at } from "../testing/fault-plans.ts";
import { createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";
import { tries } from "../testing/scripted-answers.ts";
import { ModelError } from "../model/model.ts";

const records = { noted: { v: 1 } };
const hooked = (hooks: Hooks, more: Partial<Plugin> = {}): Plugin => ({
  name: "hooked",
  version: "1",
  records,
  hooks,
  ...more,
});

const sending = (plugin: Plugin, more: Partial<HarnessOptions> = {}): Promise<Harness> =>
  runHarness({
    tools: [toolOf("send", "write")],
    script: [[call("send", { to: "a" })], "It is done."],
    plugins: [plugin],
    ...more,
  });

describe("a hook before a tool", () => {
  it("denies a call: its handler never runs, and the model is told why", async () => {
    const harness = await sending(hooked({ beforeTool: () => ({ verdict: "deny", reason: "Not on Sundays." }) }));
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolFinished c6_0 denied "Denied: Not on Sundays. It was not run."
        8 ModelCalled model=script request_hash=A
        9 ModelReplied "It is done." stop_reason=end_turn
        10 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("rewrites an input: what runs is what the log holds", async () => {
    const harness = await sending(
      hooked({ beforeTool: () => ({ verdict: "rewrite", input: { to: "b", cc: undefined } }) }),
    );
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {to: b}
        8 ToolFinished c6_0 "send is done"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran[0]?.input).toStrictEqual({ to: "b" });
  });

  it("rewrites what an earlier one has rewritten, and sees the effect", async () => {
    const seen: unknown[] = [];
    const marks = (name: string): Plugin => ({
      ...hooked({
        beforeTool: ({ input, effect }) => {
          seen.push([name, effect, input]);
          return { verdict: "rewrite", input: { ...(input as object), [name]: true } };
        },
      }),
      name,
    });
    const harness = await sending(marks("one"), { plugins: [marks("one"), marks("two")] });
    expect(seen).toEqual([
      ["one", "write", { to: "a" }],
      ["two", "write", { to: "a", one: true }],
    ]);
    expect(harness.ran[0]?.input).toEqual({ to: "a", one: true, two: true });
  });

  it("that throws fails the turn, never the worker; the call is not run", async () => {
    const harness = await sending(
      hooked({
        beforeTool: () => {
          throw new Error("no such rule");
        },
      }),
    );
    expect(await harness.log(6)).toBe(
      lines(`
        7 ExtensionRecorded core/turn_failed {reason: error, message: "no such rule"}
        8 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."
        9 Waiting on=resume outcome=failed reason=error
      `),
    );
    expect(harness.ran).toEqual([]);
    expect(harness.ends).toEqual(["parked"]);
  });

  it("records with the append that follows", async () => {
    const harness = await sending(
      hooked({
        beforeTool: (_, view) => {
          view.record({ kind: "noted", data: { allowed: true } });
          return { verdict: "allow" };
        },
      }),
    );
    expect(harness.appends[1]).toEqual(["ModelReplied", "ExtensionRecorded", "ToolStarted"]);
  });
});

describe("a hook after a tool", () => {
  it("records in the same append as the result", async () => {
    const harness = await sending(
      hooked({
        afterTool: ({ name }, { status }, view) => {
          view.record({ kind: "noted", data: { name, status } });
        },
      }),
    );
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 "send is done"
        9 ExtensionRecorded hooked/noted {name: send, status: ok}
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.appends[2]).toEqual(["ToolFinished", "ExtensionRecorded", "ModelCalled"]);
  });

  it("that throws fails the turn, and takes nothing of what happened with it", async () => {
    const harness = await sending(
      hooked({
        afterTool: () => {
          throw new Error("no room for notes");
        },
      }),
    );
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 "send is done"
        9 ExtensionRecorded core/turn_failed {reason: error, message: "no room for notes"}
        10 Waiting on=resume outcome=failed reason=error
      `),
    );
  });

  it("that throws does not cost the results of calls that run beside it", async () => {
    let failed = false;
    const slow = toolOf("slow", "read", { execute: async () => harness.sleep(500).then(() => "slowly") });
    const harness: Harness = await createHarness({
      tools: [toolOf("look", "read"), slow],
      script: [[call("slow"), call("look")], "It is done."],
      plugins: [
        hooked({
          afterTool: () => {
            if (failed) return;
            failed = true;
            throw new Error("no room for notes");
          },
        }),
      ],
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(8)).toBe(
      lines(`
        9 ToolFinished c6_1 "look is done"
        10 ToolFinished c6_0 "slowly"
        11 ExtensionRecorded core/turn_failed {reason: error, message: "no room for notes"}
        12 Waiting on=resume outcome=failed reason=error
      `),
    );
  });
});

describe("words ahead of a model call", () => {
  const reminds: Plugin = {
    name: "reminds",
    version: "1",
    records,
    reminders: (state) => [{ kind: "noted", data: { steps: state.turn?.steps }, message: [text("Mind the gap.")] }],
  };

  it("are recorded before it and join the conversation", async () => {
    const harness = await runHarness({ script: ["Hello."], plugins: [reminds] });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ExtensionRecorded reminds/noted {steps: 0} message="Mind the gap."
        6 ModelCalled model=script request_hash=A
        7 ModelReplied "Hello." stop_reason=end_turn
        8 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(harness.sent[0]?.request.messages.map(({ role }) => role)).toEqual(["user", "user"]);
  });

  it("are not said again when the call is made again, after a failure or a crash", async () => {
    const failing = [tries(new ModelError("overloaded", "busy"), "Hello.")];
    const failed = await runHarness({ script: failing, plugins: [reminds] });
    const crashed = await runHarness({
      script: ["Hello."],
      plugins: [reminds],
      plan: at("model.stream", "crash_after"),
    });
    for (const harness of [failed, crashed]) {
      expect((await harness.log()).match(/Mind the gap/g)).toHaveLength(1);
      expect(harness.sent[1]?.request).toEqual(harness.sent[0]?.request);
    }
  });

  it("at the start of a turn come once a turn, also when another process makes the first call", async () => {
    const starts = hooked({
      turnStart: (view) => {
        view.record({ kind: "noted", data: {}, message: [text("It is a fine day.")] });
      },
    });
    const harness = await runHarness({
      tools: [toolOf("look", "read")],
      script: [tries(new ModelError("overloaded", "busy"), [call("look")]), "One.", "Two."],
      plugins: [starts],
      plan: at("model.stream", "crash_after", 2),
    });
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    const says = (await harness.log()).split("\n").filter((line) => /a fine day|InputTaken/.test(line));
    expect(says.map((line) => line.replace(/^\d+ /, ""))).toEqual([
      'InputTaken items=[Say "do it"] through=1',
      'ExtensionRecorded hooked/noted {} message="It is a fine day."',
      'InputTaken items=[Say "again"] through=2',
      'ExtensionRecorded hooked/noted {} message="It is a fine day."',
    ]);
  });

  it("that nobody declared fail the turn", async () => {
    const harness = await runHarness({
      plugins: [{ ...reminds, records: {} }],
    });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ExtensionRecorded core/turn_failed {reason: error, message: "plugin reminds records noted, which it does not declare in records"}
        6 Waiting on=resume outcome=failed reason=error
      `),
    );
  });

  it("that throw fail the turn", async () => {
    const throws = (): never => {
      throw new Error("nothing to say");
    };
    const harness = await runHarness({ plugins: [{ ...reminds, reminders: throws }] });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ExtensionRecorded core/turn_failed {reason: error, message: "nothing to say"}
        6 Waiting on=resume outcome=failed reason=error
      `),
    );
  });
});

describe("a hook at a wait", () => {
  it("sees it recorded, and its records land before the claim is given back", async () => {
    const seen: unknown[] = [];
    const harness = await runHarness({
      script: ["Hello."],
      plugins: [
        hooked({
          waiting: (view) => {
            seen.push(view.state.waiting?.on);
            view.record({ kind: "noted", data: { waits: true } });
          },
        }),
      ],
    });
    expect(seen).toEqual(["input"]);
    expect(await harness.log(5)).toBe(
      lines(`
        6 ModelReplied "Hello." stop_reason=end_turn
        7 Waiting on=input outcome=completed detail={answer: Hello.}
        8 ExtensionRecorded hooked/noted {waits: true}
      `),
    );
    expect((await harness.row()).status).toBe("waiting");
  });

  it("that throws changes no outcome, and the operator is told", async () => {
    const harness = await runHarness({
      script: ["Hello."],
      plugins: [
        hooked({
          waiting: () => {
            throw new Error("no bell");
          },
        }),
      ],
    });
    expect(await harness.log(5)).toBe(
      lines(`
        6 ModelReplied "Hello." stop_reason=end_turn
        7 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(harness.ends).toEqual(["parked"]);
    expect(harness.system.notes.join()).toContain("no bell");
  });
});

describe("a plugin's state", () => {
  const counting = (reduce: NonNullable<Plugin["reducer"]>["reduce"]): Plugin => ({
    name: "counting",
    version: "1",
    records,
    reducer: { initial: () => ({ count: 0 }), reduce },
    tools: [
      toolOf("count", "internal", {
        execute: (_, { state, record }) => {
          record({ kind: "noted", data: null });
          return `${String((state as { count: number }).count)} so far`;
        },
      }),
    ],
  });

  it("is what its reducer makes of its records, also after a takeover", async () => {
    const adds = counting((state) => ({ count: (state as { count: number }).count + 1 }));
    const harness = await runHarness({
      plugins: [adds],
      script: [[call("count")], [call("count")], "It is done."],
      plan: at("model.stream", "crash_before", 2),
    });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 count {}
        8 ExtensionRecorded counting/noted null
        9 ToolFinished c6_0 "0 so far"
        10 ModelCalled model=script request_hash=A
        11 ModelCalled model=script request_hash=A attempt=2
        12 ModelReplied tool_use count {} stop_reason=tool_use
        13 ToolStarted c12_0 count {}
        14 ExtensionRecorded counting/noted null
        15 ToolFinished c12_0 "1 so far"
        16 ModelCalled model=script request_hash=B
        17 ModelReplied "It is done." stop_reason=end_turn
        18 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("whose reducer throws holds the task; what it threw at is not appended", async () => {
    const throws = counting(() => {
      throw new Error("cannot count");
    });
    const harness = await createHarness({ plugins: [throws], script: [[call("count")], "It is done."], checks: false });
    harness.start();
    await harness.until(() => harness.ends.length > 0);
    expect(harness.ends).toEqual(["held"]);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 count {}
      `),
    );
    expect((await harness.row()).held?.reason).toContain("cannot count");
  });

  it("holds the task also when a hook hides that its record did not fold", async () => {
    const throws = counting(() => {
      throw new Error("cannot count");
    });
    const hides: Hooks = {
      turnStart: (view) => {
        try {
          view.record({ kind: "noted", data: null });
        } catch {
          return;
        }
      },
    };
    const harness = await createHarness({ plugins: [{ ...throws, hooks: hides }], script: ["Hello."], checks: false });
    harness.start();
    await harness.until(() => harness.ends.length > 0);
    expect(harness.ends).toEqual(["held"]);
    expect(await harness.row()).toMatchObject({ lastSeq: 1, inboxSeq: 1, inboxTaken: 0 });
  });
});

describe("goals", () => {
  const goals = (give: NonNullable<Plugin["goals"]>, more: Partial<Plugin> = {}): Plugin => ({
    name: "goals",
    version: "1",
    records,
    goals: give,
    nextLeg: () => ({ kind: "noted", data: {}, message: [text("Two goals are open.")] }),
    ...more,
  });

  it("that are open and moved start another leg with the plugin's words", async () => {
    const plugin = goals((state) => ({ open: (state as { open: number }).open, blocked: 0, progress: true }), {
      reducer: { initial: () => ({ open: 1 }), reduce: () => ({ open: 0 }) },
    });
    const harness = await runHarness({ plugins: [plugin], script: ["One.", "Two."] });
    expect(await harness.log(5)).toBe(
      lines(`
        6 ModelReplied "One." stop_reason=end_turn
        7 ExtensionRecorded goals/noted {} message="Two goals are open."
        8 ModelCalled model=script request_hash=A
        9 ModelReplied "Two." stop_reason=end_turn
        10 Waiting on=input outcome=completed detail={answer: Two.}
      `),
    );
  });

  it("that cannot go on pause the turn", async () => {
    const blocked = await runHarness({ plugins: [goals(() => ({ open: 1, blocked: 1, progress: true }))] });
    const stuck = await runHarness({ plugins: [goals(() => ({ open: 1, blocked: 0, progress: false }))] });
    expect([(await blocked.row()).reason, (await stuck.row()).reason]).toEqual(["goals_blocked", "no_progress"]);
  });

  it("whose plugin throws fail the turn, never the worker", async () => {
    const plugin = goals(() => {
      throw new Error("no goals");
    });
    const harness = await runHarness({ plugins: [plugin], script: ["Hello."] });
    expect(await harness.log(5)).toBe(
      lines(`
        6 ModelReplied "Hello." stop_reason=end_turn
        7 ExtensionRecorded core/turn_failed {reason: error, message: "no goals"}
        8 Waiting on=resume outcome=failed reason=error
      `),
    );
    expect(harness.ends).toEqual(["parked"]);
  });

  it("without words for another leg fail the turn", async () => {
    const { nextLeg: _, ...silent } = goals(() => ({ open: 1, blocked: 0, progress: true }));
    const blank = { ...silent, nextLeg: () => ({ kind: "noted", data: {}, message: [text(" ")] }) };
    for (const plugin of [silent, blank]) {
      const harness = await runHarness({ plugins: [plugin], script: ["Hello."] });
      expect((await harness.row()).outcome).toBe("failed");
    }
  });
});
