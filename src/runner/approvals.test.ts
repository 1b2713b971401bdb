// Calls that somebody has to decide on: how they are asked for, what a decision does, and what it never does.
import { describe, expect, it } from "vitest";
import type { ApprovalPolicy } from "../core/approval.ts";
import type { NewItem } from "../core/items.ts";
import type { Plugin } from "../plugins/plugin.ts";
import { before } from "../testing/fault-plans.ts";
import { call } from "../testing/given.ts";
import { decisionOn, pendingRequests, type Decision, type PendingRequest } from "../testing/decide.ts";
import { createHarness, TASK, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";
import { OWNER } from "../testing/simulation/system.ts";

const OTHER = "person:bob";
const askTool = toolOf("drop", "destructive", { approval: "ask" });

const resting = async (options: HarnessOptions): Promise<Harness> => {
  const harness = await createHarness(options);
  harness.start();
  await harness.rest();
  return harness;
};

/** Asks to drop a. */
const asking = (more: Partial<HarnessOptions> = {}): Promise<Harness> =>
  resting({ tools: [askTool], script: [[call("drop", { name: "a" })], "So be it."], ...more });

const only = async (harness: Harness): Promise<PendingRequest> => {
  const [request, ...more] = await pendingRequests(harness.store, TASK);
  if (request === undefined || more.length > 0) throw new Error(`not one request, but ${String(more.length)} more`);
  return request;
};

const decide = async (harness: Harness, decision: Decision["decision"], more: Partial<Decision> = {}) => {
  await harness.post(decisionOn(await only(harness), decision, more));
  await harness.rest();
};

const post = async (harness: Harness, item: NewItem, by = OWNER): Promise<void> => {
  await harness.post(item, by);
  await harness.rest();
};

const statuses = async (harness: Harness): Promise<unknown[]> =>
  (await harness.store.readRows({ taskId: TASK, table: "approvals" })).map(({ key, set }) => [key, set?.["status"]]);

const hooked = (beforeTool: NonNullable<NonNullable<Plugin["hooks"]>["beforeTool"]>): Plugin => ({
  name: "hooked",
  version: "1",
  hooks: { beforeTool },
});

describe("a request", () => {
  it("is committed before the task waits, and runs nothing", async () => {
    const harness = await asking();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ExtensionRecorded core/approval_requested {requestId: ask_c6_0, callId: c6_0, decides: person:ada, inputHash: …, definition: …
        8 Waiting on=approval detail={waits: [{on: approval, callId: c6_0, ref: ask_c6_0}]}
      `),
    );
    expect(harness.ran).toEqual([]);
    expect((await harness.row()).waitingOn).toBe("approval");
  });

  it("keeps its id and its hash through crashes, and is made once", async () => {
    for (const [nth, kind] of [1, 2, 3].flatMap((n) => [[n, "crash_before"] as const, [n, "crash_after"] as const])) {
      let appends = 0;
      const harness = await asking({
        plan: ({ port }) => (port === "store.append" && (appends += 1) === nth ? kind : null),
      });
      const { requestId, callId } = await only(harness);
      expect(requestId).toBe(`ask_${callId}`);
      expect((await harness.log()).match(/approval_requested/g)).toHaveLength(1);
      await decide(harness, "approve");
      expect(harness.ran).toHaveLength(1);
    }
  });

  it("holds up no other call of the reply; results stand in call order", async () => {
    const harness = await asking({
      tools: [askTool, toolOf("look", "read"), toolOf("send", "write")],
      script: [[call("drop", { name: "a" }), call("look"), call("drop", { name: "b" }), call("send")], "So be it."],
    });
    expect(harness.ran.map(({ name }) => name)).toEqual(["look", "send"]);
    const [first, second] = await pendingRequests(harness.store, TASK);
    if (first === undefined || second === undefined) throw new Error("two are asked");
    await post(harness, decisionOn(second, "approve"));
    expect(harness.ran.map(({ input }) => input).at(-1)).toEqual({ name: "b" });
    expect(harness.sent).toHaveLength(1);
    await post(harness, decisionOn(first, "deny"));
    const results = harness.sent[1]?.request.messages.findLast(({ role }) => role === "tool");
    const shown = results?.role === "tool" ? results.results.map(({ callId, status }) => [callId, status]) : [];
    expect(shown).toEqual([
      ["c6_0", "denied"],
      ["c6_1", "ok"],
      ["c6_2", "ok"],
      ["c6_3", "ok"],
    ]);
  });

  it("holds the rewritten input, the items of a batch, and why it is asked", async () => {
    const items = ({ names }: { names: string[] }): string[] => names.map((name) => `drop ${name}`);
    const rewriting = hooked(({ input }) => {
      const { names } = input as { names: string[] };
      return { verdict: "rewrite", input: { names: names.filter((name) => name !== "c") } };
    });
    const guarding: Plugin = {
      ...hooked(() => ({ verdict: "ask", reason: "It cannot be undone.", decides: OTHER, expiresInMs: 5_000 })),
      name: "guarding",
    };
    const harness = await asking({
      tools: [toolOf("drop", "destructive", { items: items as never })],
      plugins: [rewriting, guarding],
      script: [[call("drop", { names: ["a", "b", "c"] })]],
    });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ExtensionRecorded core/approval_requested {requestId: ask_c6_0, callId: c6_0, decides: person:bob, expiresAt: …, input: {names: [a, b]}, items: ["drop a", "drop b"], reason: "It cannot be undone.…(318 chars)
        8 ExtensionRecorded core/timer_set {id: "expiry of ask_c6_0", dueAt: …, callId: c6_0}
        9 Waiting on=approval detail={waits: [{on: approval, callId: c6_0, ref: ask_c6_0}]}
      `),
    );
    await harness.post(decisionOn(await only(harness), "approve"), OTHER);
    await harness.rest();
    expect(harness.ran.map(({ input }) => input)).toEqual([{ names: ["a", "b"] }]);
  });
});

describe("who is strictest wins", () => {
  const policies: [string, ApprovalPolicy, string, string][] = [
    ["nobody says anything", {}, "allow", "ok"],
    ["the policy asks by effect", { effects: { destructive: "ask" } }, "allow", "asked"],
    ["the policy asks by name", { tools: { drop: "ask" } }, "allow", "asked"],
    ["the policy denies, the tool asks", { tools: { drop: "deny" } }, "ask", "denied"],
    ["the tool denies, the policy allows", { tools: { drop: "allow" } }, "deny", "denied"],
    ["the policy asks of another effect", { effects: { write: "ask" } }, "allow", "ok"],
  ];
  it.each(policies)("%s", async (_, approvals, approval, becomes) => {
    const tools = [toolOf("drop", "destructive", { approval: approval as "ask" })];
    const harness = await asking({ tools, approvals });
    const log = await harness.log();
    const came = (await harness.row()).waitingOn === "approval" ? "asked" : log.includes("denied") ? "denied" : "ok";
    expect(came).toBe(becomes);
    expect(harness.ran).toHaveLength(becomes === "ok" ? 1 : 0);
  });

  it("a tool may say it of each input", async () => {
    const approval = ({ name }: { name: string }) => (name === "a" ? ("ask" as const) : ("allow" as const));
    const harness = await asking({
      tools: [toolOf("drop", "destructive", { approval: approval as never })],
      script: [[call("drop", { name: "a" }), call("drop", { name: "b" })]],
    });
    expect(harness.ran.map(({ input }) => input)).toEqual([{ name: "b" }]);
  });
});

describe("a decision", () => {
  it("of yes is committed before the call runs, and is exactly one run", async () => {
    const harness = await asking();
    await decide(harness, "approve");
    expect(await harness.log(8)).toBe(
      lines(`
        9 InputTaken items=[Decide {requestId: ask_c6_0, inputHash: …, showing: 0, decision: approve}] through=2
        10 ExtensionRecorded core/approval_settled {requestId: ask_c6_0, callId: c6_0, decision: approved, by: person:ada}
        11 ToolStarted c6_0 drop {name: a}
        12 ToolFinished c6_0 "drop is done"
        13 ModelCalled model=script request_hash=A
        14 ModelReplied "So be it." stop_reason=end_turn
        15 Waiting on=input outcome=completed detail={answer: "So be it."}
      `),
    );
    expect(harness.ran).toHaveLength(1);
    expect(await statuses(harness)).toEqual([["ask_c6_0", "approved"]]);
  });

  it("of no is exactly one denial, with its reason", async () => {
    const harness = await asking();
    await decide(harness, "deny", { reason: "not that one" });
    expect(await harness.log(9)).toBe(
      lines(`
        10 ExtensionRecorded core/approval_settled {requestId: ask_c6_0, callId: c6_0, decision: denied, by: person:ada, reason: "not that one"}
        11 ToolFinished c6_0 denied "Denied: not that one. It was not run."
        12 ModelCalled model=script request_hash=A
        13 ModelReplied "So be it." stop_reason=end_turn
        14 Waiting on=input outcome=completed detail={answer: "So be it."}
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("with a corrected input runs as corrected, and the log shows it", async () => {
    const harness = await asking();
    await decide(harness, "approve", { input: { name: "b" } });
    expect(await harness.log(9)).toContain("decision: approved, by: person:ada, input: {name: b}, inputHash: …");
    expect(await harness.log(9)).toContain("11 ToolStarted c6_0 drop {name: b}");
    expect(harness.ran.map(({ input }) => input)).toEqual([{ name: "b" }]);
  });

  it("with a correction that does not fit the schema runs nothing: it is asked again", async () => {
    const inputSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
    const harness = await asking({ tools: [toolOf("drop", "destructive", { approval: "ask", inputSchema })] });
    await decide(harness, "approve", { input: { name: 7 } });
    expect(harness.ran).toEqual([]);
    expect(await statuses(harness)).toEqual([
      ["ask_c6_0", "void"],
      ["ask_c6_0_2", "pending"],
    ]);
    expect(await harness.log(9)).toContain('decision: void, by: person:ada, reason: "the corrected input does not fit');
    await decide(harness, "approve");
    expect(harness.ran.map(({ input }) => input)).toEqual([{ name: "a" }]);
  });

  it("is good for one call: the next that is the same is asked for", async () => {
    const harness = await asking({
      script: [[call("drop", { name: "a" })], [call("drop", { name: "a" })], "So be it."],
    });
    await decide(harness, "approve");
    expect(harness.ran).toHaveLength(1);
    expect((await only(harness)).requestId).toMatch(/^ask_c\d+_0$/);
    await decide(harness, "deny");
    expect(harness.ran).toHaveLength(1);
  });

  it("says nothing of a call whose input a hook has changed since: it is asked again", async () => {
    let times = 0;
    const drifting = hooked(({ input }) => {
      times += 1;
      return { verdict: "rewrite", input: { ...(input as object), times: Math.min(times, 2) } };
    });
    const harness = await asking({ plugins: [drifting] });
    const first = await only(harness);
    await decide(harness, "approve");
    const second = await only(harness);
    expect(second.requestId).toBe("ask_c6_0_2");
    expect(second.inputHash).not.toBe(first.inputHash);
    await decide(harness, "approve");
    expect(harness.ran.map(({ input }) => input)).toEqual([{ name: "a", times: 2 }]);
  });

  it("says nothing of another definition of its tool: it is asked again", async () => {
    const harness = await asking();
    const [first] = harness.processes;
    await first?.worker.stop();
    await harness.use({ tools: [toolOf("drop", "destructive", { approval: "ask", description: "drops more" })] });
    harness.start();
    await decide(harness, "approve");
    expect(harness.ran).toEqual([]);
    expect(await statuses(harness)).toEqual([
      ["ask_c6_0", "approved"],
      ["ask_c6_0_2", "pending"],
    ]);
    await decide(harness, "approve");
    expect(harness.ran).toHaveLength(1);
  });

  it("that came first counts, whatever front end it came from", async () => {
    const harness = await asking();
    const request = await only(harness);
    const [yes, no] = await Promise.all([
      harness.store.post({ taskId: TASK, by: OWNER, key: "here", item: decisionOn(request, "approve") }),
      harness.store.post({ taskId: TASK, by: OWNER, key: "there", item: decisionOn(request, "deny") }),
    ]);
    expect(yes.decided).toBeUndefined();
    expect(no.decided).toMatchObject({ decision: "approve", by: OWNER });
    await harness.rest();
    expect(harness.ran).toHaveLength(1);
  });
});

describe("a request ends without a decision", () => {
  it("when its time is over: the task wakes by itself, and the call is denied", async () => {
    const harness = await asking({ settings: { approvalExpiryMs: 60_000 } });
    const request = await only(harness);
    await harness.pass(61_000);
    await harness.rest();
    await expect(harness.post(decisionOn(request, "approve"))).rejects.toMatchObject({
      refusal: "settled",
      state: "expired",
    });
    expect(await harness.log(9)).toBe(
      lines(`
        10 InputTaken items=[TimerFired {timerId: "expiry of ask_c6_0", dueAt: …}] through=2
        11 ExtensionRecorded core/approval_settled {requestId: ask_c6_0, callId: c6_0, decision: expired, by: core}
        12 ToolFinished c6_0 denied "Denied: nobody decided in time. It was not run."
        13 ModelCalled model=script request_hash=A
        14 ModelReplied "So be it." stop_reason=end_turn
        15 Waiting on=input outcome=completed detail={answer: "So be it."}
      `),
    );
  });

  it("and its timer goes with a decision", async () => {
    const harness = await asking({ settings: { approvalExpiryMs: 60_000 } });
    await decide(harness, "approve");
    expect(await harness.store.readRows({ taskId: TASK, table: "timers" })).toEqual([]);
    expect((await harness.row()).nextTimerAt).toBeNull();
  });

  it.each(["Interrupt", "Cancel"] as const)("by the item %s, in the append that stops the turn", async (type) => {
    const harness = await asking({ settings: { approvalExpiryMs: 60_000 } });
    await post(harness, { type });
    expect(await statuses(harness)).toEqual([["ask_c6_0", "cancelled"]]);
    expect(await harness.store.readRows({ taskId: TASK, table: "timers" })).toEqual([]);
    expect(harness.appends.at(-1)?.at(-1)).toBe("Waiting");
    expect(harness.ran).toEqual([]);
  });

  it("by a correction: the call is skipped, and what is asked next is new", async () => {
    const harness = await asking({ settings: { approvalExpiryMs: 60_000 } });
    await post(harness, { type: "Steer", text: "leave it" });
    expect(await statuses(harness)).toEqual([["ask_c6_0", "cancelled"]]);
    expect(await harness.store.readRows({ taskId: TASK, table: "timers" })).toEqual([]);
    expect((await harness.row()).outcome).toBe("completed");
  });

  it("by the end of a one-shot task", async () => {
    const harness = await asking({ mode: "oneShot" });
    await post(harness, { type: "Cancel" });
    expect(await harness.row()).toMatchObject({ status: "ended", outcome: "cancelled" });
    expect(await statuses(harness)).toEqual([["ask_c6_0", "cancelled"]]);
  });
});

/** A drop is asked about, and the turn pauses, for its process dies in a send. */
const askedAndPaused = async (): Promise<Harness> => {
  const harness: Harness = await createHarness({
    tools: [askTool, toolOf("send", "write", { execute: () => harness.sleep(60_000).then(() => "sent") })],
    script: [[call("drop", { name: "a" }), call("send")], "So be it."],
    onInterrupt: "pause",
    restarts: false,
  });
  const { actor } = harness.start();
  await harness.until(() => harness.ran.length === 1);
  harness.system.scheduler.crash(actor);
  await harness.pass(10_000);
  harness.start();
  await harness.rest();
  await post(harness, { type: "Resolve", callId: "c6_1", outcome: "done", verification: "looked" });
  return harness;
};

const approvedAndPaused = async (): Promise<Harness> => {
  const harness = await askedAndPaused();
  await decide(harness, "approve");
  expect(await statuses(harness)).toEqual([["ask_c6_0", "approved"]]);
  return harness;
};

describe("an explicit resume", () => {
  it("is void while a request is pending, and voids what was approved before it", async () => {
    const harness = await askedAndPaused();
    await post(harness, { type: "Resume" });
    expect((await harness.row()).waitingOn).toBe("resume");
    await decide(harness, "approve");
    expect(harness.ran.map(({ name }) => name)).toEqual(["send"]);
    await post(harness, { type: "Resume" });
    expect(harness.ran.map(({ name }) => name)).toEqual(["send"]);
    expect((await only(harness)).requestId).toBe("ask_c6_0_2");
    expect(await statuses(harness)).toEqual([
      ["ask_c6_0", "void"],
      ["ask_c6_0_2", "pending"],
    ]);
    await decide(harness, "approve");
    expect(harness.ran.map(({ name }) => name)).toEqual(["send", "drop"]);
  });
});

describe("a move", () => {
  it("voids what was approved in the old place, and says so of its request", async () => {
    const harness = await approvedAndPaused();
    await post(harness, {
      type: "Handoff",
      origin: { frontEnd: "test", place: "there", conversation: "two", private: false },
    });
    expect((await harness.row()).origin.place).toBe("there");
    expect(await statuses(harness)).toEqual([["ask_c6_0", "void"]]);
    expect(await harness.log()).toContain("{requestId: ask_c6_0, callId: c6_0, decision: void, by: core}");
    expect((await harness.log()).match(/decision: void/g)).toHaveLength(1);
    await post(harness, { type: "Resume" });
    expect((await only(harness)).requestId).toBe("ask_c6_0_2");
    expect((await harness.log()).match(/decision: void/g)).toHaveLength(1);
  });
});

describe("auto-approve", () => {
  const on: NewItem = { type: "Reconfigure", settings: { autoApprove: true } };
  const off: NewItem = { type: "Reconfigure", settings: { autoApprove: false } };

  it("records each request and that it settled it, in one append, before the call runs", async () => {
    const harness = await asking({ settings: { autoApprove: true, approvalExpiryMs: 60_000 } });
    expect(await harness.log(6)).toBe(
      lines(`
        7 ExtensionRecorded core/approval_requested {requestId: ask_c6_0, callId: c6_0, decides: person:ada, inputHash: …, definition: …
        8 ExtensionRecorded core/approval_settled {requestId: ask_c6_0, callId: c6_0, decision: approved, by: person:ada, auto: true}
        9 ToolStarted c6_0 drop {name: a}
        10 ToolFinished c6_0 "drop is done"
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "So be it." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "So be it."}
      `),
    );
    const [append] = harness.appends.filter((types) => types.includes("ToolStarted"));
    expect(append).toEqual(["ModelReplied", "ExtensionRecorded", "ExtensionRecorded", "ToolStarted"]);
  });

  it("is the owner's to switch, and holds from the next request on", async () => {
    const harness = await asking({
      script: [
        [call("drop", { name: "a" })],
        [call("drop", { name: "b" })],
        "One.",
        [call("drop", { name: "c" })],
        "Two.",
      ],
    });
    await post(harness, on, OTHER);
    await post(harness, on);
    expect((await only(harness)).requestId).toBe("ask_c6_0");
    await decide(harness, "deny");
    expect(harness.ran.map(({ input }) => input)).toEqual([{ name: "b" }]);
    await post(harness, off);
    await post(harness, { type: "Say", text: "once more" });
    expect(harness.ran).toHaveLength(1);
    expect((await harness.row()).waitingOn).toBe("approval");
  });

  it("is not for another who decides", async () => {
    const plugins = [hooked(() => ({ verdict: "ask", decides: OTHER }))];
    const harness = await asking({ settings: { autoApprove: true }, plugins });
    expect(await only(harness)).toMatchObject({ decides: OTHER });
  });

  it("is not for a collaborator that a hook names, who never decides: the owner is asked, automatic or not", async () => {
    const plugins = [hooked(() => ({ verdict: "ask", decides: OTHER }))];
    const script = [[call("drop", { name: "a" })], "So be it."];
    const harness = await createHarness({ tools: [askTool], settings: { autoApprove: true }, plugins, script });
    await harness.post({ type: "Collaborate", principal: OTHER, change: "add" });
    harness.start();
    await harness.rest();
    const request = await only(harness);
    expect(request.decides).toBe(OWNER);
    await expect(harness.post(decisionOn(request, "approve"), OTHER)).rejects.toMatchObject({ refusal: "not_yours" });
    expect(harness.ran).toEqual([]);
    await decide(harness, "approve");
    expect(harness.ran).toHaveLength(1);
  });

  it("never allows what a policy denies", async () => {
    const harness = await asking({ settings: { autoApprove: true }, approvals: { effects: { destructive: "deny" } } });
    expect(harness.ran).toEqual([]);
  });
});

describe("a collaborator's correction", () => {
  const options: HarnessOptions = {
    tools: [toolOf("drop", "destructive"), toolOf("look", "read")],
    settings: { autoApprove: true },
    plugins: [hooked(({ name }) => ({ verdict: name === "drop" ? "ask" : "allow" }))],
    script: [[call("look")], [call("drop", { name: "a" })], "One.", [call("drop", { name: "a" })], "Two."],
  };

  it("makes the owner decide on every later change, whatever else allows it, also after a resume", async () => {
    const harness: Harness = await createHarness({
      ...options,
      plan: before("store.append", 2, () => harness.post({ type: "Steer", text: "rather drop a" }, OTHER)),
    });
    await harness.post({ type: "Collaborate", principal: OTHER, change: "add" });
    harness.start();
    await harness.rest();
    expect(harness.ran).toEqual([]);
    const request = await only(harness);
    expect(request.decides).toBe(OWNER);
    await expect(harness.post(decisionOn(request, "approve"), OTHER)).rejects.toMatchObject({ refusal: "not_yours" });
    await post(harness, { type: "Interrupt" });
    await post(harness, { type: "Resume" });
    await post(harness, { type: "Say", text: "go on" });
    expect((await only(harness)).decides).toBe(OWNER);
    await decide(harness, "approve");
    expect(harness.ran.map(({ name }) => name)).toEqual(["drop"]);
  });
});

describe("a redaction", () => {
  it("of the input that was asked about: nothing runs", async () => {
    const harness = await asking();
    const seqs = [6, 7];
    const request = await only(harness);
    await harness.store.redact({ taskId: TASK, seqs, secret: harness.system.chance.bytes(32) });
    await post(harness, decisionOn(request, "approve"));
    expect(harness.ran).toEqual([]);
  });

  it("of a correction that was not taken yet: nothing runs, it is asked again", async () => {
    const harness = await asking();
    const [process] = harness.processes;
    await process?.worker.stop();
    const { seq } = await harness.post(decisionOn(await only(harness), "approve", { input: { name: "b" } }));
    await harness.store.redact({ taskId: TASK, seqs: [], items: [seq], secret: harness.system.chance.bytes(32) });
    harness.start();
    await harness.rest();
    expect(harness.ran).toEqual([]);
    expect(await statuses(harness)).toEqual([
      ["ask_c6_0", "void"],
      ["ask_c6_0_2", "pending"],
    ]);
  });
});
