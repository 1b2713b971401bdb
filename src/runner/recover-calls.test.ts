import { describe, expect, it } from "vitest";
import { NothingHappened, type Tool } from "../plugins/plugin.ts";
import { call } from "../testing/given.ts";
import { at, before, both } from "../testing/fault-plans.ts";
import { createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";

/** A task that calls one tool; its process dies when the tool's effect is done, and another takes over. */
const crashed = (tool: Tool, more: Partial<HarnessOptions> = {}): Promise<Harness> =>
  runHarness({
    tools: [tool],
    script: [[call(tool.name)], "It is done."],
    plan: at(`tool.${tool.name}`, "crash_after"),
    ...more,
  });

const LEASE_MS = 5_000;

/** When each event of a type was committed, since the task was created (ms). */
const timesOf = async (harness: Harness, type: string): Promise<number[]> => {
  const events = await harness.events();
  return events.filter(({ event }) => event.type === type).map((each) => each.at - (events[0]?.at ?? 0));
};

describe("a read that was started and has no result", () => {
  it("runs again, attempt 2, under another invocation id", async () => {
    const harness = await crashed(toolOf("look", "read"));
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolStarted c6_0 look {} attempt=2
        9 ToolFinished c6_0 "look is done"
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    const [first, second] = harness.ran;
    expect(harness.ran).toHaveLength(2);
    expect(second?.invocationId).not.toBe(first?.invocationId);
    expect(second?.attempt).toBe(2);
  });

  it("gets an error, and is not run again, when its tool is gone", async () => {
    const harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")], "It is done."],
      plan: at("tool.look", "crash_after"),
      restarts: false,
    });
    harness.start();
    await harness.until(() => harness.ran.length > 0);
    await harness.use({ tools: [toolOf("other", "read")] });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ExtensionRecorded core/plugins
        9 ToolFinished c6_0 error "There is no tool named look. It was not run."
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("keeps its result, and the others run again, when only some had finished", async () => {
    const hanging = toolOf("list", "read", { execute: async () => harness.sleep(1_000).then(() => "listed") });
    const harness = await createHarness({
      tools: [toolOf("look", "read"), hanging],
      script: [[call("look"), call("list")], "It is done."],
      plan: at("store.append", "crash_after", 3),
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolStarted c6_1 list {}
        9 ToolFinished c6_0 "look is done"
        10 ToolStarted c6_1 list {} attempt=2
        11 ToolFinished c6_1 "listed"
        12 ModelCalled model=script request_hash=A
        13 ModelReplied "It is done." stop_reason=end_turn
        14 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran.map(({ name }) => name)).toEqual(["look", "list", "list"]);
  });
});

describe("a write that was started and has no result", () => {
  it("is unknown, and the model is not called, until a person says what happened", async () => {
    const harness = await crashed(toolOf("send", "write"));
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    await harness.post({ type: "Resolve", callId: "c6_0", outcome: "done", verification: "I saw it arrive." });
    await harness.rest();
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(9)).toBe(
      lines(`
        10 InputTaken items=[Resolve {callId: c6_0, outcome: done, verification: "I saw it arrive."}] through=2
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: attestation, outcome: done, by: person:ada, verification: "I saw it arrive."}
        12 ToolFinished c6_0 "Its outcome was unknown. person:ada attests that it took effect: I saw it arrive." settled_by=attestation
        13 Waiting on=resume outcome=paused reason=unknown_action
        14 InputTaken items=[Resume] through=3
        15 ModelCalled model=script request_hash=A
        16 ModelReplied "It is done." stop_reason=end_turn
        17 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("is told to have failed when a person saw that nothing happened", async () => {
    const harness = await crashed(toolOf("send", "write"), { plan: at("tool.send", "crash_before") });
    await harness.post({ type: "Resolve", callId: "c6_0", outcome: "absent", verification: "It is not there." });
    await harness.rest();
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(9)).toBe(
      lines(`
        10 InputTaken items=[Resolve {callId: c6_0, outcome: absent, verification: "It is not there."}] through=2
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: attestation, outcome: absent, by: person:ada, verification: "It is not there."}
        12 ToolFinished c6_0 error "Its outcome was unknown. person:ada attests that it did not take effect: It is not there." settled_by=attestation
        13 Waiting on=resume outcome=paused reason=unknown_action
        14 InputTaken items=[Resume] through=3
        15 ModelCalled model=script request_hash=A
        16 ModelReplied "It is done." stop_reason=end_turn
        17 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(0);
  });

  it("keeps a Resolve that comes at once, and settles one lease after it was found unknown", async () => {
    const harness = await crashed(toolOf("send", "write"));
    await harness.post({ type: "Resolve", callId: "c6_0", outcome: "done", verification: "I saw it arrive." });
    await harness.until(() => harness.appends.length === 4);
    expect(await harness.log(9)).toBe(
      lines(`
        10 InputTaken items=[Resolve {callId: c6_0, outcome: done, verification: "I saw it arrive."}] through=2
      `),
    );
    await harness.rest();
    expect(await harness.log(10)).toBe(
      lines(`
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: attestation, outcome: done, by: person:ada, verification: "I saw it arrive."}
        12 ToolFinished c6_0 "Its outcome was unknown. person:ada attests that it took effect: I saw it arrive." settled_by=attestation
        13 Waiting on=resume outcome=paused reason=unknown_action
      `),
    );
    const [[unknown = 0], [settled = 0]] = [await timesOf(harness, "Waiting"), await timesOf(harness, "ToolFinished")];
    expect(settled - unknown).toBe(LEASE_MS);
  });

  it("keeps the first of two that settle it", async () => {
    const harness = await crashed(toolOf("send", "write"));
    await harness.post({ type: "Resolve", callId: "c6_0", outcome: "absent", verification: "It is not there." });
    await harness.post({ type: "Resolve", callId: "c6_0", outcome: "done", verification: "I saw it arrive." });
    await harness.rest();
    expect(await harness.log(10)).toBe(
      lines(`
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: attestation, outcome: absent, by: person:ada, verification: "It is not there."}
        12 ToolFinished c6_0 error "Its outcome was unknown. person:ada attests that it did not take effect: It is not there." settled_by=attestation
        13 Waiting on=resume outcome=paused reason=unknown_action
      `),
    );
  });

  it("is told to the model as unknown where its tool says so, and not run again", async () => {
    const harness = await crashed(toolOf("build", "write", { onUnknown: "tell" }));
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 build {}
        8 ToolFinished c6_0 error "Unknown whether it took effect (crashed). Look at what is there before you try again; it was not r…(116 chars)"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("is unknown when its tool is gone", async () => {
    const harness = await createHarness({
      tools: [toolOf("build", "write", { onUnknown: "tell", verify: async () => "done" })],
      script: [[call("build")], "It is done."],
      plan: at("tool.build", "crash_after"),
      restarts: false,
    });
    harness.start();
    await harness.until(() => harness.ran.length > 0);
    await harness.use({ tools: [] });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 build {}
        8 ExtensionRecorded core/plugins
        9 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        10 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });
});

describe("a write that can verify itself", () => {
  const put = (verify: Tool["verify"]): Tool => toolOf("put", "write", { ...(verify === undefined ? {} : { verify }) });

  it("settles itself one lease after the claim that dispatched it ended", async () => {
    const receipts: object[] = [];
    const harness = await crashed(put(async (receipt) => (receipts.push(receipt), "done")));
    const [{ invocationId } = { invocationId: "" }] = harness.ran;
    const startedAt = (await harness.events()).find(({ event }) => event.type === "ToolStarted")?.at;
    expect(receipts).toEqual([{ callId: "c6_0", invocationId, input: {}, attempt: 1, startedAt }]);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 put {}
        8 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: done, by: core}
        9 ToolFinished c6_0 "It was interrupted, then checked: it took effect." settled_by=verification
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    const [finished] = await timesOf(harness, "ToolFinished");
    expect(finished).toBeGreaterThanOrEqual(2 * LEASE_MS);
    expect(harness.ran).toHaveLength(1);
  });

  it("is asked at once where its holder's claim ended a lease ago", async () => {
    const harness = await createHarness({
      tools: [put(async () => "done")],
      script: [[call("put")], "It is done."],
      plan: at("tool.put", "crash_after"),
      restarts: false,
    });
    harness.start();
    await harness.until(() => harness.ran.length > 0);
    await harness.pass(10 * LEASE_MS);
    const again = harness.now;
    harness.start();
    await harness.rest();
    const finished = (await harness.events()).find(({ event }) => event.type === "ToolFinished");
    expect(finished?.event).toMatchObject({ settledBy: "verification" });
    expect((finished?.at ?? Infinity) - again).toBeLessThan(LEASE_MS / 2);
  });

  it("is waited for by the next claim when a stop comes before its time", async () => {
    const harness = await createHarness({
      tools: [put(async () => "done")],
      script: [[call("put")], "It is done."],
      plan: at("tool.put", "crash_after"),
    });
    harness.start();
    await harness.until(() => harness.claims.length === 2);
    await harness.pass(LEASE_MS / 10);
    const asked = harness.now;
    void harness.processes[1]?.worker.stop();
    await harness.until(() => harness.ends.includes("stopped"));
    expect(harness.now - asked).toBeLessThan(LEASE_MS / 2);
    expect(await harness.log(7)).toBe("");
    harness.start();
    await harness.rest();
    expect(await timesOf(harness, "ToolFinished")).toEqual([expect.any(Number)]);
    expect(harness.ran).toHaveLength(1);
  });

  it("is told to have failed when it finds nothing", async () => {
    const harness = await crashed(
      put(async () => "absent"),
      { plan: at("tool.put", "crash_before") },
    );
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 put {}
        8 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: absent, by: core}
        9 ToolFinished c6_0 error "It was interrupted, then checked: it did not take effect." settled_by=verification
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(0);
  });

  it.each<[string, () => Promise<"unknown">]>([
    ["cannot say", async () => "unknown"],
    ["throws", async () => Promise.reject(new Error("no permission"))],
    ["says something else", async () => true as unknown as "unknown"],
  ])("is unknown, asked only once, when its check %s", async (_, verify) => {
    let asked = 0;
    const harness = await crashed(
      put(async () => {
        asked += 1;
        return verify();
      }),
    );
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 put {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(asked).toBe(1);
  });

  it("is unknown when its check throws, and the operator is told what it said", async () => {
    const harness = await crashed(put(() => Promise.reject(new Error("no permission"))));
    expect(harness.system.notes.filter((note) => note.includes("verification"))).toEqual([
      expect.stringContaining("the verification of put (c6_0) failed: no permission"),
    ]);
  });

  it.each([
    { timeoutMs: undefined, takes: 120_000 },
    { timeoutMs: 30_000, takes: 30_000 },
  ])("is unknown when its check takes longer than a read may ($timeoutMs)", async ({ timeoutMs, takes }) => {
    const limited = timeoutMs === undefined ? {} : { timeoutMs };
    const harness = await crashed(toolOf("put", "write", { verify: () => new Promise(() => undefined), ...limited }));
    const [startedAt = 0] = await timesOf(harness, "ToolStarted");
    const [rests = 0] = await timesOf(harness, "Waiting");
    expect(rests - startedAt - takes).toBeGreaterThanOrEqual(LEASE_MS);
    expect(rests - startedAt - takes).toBeLessThan(4 * LEASE_MS);
  });

  it("is unknown when its check never answers", async () => {
    const harness = await crashed(
      toolOf("put", "write", { verify: () => new Promise(() => undefined), timeoutMs: 60_000 }),
    );
    expect(await harness.log(7)).toBe(
      lines(`
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  it("is not asked when its definition has changed", async () => {
    const harness = await createHarness({
      tools: [put(async () => "done")],
      script: [[call("put")], "It is done."],
      plan: at("tool.put", "crash_after"),
      restarts: false,
    });
    harness.start();
    await harness.until(() => harness.ran.length > 0);
    await harness.use({ tools: [{ ...put(async () => "done"), description: "put it elsewhere" }] });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 put {}
        8 ExtensionRecorded core/plugins
        9 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        10 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  const asking = async (verdict: "done" | "absent" | "unknown"): Promise<Harness> => {
    let answer: typeof verdict = "unknown";
    const harness = await crashed(put(async () => answer));
    answer = verdict;
    await harness.post({ type: "Verify", callId: "c6_0" });
    await harness.rest();
    expect(harness.ran).toHaveLength(1);
    return harness;
  };

  it("answers a person who asks: done", async () => {
    expect(await (await asking("done")).log(9)).toBe(
      lines(`
        10 InputTaken items=[Verify {callId: c6_0}] through=2
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: done, by: person:ada}
        12 ToolFinished c6_0 "It was interrupted, then checked: it took effect." settled_by=verification
        13 Waiting on=resume outcome=paused reason=unknown_action
      `),
    );
  });

  it("answers a person who asks: absent", async () => {
    expect(await (await asking("absent")).log(9)).toBe(
      lines(`
        10 InputTaken items=[Verify {callId: c6_0}] through=2
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: absent, by: person:ada}
        12 ToolFinished c6_0 error "It was interrupted, then checked: it did not take effect." settled_by=verification
        13 Waiting on=resume outcome=paused reason=unknown_action
      `),
    );
  });

  it("answers a person who asks: unknown, and goes on waiting", async () => {
    expect(await (await asking("unknown")).log(9)).toBe(
      lines(`
        10 InputTaken items=[Verify {callId: c6_0}] through=2
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: unknown, by: person:ada}
        12 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  it("is not asked for a person either when its definition has changed", async () => {
    let asked = 0;
    const verify = async (): Promise<"unknown"> => {
      asked += 1;
      return "unknown";
    };
    const harness = await crashed(put(verify));
    for (const { worker } of harness.processes) void worker.stop();
    await harness.use({ tools: [{ ...put(verify), description: "put it elsewhere" }] });
    harness.start();
    await harness.post({ type: "Verify", callId: "c6_0" });
    await harness.rest();
    expect(await harness.log(9)).toBe(
      lines(`
        10 ExtensionRecorded core/plugins
        11 InputTaken items=[Verify {callId: c6_0}] through=2
        12 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: unknown, by: person:ada}
        13 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(asked).toBe(1);
  });

  it("is not asked for a person either when its tool is gone", async () => {
    const harness = await crashed(put(async () => "unknown"));
    for (const { worker } of harness.processes) void worker.stop();
    await harness.use({ tools: [] });
    harness.start();
    await harness.post({ type: "Verify", callId: "c6_0" });
    await harness.rest();
    expect(await harness.log(10)).toBe(
      lines(`
        11 InputTaken items=[Verify {callId: c6_0}] through=2
        12 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: unknown, by: person:ada}
        13 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  it("is still asked for a person by the next claim when a stop cuts its check short", async () => {
    let asked = 0;
    const harness: Harness = await crashed(
      put(async (_, { signal }) => {
        asked += 1;
        if (asked === 2) await harness.sleep(60_000, signal);
        return asked === 3 ? "done" : "unknown";
      }),
    );
    await harness.post({ type: "Verify", callId: "c6_0" });
    await harness.until(() => asked === 2);
    void harness.processes.at(-1)?.worker.stop();
    await harness.until(() => harness.ends.includes("stopped"));
    harness.start();
    await harness.rest();
    expect(await harness.log(10)).toBe(
      lines(`
        11 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: done, by: person:ada}
        12 ToolFinished c6_0 "It was interrupted, then checked: it took effect." settled_by=verification
        13 Waiting on=resume outcome=paused reason=unknown_action
      `),
    );
  });

  it("brings its records with the result", async () => {
    const harness = await crashed(
      put(async (_, context) => {
        context.record({ kind: "noted", data: { looked: true } });
        return "done";
      }),
    );
    expect(await harness.log(7)).toBe(
      lines(`
        8 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: done, by: core}
        9 ExtensionRecorded test/noted {looked: true}
        10 ToolFinished c6_0 "It was interrupted, then checked: it took effect." settled_by=verification
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "It is done." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.appends.at(-2)).toEqual(["ExtensionRecorded", "ExtensionRecorded", "ToolFinished", "ModelCalled"]);
  });

  it("is asked again by the next claim when a stop cuts its check short", async () => {
    let asked = 0;
    const harness = await createHarness({
      tools: [
        put(async (_, { signal }) => {
          asked += 1;
          if (asked === 1) await harness.sleep(60_000, signal);
          return "done";
        }),
      ],
      script: [[call("put")], "It is done."],
      plan: at("tool.put", "crash_after"),
    });
    harness.start();
    await harness.until(() => asked === 1);
    void harness.processes[1]?.worker.stop();
    await harness.until(() => harness.ends.includes("stopped"));
    harness.start();
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: done, by: core}
        9 ToolFinished c6_0 "It was interrupted, then checked: it took effect." settled_by=verification
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(asked).toBe(2);
  });
});

describe("an idempotent write", () => {
  const pay = toolOf("pay", "write", { idempotent: { ttlMs: 60_000 } });

  it("is dispatched again with the same invocation id within its time to live", async () => {
    const harness = await crashed(pay);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 pay {}
        8 ToolStarted c6_0 pay {} attempt=2
        9 ToolFinished c6_0 "pay is done"
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    const [first, second] = harness.ran;
    expect(harness.ran).toHaveLength(2);
    expect(second?.invocationId).toBe(first?.invocationId);
    expect(second?.fence).toBeGreaterThan(first?.fence ?? 0);
  });

  it("is unknown past its time to live", async () => {
    const harness = await crashed(toolOf("pay", "write", { idempotent: { ttlMs: 4_000 } }));
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 pay {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("is unknown when its definition has changed", async () => {
    const harness = await createHarness({
      tools: [pay],
      script: [[call("pay")], "It is done."],
      plan: at("tool.pay", "crash_after"),
      restarts: false,
    });
    harness.start();
    await harness.until(() => harness.ran.length > 0);
    await harness.use({ tools: [{ ...pay, description: "pay somebody else" }] });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 pay {}
        8 ExtensionRecorded core/plugins
        9 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        10 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("is dispatched three times at most, then it is unknown", async () => {
    const harness = await crashed(pay, { plan: ({ port }) => (port === "tool.pay" ? "crash_after" : null) });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 pay {}
        8 ToolStarted c6_0 pay {} attempt=2
        9 ToolStarted c6_0 pay {} attempt=3
        10 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        11 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(harness.ran).toHaveLength(3);
    expect(new Set(harness.ran.map(({ invocationId }) => invocationId)).size).toBe(1);
  });

  it("is never dispatched again on a task that pauses", async () => {
    const harness = await crashed(pay, { onInterrupt: "pause" });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 pay {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        9 ExtensionRecorded core/interrupted {reason: crashed}
        10 Waiting on=resolution outcome=paused reason=interrupted detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("is called off before its second dispatch, and unknown, when a person interrupts", async () => {
    const harness = await createHarness({
      tools: [pay],
      script: [[call("pay")], "It is done."],
      plan: both(
        at("tool.pay", "crash_after"),
        before("store.append", 3, () => harness.post({ type: "Interrupt" })),
      ),
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 pay {}
        8 ToolStarted c6_0 pay {} attempt=2
        9 InputTaken items=[Interrupt] through=2
        10 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        11 Waiting on=resolution outcome=paused reason=interrupted detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });
});

describe("a write whose handler fails after its dispatch", () => {
  const failing = (execute: Tool["execute"], more: Partial<Tool> = {}): Promise<Harness> =>
    runHarness({ tools: [toolOf("send", "write", { execute, ...more })], script: [[call("send")], "It is done."] });

  it("is unknown when it throws", async () => {
    const harness = await failing(() => {
      throw new Error("the connection was reset");
    });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: threw, message: "the connection was reset"}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  it("is verified one lease later when it throws and can verify itself", async () => {
    const harness = await failing(() => Promise.reject(new Error("reset")), { verify: async () => "done" });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: done, by: core}
        9 ToolFinished c6_0 "It was interrupted, then checked: it took effect." settled_by=verification
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    const [finished] = await timesOf(harness, "ToolFinished");
    expect(finished).toBeGreaterThanOrEqual(LEASE_MS);
  });

  it("is an error that the model sees when nothing happened for certain, thrown or returned", async () => {
    const thrown = await failing(() => Promise.reject(new NothingHappened("no such address")));
    const returned = await failing(() => new NothingHappened("no such address") as unknown as string);
    expect(await thrown.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ToolFinished c6_0 error "no such address"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(await returned.log()).toBe(await thrown.log());
  });

  it("is an error that the model sees when the server declared one", async () => {
    const harness = await failing(() => ({ content: "the mailbox is full", isError: true }));
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 error "the mailbox is full"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("is unknown past its time limit, also when it does not stop", async () => {
    const harness = await failing(() => new Promise(() => undefined), { timeoutMs: 10_000 });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: timed_out, message: "given up 5000 ms after it was told to stop"}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  it.each<[string, () => unknown, Partial<Tool>]>([
    ["no content", () => ({ text: "sent" }), {}],
    ["nothing", () => undefined, {}],
    ["what is not JSON", () => ({ content: "sent", details: 1n }), {}],
    ["a file part without its type", () => ({ content: [{ type: "file", name: "a" }] }), {}],
    ["what its schema does not allow", () => "sent", { outputSchema: { type: "object" } }],
  ])("is unknown when it returns %s", async (_, execute, more) => {
    const harness = await failing(execute as Tool["execute"], more);
    expect((await harness.log(7)).replace(/message: .*}/, "message: …}")).toBe(
      lines(`
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: invalid_output, message: …}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
  });

  it("did not happen when its surroundings could not be made", async () => {
    const harness = await runHarness({
      tools: [toolOf("send", "write")],
      script: [[call("send")], "It is done."],
      ports: { exec: () => Promise.reject(new Error("the workspace is gone")) },
    });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ToolFinished c6_0 error "the workspace is gone"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(0);
  });
});

describe("a task that pauses when it is interrupted", () => {
  const pausing = { onInterrupt: "pause" } as const;

  it("calls no model and no tool after a crash before anybody says so", async () => {
    const harness = await crashed(toolOf("look", "read"), pausing);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ExtensionRecorded core/interrupted {reason: crashed}
        9 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
    expect(harness.ran).toHaveLength(1);
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(9)).toBe(
      lines(`
        10 InputTaken items=[Resume] through=2
        11 ToolStarted c6_0 look {} attempt=2
        12 ToolFinished c6_0 "look is done"
        13 ModelCalled model=script request_hash=A
        14 ModelReplied "It is done." stop_reason=end_turn
        15 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("makes a started write unknown and asks no check", async () => {
    let asked = 0;
    const verify = async (): Promise<"done"> => {
      asked += 1;
      return "done";
    };
    const harness = await crashed(toolOf("put", "write", { verify }), pausing);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 put {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        9 ExtensionRecorded core/interrupted {reason: crashed}
        10 Waiting on=resolution outcome=paused reason=interrupted detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(asked).toBe(0);
  });

  it("pauses after a crash in a model call, and sends the same request when resumed", async () => {
    const harness = await runHarness({ script: ["Hello."], plan: at("model.stream", "crash_after"), ...pausing });
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/interrupted {reason: crashed}
        7 Waiting on=resume outcome=paused reason=interrupted
        8 InputTaken items=[Resume] through=2
        9 ModelCalled model=script request_hash=A attempt=2
        10 ModelReplied "Hello." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });

  it("pauses after a graceful stop, and says so", async () => {
    const look = toolOf("look", "read", { execute: async () => harness.sleep(1_000).then(() => "looked") });
    const harness = await createHarness({ tools: [look], script: [[call("look")], "It is done."], ...pausing });
    const { worker } = harness.start();
    await harness.until(() => harness.ran.length > 0);
    void worker.stop();
    await harness.until(() => harness.ends.length > 0);
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolFinished c6_0 "looked"
        9 ExtensionRecorded core/interrupted {reason: stopped}
        10 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
  });

  it("takes a Resume that came before the pause for nothing", async () => {
    const harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")], "It is done."],
      plan: at("tool.look", "crash_before"),
      ...pausing,
    });
    harness.start();
    await harness.until(() => harness.processes.length === 2);
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 InputTaken items=[Resume] through=2
        9 ExtensionRecorded core/interrupted {reason: crashed}
        10 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
    expect(harness.ran).toHaveLength(0);
  });

  it("does not pause a second time in the claim that goes on with it", async () => {
    const harness: Harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")], "It is done."],
      plan: both(
        at("tool.look", "crash_before"),
        before("store.release", 1, () => harness.post({ type: "Resume" })),
      ),
      ...pausing,
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ExtensionRecorded core/interrupted {reason: crashed}
        9 Waiting on=resume outcome=paused reason=interrupted
        10 InputTaken items=[Resume] through=2
        11 ToolStarted c6_0 look {} attempt=2
        12 ToolFinished c6_0 "look is done"
        13 ModelCalled model=script request_hash=A
        14 ModelReplied "It is done." stop_reason=end_turn
        15 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.claims).toHaveLength(2);
  });
});

describe("a model call without its reply", () => {
  it("is made again with the same bytes, attempt 2", async () => {
    const harness = await runHarness({ script: ["Hello."], plan: at("model.stream", "crash_after") });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelCalled model=script request_hash=A attempt=2
        7 ModelReplied "Hello." stop_reason=end_turn
        8 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    const [first, second] = harness.sent;
    expect(second?.request).toEqual(first?.request);
  });
});

describe("a task that waits", () => {
  it("is claimed by nobody when a process starts and nothing is new", async () => {
    const harness = await runHarness({ script: ["Hello."] });
    const before = [await harness.log(), harness.claims.length];
    const { worker } = harness.start();
    let idle = false;
    void worker.idle().then(() => {
      idle = true;
    });
    await harness.until(() => idle);
    expect([await harness.log(), harness.claims.length]).toEqual(before);
  });
});
