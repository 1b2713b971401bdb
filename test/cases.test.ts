// Kinds of fault that other systems met (see the list of cases), at the level of one task and its workers.
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { Event } from "../src/core/events.ts";
import type { Item, NewItem } from "../src/core/items.ts";
import { text, textOf } from "../src/core/messages.ts";
import { ModelError, type Model, type ModelPart } from "../src/model/model.ts";
import type { Plugin, Tool } from "../src/plugins/plugin.ts";
import { at, before, both } from "../src/testing/fault-plans.ts";
import { decisionOn, pendingRequests } from "../src/testing/decide.ts";
import * as log from "../src/testing/given.ts";
import { TASK, createHarness, runHarness, toolOf, type Harness } from "../src/testing/harness.ts";
import { requestFaults } from "../src/testing/request-faults.ts";
import { tries, type Answer } from "../src/testing/scripted-answers.ts";

const { call } = log;

const statusesOf = async (harness: Harness): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await harness.events()).flatMap(({ event }) =>
      event.type === "ToolFinished" ? [[event.callId, event.status] as const] : [],
    ),
  );

/** A model that streams these parts of its first attempt, and answers from then on. */
const streaming = (parts: readonly (ModelPart | Error)[], answer = "It is done."): ((name: string) => Model) => {
  let attempts = 0;
  return (name) => ({
    name,
    contextTokens: null,
    async *stream() {
      attempts += 1;
      for (const part of attempts === 1 ? parts : []) {
        if (part instanceof Error) throw part;
        yield part;
      }
      yield {
        type: "reply",
        reply: { message: { parts: [text(answer)] }, stopReason: "end_turn", tokens: "unknown" },
      };
    },
  });
};

/** The task up to a reply that asks for one call, written by a process that is gone. */
const asked = async (harness: Harness, ...then: readonly Event[]): Promise<void> => {
  const say = log.say("do it", { seq: 1, key: "objective" });
  await harness.write(
    log.core("prompts", { identity: "", system: "", parts: [] }),
    log.core("plugins", {
      pins: [...harness.agent.pins],
      tools: [...harness.agent.tools.values()].map(({ entry }) => entry),
    }),
    { type: "InputTaken", items: [say], through: 1 },
    log.called({ revision: 1 }),
    log.replied([call("look")]),
    ...then,
  );
};

describe("calls and replies", () => {
  test("case-01: after an interrupt every open call has its one result before the next model call", async () => {
    const slow = toolOf("look", "read", {
      execute: async (_, { signal }) => harness.sleep(60_000, signal).then(() => ""),
    });
    const harness: Harness = await createHarness({
      tools: [slow, toolOf("send", "write")],
      script: [[call("look"), call("look"), call("send"), call("look")], "As you say."],
    });
    harness.start();
    await harness.until(() => harness.ran.length === 2);
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    await harness.post({ type: "Say", text: "rather do that" });
    await harness.rest();
    expect(await statusesOf(harness)).toEqual({ c6_0: "error", c6_1: "error", c6_2: "skipped", c6_3: "skipped" });
    const [, request] = harness.sent.map((each) => each.request);
    expect(requestFaults(request ?? { messages: [] })).toEqual([]);
    const results = request?.messages.find(({ role }) => role === "tool");
    expect(results?.role === "tool" && results.results).toHaveLength(4);
  });

  test("case-02: killed, denied and not started are three records with three texts", async () => {
    const denies: Plugin = {
      name: "denies",
      version: "1",
      hooks: {
        beforeTool: ({ name }) => (name === "drop" ? { verdict: "deny", reason: "Too risky." } : { verdict: "allow" }),
      },
    };
    const tools = [
      toolOf("build", "write", { onUnknown: "tell" }),
      toolOf("drop", "destructive"),
      toolOf("send", "write"),
    ];
    const harness: Harness = await createHarness({
      tools,
      plugins: [denies],
      script: [[call("drop"), call("build"), call("send")], "It is done."],
      plan: both(
        at("tool.build", "crash_after"),
        before("store.append", 3, () => harness.post({ type: "Steer", text: "enough" })),
      ),
    });
    harness.start();
    await harness.rest();
    const message = harness.sent[1]?.request.messages.find(({ role }) => role === "tool");
    const texts =
      message?.role === "tool" ? message.results.map(({ status, content }) => [status, textOf(content)]) : [];
    expect(texts).toEqual([
      ["denied", "Denied: Too risky. It was not run."],
      ["error", expect.stringMatching(/^Unknown whether it took effect \(crashed\)\./)],
      ["skipped", "Not run: it was called off before it started. Nothing happened."],
    ]);
    expect(harness.ran.map(({ name }) => name)).toEqual(["build"]);
  });

  test("case-03: calls with equal ids of the provider, in one reply and across replies, run apart", async () => {
    const same = { ...call("look"), providerId: "call_0" };
    const harness = await runHarness({
      tools: [toolOf("look", "read")],
      script: [[same, same], [same], "It is done."],
    });
    expect(harness.ran.map(({ callId }) => callId)).toEqual(["c6_0", "c6_1", "c12_0"]);
    expect(await statusesOf(harness)).toEqual({ c6_0: "ok", c6_1: "ok", c12_0: "ok" });
  });

  test("case-05: an attempt that breaks off adds no reply, and the next sends the same bytes", async () => {
    const harness = await runHarness({
      ports: { model: streaming([{ type: "text", delta: "It is d" }, new ModelError("network", "reset")]) },
    });
    const events = (await harness.events()).map(({ event }) => event);
    const called = events.flatMap((event) => (event.type === "ModelCalled" ? [event.requestHash] : []));
    expect(called).toHaveLength(2);
    expect(called[1]).toBe(called[0]);
    expect(events.filter(({ type }) => type === "ModelReplied")).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('It is d"');
  });

  test("case-07: an empty reply, and one that only reasons, are asked for again so often, then the turn pauses", async () => {
    const thinks = { type: "reasoning", text: "I wonder" } as const;
    const replies = [[], [thinks], [text("  ")]].map(
      (parts) => ({ message: { parts }, stopReason: "end_turn", tokens: "unknown" }) as const,
    );
    const harness = await runHarness({ script: [tries(...replies)] });
    expect(await harness.row()).toMatchObject({ outcome: "paused", reason: "model_empty" });
    expect(harness.sent).toHaveLength(5);
    expect((await harness.events()).filter(({ event }) => event.type === "ModelReplied")).toEqual([]);
  });

  test("case-08: an overload in mid-stream is tried again, no sooner than the provider says, and logged", async () => {
    const overload = new ModelError("overloaded", "overloaded_error", { retryAfterMs: 90_000 });
    const harness = await runHarness({ ports: { model: streaming([{ type: "text", delta: "It" }, overload]) } });
    const events = await harness.events();
    const [first, second] = events.filter(({ event }) => event.type === "ModelCalled");
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(90_000);
    expect(await harness.log()).toContain("core/model_failed {class: overloaded");
    expect((await harness.row()).outcome).toBe("completed");
  });
});

describe("resume and approvals", () => {
  test("case-11: nothing that wakes a task starts a call that runs already", async () => {
    const slow = toolOf("send", "write", { execute: async () => harness.sleep(20_000).then(() => "sent") });
    const harness: Harness = await createHarness({ tools: [slow], script: [[call("send")], "It is done."] });
    harness.start();
    await harness.until(() => harness.ran.length === 1);
    harness.start();
    const items: NewItem[] = [
      { type: "Say", text: "hello?" },
      { type: "Signal", name: "wake" },
      { type: "Resume" },
      { type: "Verify", callId: "c6_0" },
    ];
    for (const item of items) {
      await harness.post(item);
      await harness.pass(2_000);
    }
    await harness.rest();
    expect(harness.ran).toHaveLength(1);
    expect(harness.claims).toHaveLength(1);
    expect(await statusesOf(harness)).toEqual({ c6_0: "ok" });
  });

  test("case-13: a cancel settles approvals, calls and timers in the append that stops the turn", async () => {
    const harness = await createHarness({ tools: [toolOf("look", "write")], checks: false });
    await asked(
      harness,
      log.core("approval_requested", {
        requestId: "r1",
        callId: "c6_0",
        inputHash: "h",
        definition: "d",
        decides: "person:ada",
      }),
      log.core("timer_set", { id: "t1", dueAt: harness.now + 60_000, callId: "c6_0" }),
      log.waiting("approval", { detail: { waits: [{ on: "approval", callId: "c6_0", ref: "r1" }] } }),
    );
    await harness.post({ type: "Cancel" });
    harness.start();
    await harness.rest();
    expect(harness.appends.at(-1)).toEqual(["ToolFinished", "ExtensionRecorded", "ExtensionRecorded", "Waiting"]);
    expect(await harness.log(9)).toBe(
      [
        "10 InputTaken items=[Cancel] through=2",
        '11 ToolFinished c6_0 skipped "Not run: it was called off before it started. Nothing happened."',
        "12 ExtensionRecorded core/approval_settled {requestId: r1, callId: c6_0, decision: cancelled, by: core}",
        "13 ExtensionRecorded core/timer_cancelled {id: t1}",
        "14 Waiting on=input outcome=cancelled reason=cancelled",
      ].join("\n"),
    );
    const [approvals, timers] = await Promise.all(
      (["approvals", "timers"] as const).map((table) => harness.store.readRows({ taskId: TASK, table })),
    );
    expect(approvals?.map((row) => row.set?.["status"])).toEqual(["cancelled"]);
    expect(timers).toEqual([]);
    await harness.post({ type: "Say", text: "and now?" });
    await harness.rest();
    expect((await harness.row()).outcome).toBe("completed");
  });

  const askTool = toolOf("drop", "destructive", { approval: "ask" });

  /** What waits for a decision; the task asks about what the script calls. */
  const requestsOf = (harness: Harness) => pendingRequests(harness.store, TASK);

  test("case-10: of parallel requests each decision reaches its call, and what is finished never runs again", async () => {
    const harness = await runHarness({
      tools: [askTool, toolOf("look", "read")],
      script: [[call("drop", { n: 0 }), call("look"), call("drop", { n: 2 }), call("drop", { n: 2 })], "So be it."],
    });
    const requests = await requestsOf(harness);
    expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(3);
    for (const [index, decision] of [
      [2, "approve"],
      [0, "deny"],
      [1, "approve"],
    ] as const) {
      const request = requests[index];
      if (request === undefined) throw new Error("three are asked");
      await harness.post(decisionOn(request, decision));
      await harness.rest();
    }
    expect(harness.ran.map(({ callId }) => callId)).toEqual(["c6_1", "c6_3", "c6_2"]);
    expect(await statusesOf(harness)).toEqual({ c6_0: "denied", c6_1: "ok", c6_2: "ok", c6_3: "ok" });
  });

  test("case-12: a request outlives every process, with its id; whoever decides needs none", async () => {
    const harness = await runHarness({ tools: [askTool], script: [[call("drop")], "So be it."] });
    const [request] = await requestsOf(harness);
    for (const { actor } of harness.processes.slice()) harness.system.scheduler.crash(actor);
    await harness.rest();
    expect(await requestsOf(harness)).toEqual([request]);
    for (const { worker, actor } of harness.processes) if (actor.alive) await worker.stop();
    if (request === undefined) throw new Error("one is asked");
    expect(await harness.post(decisionOn(request, "approve"))).toMatchObject({ duplicate: false });
    harness.start();
    await harness.rest();
    expect(await statusesOf(harness)).toEqual({ c6_0: "ok" });
  });

  test("case-14: a yes is exactly one run, a no exactly one denial, also when processes die", async () => {
    for (const decision of ["approve", "deny"] as const) {
      for (let nth = 1; nth <= 6; nth += 1) {
        const harness = await runHarness({
          // What a crash leaves of the run itself is looked up: it is not run again.
          tools: [toolOf("drop", "destructive", { approval: "ask", verify: async () => "done" })],
          script: [[call("drop")], "So be it."],
          plan: both(at("store.append", "crash_before", nth), at("store.release", "crash_after", 1)),
        });
        const [request] = await requestsOf(harness);
        if (request === undefined) throw new Error("one is asked");
        await harness.post(decisionOn(request, decision));
        await harness.rest();
        expect(harness.ran).toHaveLength(decision === "approve" ? 1 : 0);
        expect(Object.values(await statusesOf(harness))).toEqual([decision === "approve" ? "ok" : "denied"]);
        expect((await harness.log()).match(/approval_requested/g)).toHaveLength(1);
      }
    }
  });

  test("case-15: a late decision hits no newer request, and is told the state of its own", async () => {
    const harness = await runHarness({ tools: [askTool], script: [[call("drop")], [call("drop")], "So be it."] });
    const [first] = await requestsOf(harness);
    if (first === undefined) throw new Error("one is asked");
    await harness.post({ type: "Steer", text: "once more" });
    await harness.rest();
    const [second] = await requestsOf(harness);
    expect(second?.requestId).not.toBe(first.requestId);
    await expect(harness.post(decisionOn(first, "approve"))).rejects.toMatchObject({
      ...{ code: "conflict", refusal: "settled", state: "cancelled" },
    });
    const renamed = decisionOn({ requestId: second?.requestId ?? "", inputHash: "of another" }, "approve");
    await expect(harness.post(renamed)).rejects.toMatchObject({ refusal: "changed", state: "pending" });
    await harness.rest();
    expect(harness.ran).toEqual([]);
    expect(await requestsOf(harness)).toEqual([second]);
  });

  test("case-46: what is said in mid-turn is no answer to a question that came later", async () => {
    const harness = await createHarness({ tools: [toolOf("look", "internal")], checks: false });
    await harness.post({ type: "Say", text: "by the way" });
    await asked(harness, log.core("call_parked", { callId: "c6_0", on: "answer" }), log.waiting("answer"));
    harness.start();
    await harness.rest();
    expect(await harness.row()).toMatchObject({ waitingOn: "answer", inboxTaken: 2 });
    await harness.post({ type: "Answer", question: "c9_9", text: "to another" });
    await harness.rest();
    expect((await harness.row()).waitingOn).toBe("answer");
    await harness.post({ type: "Answer", question: "c6_0", text: "42" });
    await harness.rest();
    const shown = harness.sent[0]?.request.messages.map((message) =>
      message.role === "tool" ? message.results.map(({ content }) => textOf(content)) : message.role,
    );
    expect(shown).toEqual(["user", "assistant", ["42"], "user"]);
  });

  test("case-47: a claim of a long task costs its tail", async () => {
    const harness = await createHarness({ limits: { snapshotEvery: 100 }, checks: false });
    const turns = Array.from({ length: 1_600 }, (_, index) => {
      const taken = {
        ...log.taken(log.say(`say ${String(index)}`, { seq: index + 1, key: `k${String(index)}` })),
        through: 1,
      };
      return [taken, log.called({ revision: 1 }), log.replied(`answer ${String(index)}`), log.waiting("input")];
    }).flat();
    await harness.write(...turns);
    harness.start();
    for (const words of ["one", "two"]) {
      await harness.post({ type: "Say", text: words });
      await harness.rest();
    }
    const [first, second] = harness.claims;
    expect(first?.entries.length).toBeGreaterThan(6_400);
    expect(second?.entries.length).toBeLessThan(20);
    expect(second?.snapshot?.seq).toBeGreaterThan(6_400);
  });
});

describe("many workers and waiting", () => {
  test("case-18: a process that has lost its task does nothing on what it knew of it", async () => {
    let cutOff = false;
    const late: Answer = async ({ sleep }) => sleep(20_000).then(() => [call("send")]);
    const harness = await createHarness({
      tools: [toolOf("send", "write")],
      script: [tries(late, [call("send")]), "It is done."],
      plan: ({ port, actor }) =>
        cutOff && actor === "process 1" && (port === "store.renew" || port === "store.claim") ? "fail" : null,
    });
    harness.start();
    await harness.until(() => harness.sent.length === 1);
    cutOff = true;
    harness.start();
    await harness.rest();
    await harness.pass(30_000);
    expect(harness.ran.map(({ actor }) => actor)).toEqual(["process 2"]);
    expect(harness.ends).toEqual(["parked", "lost"]);
    expect(await statusesOf(harness)).toEqual({ c7_0: "ok" });
  });

  /** What a call waits for, and the item that brings it. */
  const waits: [string, Parameters<typeof log.core<"call_parked">>[1]["on"], string | undefined, NewItem][] = [
    ["an answer", "answer", undefined, { type: "Answer", question: "c6_0", text: "42" }],
    ["a signal", "signal", "paid", { type: "Signal", name: "paid" }],
    [
      "a child",
      "children",
      "child",
      { type: "ChildEnded", childId: "child", callId: "c6_0", outcome: "done", answer: "42" },
    ],
  ];

  test.each(waits)("case-22: a wait for %s is ended from outside", async (_, on, ref, item) => {
    for (const ending of [item, { type: "Interrupt" }, { type: "Cancel" }] satisfies NewItem[]) {
      const harness = await createHarness({ tools: [toolOf("look", "internal")], checks: false });
      const parked = { callId: "c6_0", on, ...(ref === undefined ? {} : { ref }) };
      await asked(harness, log.core("call_parked", parked), log.waiting(on));
      harness.start();
      await harness.pass(60_000);
      expect(harness.claims).toEqual([]);
      await harness.post(ending);
      await harness.rest();
      expect((await harness.row()).waitingOn).toBe(ending.type === "Interrupt" ? "resume" : "input");
    }
  });

  test("case-22: a wait for a time ends when it has come, in whatever process", async () => {
    const harness = await createHarness({ tools: [toolOf("look", "internal")], checks: false });
    const dueAt = harness.now + 3_600_000;
    await asked(
      harness,
      log.core("timer_set", { id: "t1", dueAt, callId: "c6_0" }),
      log.core("call_parked", { callId: "c6_0", on: "timer", ref: "t1" }),
      log.waiting("timer"),
    );
    harness.start({ worker: { pollMs: 60_000 } });
    await harness.until(() => harness.claims.length === 1);
    expect(harness.now).toBeGreaterThanOrEqual(dueAt);
    await harness.rest();
    expect(await statusesOf(harness)).toEqual({ c6_0: "ok" });
    expect((await harness.row()).outcome).toBe("completed");
  });

  test.each([1, 2])("case-23: what is posted right before append %i, or the release, is not lost", async (nth) => {
    for (const port of ["store.append", "store.release"]) {
      const harness: Harness = await createHarness({
        script: ["Hello.", "Hello again."],
        plan: before(port, port === "store.append" ? nth : 1, () => harness.post({ type: "Say", text: "wait" })),
      });
      harness.start();
      await harness.rest();
      expect(await harness.row()).toMatchObject({ inboxSeq: 2, inboxTaken: 2, outcome: "completed" });
      expect(
        harness.sent
          .at(-1)
          ?.request.messages.map((message) => JSON.stringify(message))
          .join(),
      ).toContain("wait");
    }
  });

  test("case-27: a correction that was accepted outlives an abort and a crash", async () => {
    const slow: Tool = toolOf("look", "read", {
      execute: async (_, { signal }) => harness.sleep(60_000, signal).then(() => ""),
    });
    const harness: Harness = await createHarness({ tools: [slow], script: [[call("look")], "As you say."] });
    const { actor } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    await harness.post({ type: "Steer", text: "look elsewhere" });
    await harness.post({ type: "Interrupt" });
    await harness.until(() => harness.appends.length >= 4);
    harness.system.scheduler.crash(actor);
    await harness.rest();
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(JSON.stringify(harness.sent.at(-1)?.request)).toContain("look elsewhere");
    expect(await harness.row()).toMatchObject({ outcome: "completed", inboxSeq: 4, inboxTaken: 4 });
  });
});

describe("context", () => {
  const compacting = (through: number, kept: number[] = []): Plugin => ({
    name: "compacting",
    version: "1",
    compact: async () => ({ through, summary: "what was before", kept }),
  });
  /** Two cycles, then the provider says that it is too much. */
  const full = (plugin: Plugin): Promise<Harness> =>
    runHarness({
      objective: "Sort these, word for word: b, a.",
      tools: [toolOf("look", "read", { execute: () => "x".repeat(500) })],
      plugins: [plugin],
      script: [[call("look")], [call("look"), call("look")], tries(new ModelError("overflow", "too long"), "a, b.")],
    });

  test.each([4, 6, 8, 9, 10, 13, 14])(
    "case-29: a cut through seq %i leaves no call without its result",
    async (through) => {
      for (const kept of [[], [6], [9], [10]]) {
        const harness = await full(compacting(through, kept));
        for (const { request } of harness.sent) expect(requestFaults(request)).toEqual([]);
        expect((await harness.row()).outcome).toMatch(/completed|paused/);
      }
    },
  );

  test("case-31: after a compaction the request stands word for word, and the same step follows", async () => {
    const harness = await full(compacting(14));
    const { request } = harness.sent.at(-1) ?? {};
    expect(
      request?.messages.map((message) => (message.role === "user" ? textOf(message.content) : message.role)),
    ).toEqual(["Sort these, word for word: b, a.", "[Summary of the conversation up to here]\nwhat was before"]);
    expect(harness.sent).toHaveLength(4);
    expect(harness.sent.at(-1)?.context).toMatchObject({ replies: 2, attempt: 2 });
    expect((await harness.row()).outcome).toBe("completed");
  });

  test("case-33: one cap holds over all parts of a result, words, pieces and details alike", async () => {
    const piece = (letter: string) => ({ type: "text" as const, text: letter.repeat(30_000) });
    const output = { content: [piece("a"), piece("b")], details: { rows: "r".repeat(80_000) } };
    const harness = await runHarness({
      tools: [toolOf("look", "read", { execute: () => output })],
      script: [[call("look")]],
    });
    const finished = (await harness.events()).find(({ event }) => event.type === "ToolFinished");
    expect(JSON.stringify(finished?.event).length).toBeLessThan(10_000);
    const files = await harness.store.listFiles({ taskId: TASK });
    expect(files.map(({ size }) => size)).toEqual([80_011, 60_001]);
  });

  test("case-34: the same log gives the same bytes in another process, locale and time zone", async () => {
    const harness = await runHarness({
      tools: [toolOf("Z", "read"), toolOf("look", "read")],
      script: [[call("look"), call("Z")], "Grüße, ümlaut."],
      objective: "I want i and İ, 1.234,5 and 1,234.5 at 12:00",
    });
    const called = (await harness.events()).findLast(({ event }) => event.type === "ModelCalled");
    const secret = await harness.store.getSecret({ taskId: TASK });
    const definitions = [...harness.agent.tools.values()].map(({ entry, definition }) => [
      entry.definition,
      definition,
    ]);
    const program = `
      import { createHmac } from "node:crypto";
      import { fold } from "./src/core/fold.ts";
      import { buildPrefix, hashPrefix, hashRequest } from "./src/core/request.ts";
      const { log, secret, definitions } = JSON.parse(process.argv[1]);
      const state = fold("task", log, {});
      const mac = (text) => createHmac("sha256", Buffer.from(secret, "hex")).update(text).digest("hex");
      const prefix = buildPrefix(state, new Map(definitions.map(([hash, text]) => [hash, JSON.parse(text)])));
      process.stdout.write(hashRequest(state.messages, hashPrefix(prefix, mac), mac).hash);
    `;
    const upTo = (await harness.events()).slice(0, (called?.seq ?? 1) - 1);
    const input = JSON.stringify({ log: upTo, secret: Buffer.from(secret).toString("hex"), definitions });
    for (const [zone, locale] of [
      ["America/St_Johns", "tr_TR.UTF-8"],
      ["Asia/Kolkata", "C"],
    ] as const) {
      const env = { ...process.env, TZ: zone, LC_ALL: locale, LANG: locale };
      const hash = execFileSync(process.execPath, ["--input-type=module", "-e", program, input], {
        env,
        encoding: "utf8",
      });
      expect(hash).toBe(called?.event.type === "ModelCalled" ? called.event.requestHash : "");
    }
  });

  test("case-42: items stand in the order of the inbox, whatever their times say", async () => {
    const harness = await createHarness({ checks: false });
    const said = (words: string, seq: number, at: number): Item => log.say(words, { seq, at, key: words });
    await harness.write({
      type: "InputTaken",
      items: [said("first", 1, 9_000_000), said("second", 2, 5), said("third", 3, 700)],
      through: 1,
    });
    harness.start();
    await harness.rest();
    const shown = harness.sent[0]?.request.messages.map((message) =>
      message.role === "user" ? textOf(message.content) : "",
    );
    expect(shown).toEqual(["do it", "first", "second", "third"]);
    expect((await harness.row()).outcome).toBe("completed");
  });

  test("case-49: deltas are not stored, and nothing is stored twice", async () => {
    const deltas = Array.from({ length: 2_000 }, (): ModelPart => ({ type: "text", delta: "a delta " }));
    const seen: string[] = [];
    const watcher = { delta: (_: string, part: { type: string }) => seen.push(part.type) };
    const harness = await runHarness({ ports: { model: streaming(deltas), watcher } });
    expect(seen).toHaveLength(2_000);
    const { types } = await harness.store.stats();
    const bytes = types.reduce((sum, each) => sum + each.bytes, 0);
    expect(bytes).toBeLessThan(3_000);
    expect(JSON.stringify(await harness.events())).not.toContain("a delta");
    const word = "unmistakable".repeat(50);
    const once = await runHarness({
      tools: [toolOf("look", "read", { execute: () => word })],
      script: [[call("look")]],
    });
    expect(JSON.stringify(await once.events()).match(new RegExp(word, "g"))).toHaveLength(1);
  });
});
