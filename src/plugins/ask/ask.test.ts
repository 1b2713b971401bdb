import { describe, expect, test } from "vitest";
import { call } from "../../testing/given.ts";
import { at } from "../../testing/fault-plans.ts";
import { TASK, createHarness, runHarness, toolOf, type HarnessOptions } from "../../testing/harness.ts";
import { lines } from "../../testing/printed-log.ts";
import { pluginContract } from "../plugin.contract.ts";
import type { ToolOutput } from "../plugin.ts";
import { ask } from "./ask.ts";

pluginContract("ask", { create: ask });

const asks = (question: string, choices?: readonly string[]) =>
  call("ask", { question, ...(choices === undefined ? {} : { choices }) });

const asking = (more: Partial<HarnessOptions> = {}): HarnessOptions => ({
  plugins: [ask()],
  script: [[asks("which one?", ["red", "blue"])], "Thanks."],
  ...more,
});

describe("a question", () => {
  test("parks its call, and the answer is the call's one result", async () => {
    const harness = await runHarness(asking());
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 ask {question: "which one?", choices: [red, blue]}
        8 ExtensionRecorded core/call_parked {callId: c6_0, on: answer, detail: {question: "which one?", choices: [red, blue]}}
        9 Waiting on=answer detail={waits: [{on: answer, callId: c6_0}]}
      `),
    );
    await harness.post({ type: "Answer", question: "c6_0", text: "green" });
    await harness.rest();
    expect(await harness.log(9)).toBe(
      lines(`
        10 InputTaken items=[Answer {question: c6_0, text: green}] through=2
        11 ToolFinished c6_0 "green"
        12 ModelCalled model=script request_hash=A
        13 ModelReplied "Thanks." stop_reason=end_turn
        14 Waiting on=input outcome=completed detail={answer: Thanks.}
      `),
    );
    expect(harness.ran.map(({ callId }) => callId)).toEqual(["c6_0"]);
  });

  test.each([
    ["before it was asked", "tool.ask", "crash_before"],
    ["after it was asked, before that was in the log", "tool.ask", "crash_after"],
    ["after that was in the log", "store.release", "crash_before"],
  ] as const)("survives a crash %s", async (_, port, fault) => {
    const harness = await runHarness(asking({ plan: at(port, fault) }));
    expect(await harness.row()).toMatchObject({ status: "waiting", waitingOn: "answer" });
    await harness.post({ type: "Answer", question: "c6_0", text: "red" });
    await harness.rest();
    expect(harness.sent.at(-1)?.request.messages.at(-1)).toMatchObject({
      role: "tool",
      results: [{ callId: "c6_0", status: "ok", content: [{ text: "red" }] }],
    });
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
  });

  test("is refused, and nobody asked, when it or a choice is empty", async () => {
    const harness = await runHarness(asking({ script: [[asks(" "), asks("which?", ["a", ""])], "Sorry."] }));
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
    const results = harness.sent.at(-1)?.request.messages.at(-1);
    expect(results).toMatchObject({ results: [{ status: "error" }, { status: "error" }] });
  });

  test("is over once the turn is interrupted: a late answer meets nothing", async () => {
    const harness = await runHarness(asking());
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ waitingOn: "resume", outcome: "paused", reason: "interrupted" });
    await harness.post({ type: "Answer", question: "c6_0", text: "red" });
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(JSON.stringify(harness.sent.at(-1)?.request.messages)).not.toContain('"red"}');
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
  });

  test("stands while other words come: they join after the answer", async () => {
    const harness = await runHarness(asking());
    await harness.post({ type: "Say", text: "hurry" });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ waitingOn: "answer" });
    await harness.post({ type: "Answer", question: "c6_0", text: "red" });
    await harness.rest();
    const roles = harness.sent.at(-1)?.request.messages.map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "user"]);
  });
});

test("a tool that changes anything outside cannot park its call", async () => {
  for (const effect of ["read", "write"] as const) {
    const parks = toolOf("parks", effect, { execute: () => ({ park: { on: "answer" } }) });
    const harness = await runHarness({ tools: [parks], script: [[call("parks")], "Done."] });
    expect(await harness.log()).not.toContain("call_parked");
    expect(await harness.row()).toMatchObject(
      effect === "read" ? { outcome: "completed" } : { outcome: "paused", reason: "unknown_action" },
    );
  }
});

test("a tool cannot park its call on what nothing from outside ends", async () => {
  const execute = () => ({ park: { on: "input" } }) as unknown as ToolOutput;
  const harness = await runHarness({
    tools: [toolOf("parks", "internal", { execute })],
    script: [[call("parks")], "Done."],
  });
  expect(await harness.log()).toContain("ToolFinished c6_0 error");
  expect(await harness.row()).toMatchObject({ outcome: "completed" });
});

describe("case-10: questions asked at once", () => {
  const two: HarnessOptions = {
    plugins: [ask()],
    tools: [toolOf("look", "read"), toolOf("send", "write")],
    script: [[asks("first?"), call("look"), asks("second?"), call("send")], "Thanks."],
  };

  test("have an id each, and the other calls of the reply go on meanwhile and never run again", async () => {
    const harness = await runHarness(two);
    expect(await harness.row()).toMatchObject({ waitingOn: "answer" });
    expect(harness.ran.map(({ name }) => name)).toEqual(["ask", "look", "ask", "send"]);
    await harness.post({ type: "Answer", question: "c6_2", text: "to the second" });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ waitingOn: "answer" });
    await harness.post({ type: "Answer", question: "c6_0", text: "to the first" });
    await harness.rest();
    expect(harness.sent.at(-1)?.request.messages.at(-1)).toMatchObject({
      results: [
        { callId: "c6_0", content: [{ text: "to the first" }] },
        { callId: "c6_1", content: [{ text: "look is done" }] },
        { callId: "c6_2", content: [{ text: "to the second" }] },
        { callId: "c6_3", content: [{ text: "send is done" }] },
      ],
    });
    expect(harness.ran).toHaveLength(4);
  });

  test("are answered once: the first answer by the inbox's order counts, whichever front end it came from", async () => {
    const harness = await runHarness(two);
    await harness.post({ type: "Answer", question: "c6_0", text: "one" });
    await harness.post({ type: "Answer", question: "c6_0", text: "two" });
    await harness.post({ type: "Answer", question: "c6_2", text: "three" });
    await harness.rest();
    const log = await harness.log();
    expect(log).toContain('ToolFinished c6_0 "one"');
    expect(log).not.toContain('ToolFinished c6_0 "two"');
  });
});

test("case-15, case-46: an answer to an old question does not meet a newer one", async () => {
  const harness = await runHarness({
    plugins: [ask()],
    script: [[asks("first?")], [asks("second?")], "Thanks."],
  });
  await harness.post({ type: "Answer", question: "c6_0", text: "one" });
  await harness.post({ type: "Answer", question: "c6_0", text: "late" });
  await harness.rest();
  expect(await harness.row()).toMatchObject({ waitingOn: "answer" });
  await harness.post({ type: "Answer", question: "c6_0", text: "later" });
  await harness.rest();
  expect(await harness.row()).toMatchObject({ waitingOn: "answer" });
});

test("an answer that was redacted before its result was written stays out of the log", async () => {
  const harness = await createHarness({
    ...asking(),
    // The redaction comes between the taking of the answer and the append of the call's result.
    plan: ({ port }) => {
      if (port === "store.append" && !redacted && taken()) {
        redacted = true;
        redact();
      }
      return null;
    },
  });
  let redacted = false;
  const taken = (): boolean => harness.appends.filter((types) => types.includes("InputTaken")).length === 2;
  const redact = (): void => {
    const seq = harness.appends.flat().lastIndexOf("InputTaken") + 2;
    void harness.store.redact({ taskId: TASK, seqs: [seq], secret: new Uint8Array(32).fill(7) });
  };
  harness.start();
  await harness.rest();
  await harness.post({ type: "Answer", question: "c6_0", text: "the secret word" });
  await harness.rest();
  expect(redacted).toBe(true);
  expect(JSON.stringify(await harness.events())).not.toContain("the secret word");
  expect(JSON.stringify(harness.sent)).not.toContain("the secret word");
  expect(await harness.row()).toMatchObject({ outcome: "completed" });
});
