import { describe, expect, it } from "vitest";
import type { Access, Question } from "../access/access.ts";
import { NothingHappened, type Tool } from "../plugins/plugin.ts";
import type { NewItem } from "../core/items.ts";
import { call } from "../testing/given.ts";
import { at, before, both } from "../testing/fault-plans.ts";
import { createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";

const isAborted = (error: unknown): string => `stopped: ${String(error instanceof Error)}`;

describe("between the announcement of a write and its dispatch", () => {
  /** The item comes right before the append of the ToolStarted commits: its receipt tells of it. */
  const meanwhile = async (item: NewItem, more: Partial<HarnessOptions> = {}): Promise<Harness> => {
    const harness: Harness = await createHarness({
      tools: [toolOf("send", "write")],
      script: [[call("send")], "It is done."],
      plan: before("store.append", 2, () => harness.post(item)),
      ...more,
    });
    harness.start();
    await harness.rest();
    return harness;
  };

  it("an interrupt calls it off: skipped, and its handler never runs", async () => {
    const harness = await meanwhile({ type: "Interrupt" });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 InputTaken items=[Interrupt] through=2
        9 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."
        10 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("a cancel calls it off", async () => {
    const harness = await meanwhile({ type: "Cancel" });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 InputTaken items=[Cancel] through=2
        9 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."
        10 Waiting on=input outcome=cancelled reason=cancelled
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("a correction calls it off, and the model is asked again with the correction", async () => {
    const harness = await meanwhile({ type: "Steer", text: "not to him" });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 InputTaken items=[Steer "not to him"] through=2
        9 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("a message does not call it off: it is dispatched as announced, without a second announcement", async () => {
    const harness = await meanwhile({ type: "Say", text: "and hurry" });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 InputTaken items=[Say "and hurry"] through=2
        9 ToolFinished c6_0 "send is done"
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("calls of the same reply that come after it are skipped with it", async () => {
    const harness = await meanwhile(
      { type: "Steer", text: "not to him" },
      { script: [[call("send"), call("send")], "It is done."] },
    );
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 InputTaken items=[Steer "not to him"] through=2
        9 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."
        10 ToolFinished c6_1 skipped "Not run: it was called off before it started. Nothing happened."
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "It is done." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("reads that were announced and called off are skipped too", async () => {
    const harness = await meanwhile(
      { type: "Interrupt" },
      { tools: [toolOf("look", "read")], script: [[call("look"), call("look")], "It is done."] },
    );
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolStarted c6_1 look {}
        9 InputTaken items=[Interrupt] through=2
        10 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."
        11 ToolFinished c6_1 skipped "Not run: it was called off before it started. Nothing happened."
        12 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("a read that ran before is not skipped but interrupted", async () => {
    const harness: Harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")], "It is done."],
      plan: both(
        at("tool.look", "crash_after"),
        before("store.append", 3, () => harness.post({ type: "Interrupt" })),
      ),
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolStarted c6_0 look {} attempt=2
        9 InputTaken items=[Interrupt] through=2
        10 ToolFinished c6_0 error "Stopped before it gave a result. It changes nothing outside."
        11 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
  });
});

describe("an owner who may not act in the place any more", () => {
  it.each([
    ["is told so", () => Promise.resolve(false)],
    ["cannot be asked about", () => Promise.reject(new Error("the directory is down"))],
  ] as const)("%s: an announced write is denied and never runs, what changes nothing does", async (_, answer) => {
    const asked: Question[] = [];
    const access: Access = { may: (question) => (asked.push(question), answer()) };
    const harness = await runHarness({
      tools: [toolOf("look", "read"), toolOf("send", "write")],
      script: [[call("look"), call("send")], "It is done."],
      ports: { access },
    });
    expect(asked).toEqual([{ principal: "person:ada", place: "here", to: "act" }]);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolFinished c6_0 "look is done"
        9 ToolStarted c6_1 send {}
        10 ToolFinished c6_1 denied "Denied: person:ada may not act in here any more. It was not run."
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "It is done." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran.map(({ name }) => name)).toEqual(["look"]);
  });

  it("keeps what changes nothing from no second run", async () => {
    const harness = await runHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")], "It is done."],
      plan: at("tool.look", "crash_after"),
      ports: { access: { may: () => Promise.resolve(false) } },
    });
    expect(harness.ran).toHaveLength(2);
    expect((await harness.row()).outcome).toBe("completed");
  });

  it("has no second dispatch of an idempotent write: it is unknown", async () => {
    let dispatches = 0;
    const access: Access = { may: () => Promise.resolve(dispatches === 0) };
    const pay = toolOf("pay", "write", {
      idempotent: { ttlMs: 60_000 },
      execute: () => {
        dispatches += 1;
        return "paid";
      },
    });
    const harness = await runHarness({
      tools: [pay],
      script: [[call("pay")], "It is done."],
      plan: at("tool.pay", "crash_after"),
      ports: { access },
    });
    expect(dispatches).toBe(1);
    expect((await harness.log()).match(/ToolStarted/g)).toHaveLength(1);
    expect((await harness.row()).waitingOn).toBe("resolution");
  });
});

describe("calls of one reply", () => {
  it("run side by side when they read; each result commits as it comes, results stand in call order", async () => {
    const slow = (name: string, ms: number): Tool =>
      toolOf(name, "read", { execute: async () => harness.sleep(ms).then(() => name) });
    const harness: Harness = await createHarness({
      tools: [slow("slow", 300), slow("slower", 600), slow("fast", 100)],
      script: [[call("slow"), call("slower"), call("fast")], "It is done."],
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 slow {}
        8 ToolStarted c6_1 slower {}
        9 ToolStarted c6_2 fast {}
        10 ToolFinished c6_2 "fast"
        11 ToolFinished c6_0 "slow"
        12 ToolFinished c6_1 "slower"
        13 ModelCalled model=script request_hash=A
        14 ModelReplied "It is done." stop_reason=end_turn
        15 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.appends.slice(1, 5)).toEqual([
      ["ModelReplied", "ToolStarted", "ToolStarted", "ToolStarted"],
      ["ToolFinished"],
      ["ToolFinished"],
      ["ToolFinished", "ModelCalled"],
    ]);
    const results = harness.sent[1]?.request.messages.at(-1);
    expect(results?.role === "tool" && results.results.map(({ callId }) => callId)).toEqual(["c6_0", "c6_1", "c6_2"]);
  });

  it("run one at a time, in call order, when they write; reads before and after side by side", async () => {
    const harness = await runHarness({
      tools: [toolOf("look", "read"), toolOf("send", "write")],
      script: [[call("look"), call("look"), call("send"), call("send"), call("look")], "It is done."],
    });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolStarted c6_1 look {}
        9 ToolFinished c6_0 "look is done"
        10 ToolFinished c6_1 "look is done"
        11 ToolStarted c6_2 send {}
        12 ToolFinished c6_2 "send is done"
        13 ToolStarted c6_3 send {}
        14 ToolFinished c6_3 "send is done"
        15 ToolStarted c6_4 look {}
        16 ToolFinished c6_4 "look is done"
        17 ModelCalled model=script request_hash=A
        18 ModelReplied "It is done." stop_reason=end_turn
        19 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("of a tool that nobody knows, or with an input that does not fit, are errors and announce nothing", async () => {
    const inputSchema = { type: "object", properties: { to: { type: "string" } }, required: ["to"] };
    const harness = await runHarness({
      tools: [toolOf("send", "write", { inputSchema })],
      script: [[call("send", { to: 1 }), call("fly"), call("send", { to: "a" })], "It is done."],
    });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolFinished c6_1 error "There is no tool named fly. It was not run."
        8 ToolFinished c6_0 error "The input does not fit the tool's schema: to must be string"
        9 ToolStarted c6_2 send {to: a}
        10 ToolFinished c6_2 "send is done"
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "It is done." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("commit twice a cycle in a steady loop", async () => {
    const look = toolOf("look", "read", {
      execute: (_, context) => {
        context.record({ kind: "noted", data: {} });
        return "looked";
      },
    });
    const harness = await runHarness({ tools: [look], script: [[call("look")], [call("look")], [call("look")]] });
    const cycle = [
      ["ModelReplied", "ToolStarted"],
      ["ExtensionRecorded", "ToolFinished", "ModelCalled"],
    ];
    expect(harness.appends).toEqual([
      ["ExtensionRecorded", "ExtensionRecorded", "InputTaken", "ModelCalled"],
      ...cycle,
      ...cycle,
      ...cycle,
      ["ModelReplied", "Waiting"],
    ]);
  });
});

describe("a tool that runs when a person stops the turn", () => {
  /** Stops the turn while the tool runs. */
  const stopped = async (tool: Tool, item: NewItem, more: Partial<HarnessOptions> = {}): Promise<Harness> => {
    const harness = await createHarness({ tools: [tool], script: [[call(tool.name)], "It is done."], ...more });
    current = harness;
    harness.start();
    await harness.until(() => harness.ran.length > 0);
    await harness.pass(500);
    postedAt = harness.now;
    await harness.post(item);
    await harness.rest();
    return harness;
  };
  let current: Harness | undefined;
  let postedAt = 0;
  const waits: Tool["execute"] = async (_, { signal }) => {
    await current?.sleep(3_600_000, signal);
    return "never";
  };

  it("is told by its signal at once; a read gives an error", async () => {
    let toldAt = 0;
    const execute: Tool["execute"] = async (_, { signal }) => {
      signal.addEventListener("abort", () => {
        toldAt = current?.now ?? 0;
      });
      return waits(undefined as never, { signal } as never);
    };
    const harness = await stopped(toolOf("look", "read", { execute }), { type: "Interrupt" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 error "interrupted: interrupted"
        9 InputTaken items=[Interrupt] through=2
        10 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
    expect(toldAt - postedAt).toBeLessThan(100);
  });

  it("is told at the next renewal when no hint of the interrupt came", async () => {
    const execute: Tool["execute"] = async (_, { signal }) => {
      await current?.sleep(3_600_000, signal).catch(() => {
        toldAt = current?.now ?? 0;
      });
      return "never";
    };
    let toldAt = 0;
    const look = toolOf("look", "read", { execute });
    const harness = await createHarness({ tools: [look], script: [[call("look")]], hints: false });
    current = harness;
    harness.start();
    await harness.until(() => harness.ran.length > 0);
    postedAt = harness.now;
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    expect(toldAt - postedAt).toBeLessThanOrEqual(5_000 / 3 + 1);
  });

  it("is unknown when it writes", async () => {
    const harness = await stopped(toolOf("send", "write", { execute: waits }), { type: "Interrupt" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Interrupt] through=2
        9 ExtensionRecorded core/action_unknown {callId: c6_0, reason: interrupted, message: interrupted}
        10 Waiting on=resolution outcome=paused reason=interrupted detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  it("ends cancelled once its write is settled", async () => {
    const harness = await stopped(toolOf("send", "write", { execute: waits }), { type: "Cancel" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Cancel] through=2
        9 ExtensionRecorded core/action_unknown {callId: c6_0, reason: interrupted, message: interrupted}
        10 Waiting on=resolution detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    await harness.post({ type: "Resolve", callId: "c6_0", outcome: "absent", verification: "not there" });
    await harness.rest();
    expect(await harness.log(10)).toBe(
      lines(`
        11 InputTaken items=[Resolve {callId: c6_0, outcome: absent, verification: "not there"}] through=3
        12 ExtensionRecorded core/action_settled {callId: c6_0, how: attestation, outcome: absent, by: person:ada, verification: "not there"}
        13 ToolFinished c6_0 error "Its outcome was unknown. person:ada attests that it did not take effect: not there" settled_by=attestation
        14 Waiting on=input outcome=cancelled reason=cancelled
      `),
    );
  });

  it("keeps its result when it finishes all the same", async () => {
    const execute: Tool["execute"] = async (_, { signal }) => {
      await current?.sleep(3_600_000, signal).catch(isAborted);
      return "done just in time";
    };
    const harness = await stopped(toolOf("send", "write", { execute }), { type: "Cancel" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 "done just in time"
        9 InputTaken items=[Cancel] through=2
        10 Waiting on=input outcome=cancelled reason=cancelled
      `),
    );
  });

  it("may say that nothing happened", async () => {
    const execute: Tool["execute"] = async (_, { signal }) => {
      await current?.sleep(3_600_000, signal).catch(isAborted);
      throw new NothingHappened("stopped before it was sent");
    };
    const harness = await stopped(toolOf("send", "write", { execute }), { type: "Interrupt" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 error "stopped before it was sent"
        9 InputTaken items=[Interrupt] through=2
        10 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
  });

  it("is given up when it ignores its signal", async () => {
    const execute = (): Promise<string> => new Promise(() => undefined);
    const harness = await stopped(toolOf("look", "read", { execute }), { type: "Interrupt" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 error "interrupted: given up 5000 ms after it was told to stop"
        9 InputTaken items=[Interrupt] through=2
        10 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
  });

  it("is not stopped by a message or a correction, which wait for it", async () => {
    const execute: Tool["execute"] = async () => {
      await current?.sleep(5_000);
      return "looked";
    };
    const harness = await stopped(toolOf("look", "read", { execute }), { type: "Steer", text: "look elsewhere" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 "looked"
        9 InputTaken items=[Steer "look elsewhere"] through=2
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });
});

describe("a read's time limit", () => {
  const slow = (more: Partial<Tool>): Promise<Harness> =>
    runHarness({
      tools: [toolOf("look", "read", { execute: () => new Promise(() => undefined), ...more })],
      script: [[call("look")], "It is done."],
    });

  it("is its tool's, or two minutes", async () => {
    for (const [more, limitMs] of [
      [{ timeoutMs: 1_000 }, 1_000],
      [{}, 120_000],
    ] as const) {
      const harness = await slow(more);
      expect(await harness.log(7)).toContain(`error "timed_out: given up 5000 ms after it was told to stop"`);
      expect((await harness.timeOf("ToolFinished")) - (await harness.timeOf("ToolStarted"))).toBe(limitMs + 5_000);
    }
  });

  it("is unset for a write", async () => {
    const harness: Harness = await createHarness({
      tools: [toolOf("send", "write", { execute: async () => harness.sleep(3_600_000).then(() => "sent") })],
      script: [[call("send")], "It is done."],
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 "sent"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });
});

describe("a result", () => {
  it("is an error when a read gives what it did not declare, or what is not JSON", async () => {
    const executes: [() => unknown, Partial<Tool>][] = [
      [() => ({ content: 1 }), {}],
      [() => undefined, {}],
      [() => "looked", { outputSchema: { type: "object" } }],
    ];
    for (const [execute, more] of executes) {
      const tool = toolOf("look", "read", { execute: execute as Tool["execute"], ...more });
      const harness = await runHarness({ tools: [tool], script: [[call("look")], "It is done."] });
      const finished = (await harness.events()).find(({ event }) => event.type === "ToolFinished");
      expect(finished?.event).toMatchObject({ status: "error" });
      expect((await harness.row()).outcome).toBe("completed");
    }
  });

  it("carries details, resources and sources beside what the model sees", async () => {
    const output = { content: "sent", details: { id: 7 }, resources: ["m7"], sources: [{ id: "inbox", version: "3" }] };
    const harness = await runHarness({
      tools: [toolOf("send", "write", { execute: () => output })],
      script: [[call("send")], "It is done."],
    });
    const finished = (await harness.events()).find(({ event }) => event.type === "ToolFinished");
    expect(finished?.event).toEqual({
      type: "ToolFinished",
      callId: "c6_0",
      status: "ok",
      ...output,
      content: [{ type: "text", text: "sent" }],
    });
    expect(JSON.stringify(harness.sent[1]?.request)).not.toContain("details");
  });

  it("is an error when the tool records what its plugin does not declare, or what is no record", async () => {
    for (const record of [
      { kind: "unheard", data: {} },
      { kind: "noted", data: {}, message: "words" as never },
    ]) {
      const look = toolOf("look", "read", {
        execute: (_, context) => {
          context.record(record);
          return "looked";
        },
      });
      const harness = await runHarness({ tools: [look], script: [[call("look")], "It is done."] });
      expect(await harness.log(7)).toMatch(
        /^8 ToolFinished c6_0 error "plugin test records|^8 ToolFinished c6_0 error "Ext/,
      );
      expect((await harness.row()).outcome).toBe("completed");
    }
  });
});
