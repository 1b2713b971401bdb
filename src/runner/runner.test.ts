import { describe, expect, it } from "vitest";
import type { Tool } from "../plugins/plugin.ts";
import { call } from "../testing/given.ts";
import { createHarness, runHarness, toolOf, type Harness } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";

describe("a task that reads a file and answers", () => {
  const read = toolOf("Read", "read", {
    inputSchema: { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] },
    execute: (({ file_path: path }, context) => {
      context.record({ kind: "noted", data: { path } });
      return "1\thello world";
    }) satisfies (input: { file_path: string }, context: Parameters<Tool["execute"]>[1]) => string as Tool["execute"],
  });

  it("leaves the log of the example, event for event", async () => {
    const harness = await runHarness({
      objective: "what is in a.txt?",
      tools: [read],
      script: [[call("Read", { file_path: "a.txt" })], "It says hello world."],
    });
    expect(await harness.log()).toBe(
      lines(String.raw`
        1 TaskCreated agent=harnessed mode=conversation owner=person:ada
        2 ExtensionRecorded core/prompts
        3 ExtensionRecorded core/plugins
        4 InputTaken items=[Say "what is in a.txt?"] through=1
        5 ModelCalled model=script request_hash=A
        6 ModelReplied tool_use Read {file_path: a.txt} stop_reason=tool_use
        7 ToolStarted c6_0 Read {file_path: a.txt}
        8 ExtensionRecorded test/noted {path: a.txt}
        9 ToolFinished c6_0 "1\thello world"
        10 ModelCalled model=script request_hash=B
        11 ModelReplied "It says hello world." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It says hello world."}
      `),
    );
    expect(harness.appends).toEqual([
      ["ExtensionRecorded", "ExtensionRecorded", "InputTaken", "ModelCalled"],
      ["ModelReplied", "ToolStarted"],
      ["ExtensionRecorded", "ToolFinished", "ModelCalled"],
      ["ModelReplied", "Waiting"],
    ]);
    expect(harness.ends).toEqual(["parked"]);
  });

  it("tells the store of prompts and results what it needs, and gives the claim back", async () => {
    const harness = await runHarness({ tools: [read], script: [[call("Read", { file_path: "a.txt" })], "Hello."] });
    expect(await harness.row()).toMatchObject({
      status: "waiting",
      waitingOn: "input",
      outcome: "completed",
      claimedBy: null,
      lastSeq: 12,
      inboxTaken: 1,
      requires: ["agent:harnessed", "plugin:test"],
    });
    const [usage] = await harness.store.readRows({ taskId: "task", table: "usage" });
    expect(usage).toMatchObject({ key: "turn script", set: { calls: 2, failed: 0, input: 20, output: 10 } });
  });
});

describe("a turn that is over", () => {
  const answered = (mode: "conversation" | "run" | "oneShot"): Promise<Harness> =>
    runHarness({ script: ["Hello.", "Hello again."], mode });

  it("is followed by another at the next Say, in a conversation", async () => {
    const harness = await answered("conversation");
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 Waiting on=input outcome=completed detail={answer: Hello.}
        8 InputTaken items=[Say "again"] through=2
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "Hello again." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "Hello again."}
      `),
    );
  });

  it("is followed by another only at a Resume, in a run; what was said meanwhile is queued", async () => {
    const harness = await answered("run");
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 Waiting on=resume outcome=completed detail={answer: Hello.}
        8 InputTaken items=[Say "again"] through=2
        9 Waiting on=resume outcome=completed detail={answer: Hello.}
      `),
    );
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(9)).toBe(
      lines(`
        10 InputTaken items=[Resume] through=3
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "Hello again." stop_reason=end_turn
        13 Waiting on=resume outcome=completed detail={answer: "Hello again."}
      `),
    );
    expect(harness.sent[1]?.request.messages).toHaveLength(3);
  });

  it("is the end of a one-shot", async () => {
    const harness = await answered("oneShot");
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelReplied "Hello." stop_reason=end_turn
        7 TaskEnded outcome=done answer="Hello."
      `),
    );
    expect(harness.ends).toEqual(["ended"]);
    await expect(harness.post({ type: "Say", text: "again" })).rejects.toMatchObject({ code: "ended" });
  });

  it("may be closed: the task ends", async () => {
    const harness = await answered("conversation");
    await harness.post({ type: "Close" });
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Close] through=2
        9 TaskEnded outcome=done answer="Hello." reason=closed
      `),
    );
  });

  it("may be reopened by a Resume", async () => {
    const harness = await answered("conversation");
    await harness.post({ type: "Resume", text: "once more" });
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Resume "once more"] through=2
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "Hello again." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "Hello again."}
      `),
    );
  });

  it("has nothing to cancel or to interrupt", async () => {
    const harness = await answered("conversation");
    await harness.post({ type: "Cancel" });
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Cancel, Interrupt] through=3
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });
});

describe("a turn that goes on and on", () => {
  it("pauses at its limit of steps, and goes on when it is resumed", async () => {
    const harness = await runHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")], [call("look")], [call("look")], "It is done."],
      settings: { maxSteps: 2 },
    });
    expect(await harness.log(11)).toBe(
      lines(`
        12 ToolFinished c10_0 "look is done"
        13 Waiting on=resume outcome=paused reason=max_steps
      `),
    );
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(13)).toBe(
      lines(`
        14 InputTaken items=[Resume] through=2
        15 ModelCalled model=script request_hash=A
        16 ModelReplied tool_use look {} stop_reason=tool_use
        17 ToolStarted c16_0 look {}
        18 ToolFinished c16_0 "look is done"
        19 ModelCalled model=script request_hash=B
        20 ModelReplied "It is done." stop_reason=end_turn
        21 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });
});

describe("an interrupt and what is said right after it", () => {
  it("stop the turn and begin another, in one claim", async () => {
    const slow = toolOf("look", "read", {
      execute: async (_, { signal }) => harness.sleep(60_000, signal).then(() => "looked"),
    });
    const harness: Harness = await createHarness({ tools: [slow], script: [[call("look")], "As you say."] });
    harness.start();
    await harness.until(() => harness.ran.length === 1);
    await harness.post({ type: "Interrupt" });
    await harness.post({ type: "Say", text: "rather do that" });
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolFinished c6_0 error "interrupted: interrupted"
        9 InputTaken items=[Interrupt, Say "rather do that"] through=3
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "As you say." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "As you say."}
      `),
    );
    // The abort was for the tool that ran, not for the model call that follows.
    expect(harness.sent).toHaveLength(2);
  });
});
