import { describe, expect, it } from "vitest";
import { text } from "../core/messages.ts";
import type { Plugin } from "../plugins/plugin.ts";
import { openText } from "../store/seal.ts";
import { call } from "../testing/given.ts";
import { before, both } from "../testing/fault-plans.ts";
import { createHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";
import { fails, hang, tries } from "../testing/scripted-answers.ts";

const SECRET = "swordfish";

/** A task whose person says the secret; it is redacted right before an append of the runner. */
const redacted = async (
  nth: number,
  more: Partial<HarnessOptions> = {},
  afterwards: () => void = () => undefined,
): Promise<Harness> => {
  const harness: Harness = await createHarness({
    objective: "do it",
    tools: [toolOf("look", "read"), toolOf("send", "write")],
    script: [[call("send")], "It is done."],
    plan: before("store.append", nth, () => redact(harness).then(afterwards)),
    ...more,
  });
  await harness.post({ type: "Say", text: SECRET });
  harness.start();
  await harness.rest();
  return harness;
};

/** Redacts every event that holds the secret, and what of it waits in the inbox; all of it at once. */
const redact = ({ store, state, system }: Harness): Promise<unknown> => {
  const events = state.tasks.get("task")?.events ?? [];
  const seqs = events
    .filter(({ content }) => openText(state.seal, "task", content).includes(SECRET))
    .map(({ seq }) => seq);
  return store.redact({ taskId: "task", seqs, items: [2], secret: system.chance.bytes(32) });
};

/** The secret is in no event, in no snapshot, and in no request that was made after it was redacted. */
const expectGone = async (harness: Harness): Promise<void> => {
  const { store, sent } = harness;
  const bodies = (await store.read({ taskId: "task" })).map(({ body }) => body);
  expect(bodies.filter((body) => body.includes(SECRET))).toEqual([]);
  const snapshot = await store.getSnapshot({ taskId: "task", version: "simulation" });
  expect(new TextDecoder().decode(snapshot?.bytes ?? new Uint8Array()).includes(SECRET)).toBe(false);
  expect(JSON.stringify(sent.at(-1)?.request).includes(SECRET)).toBe(false);
};

describe("a redaction while a turn runs", () => {
  it("before the first append drops what was picked up and taken; both are made anew", async () => {
    const harness = await redacted(1);
    expect(await harness.log()).toBe(
      lines(`
        1 TaskCreated agent=harnessed mode=conversation owner=person:ada
        2 ExtensionRecorded core/prompts
        3 ExtensionRecorded core/plugins
        4 InputTaken items=[Say "do it", Say [redacted]] through=2
        5 ModelCalled model=script request_hash=A
        6 ModelReplied tool_use send {} stop_reason=tool_use
        7 ToolStarted c6_0 send {}
        8 ToolFinished c6_0 "send is done"
        9 ModelCalled model=script request_hash=B
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.sent[0]?.request.tools.map(({ name }) => name)).toEqual(["look", "send"]);
    await expectGone(harness);
  });

  it("before a model call makes the request anew, without the words", async () => {
    const harness = await redacted(3, { script: [tries(fails("overloaded"), [call("send")]), "It is done."] });
    expect((await harness.log(4)).replaceAll(/(model_failed) .*/g, "$1")).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/model_failed
        7 ModelCalled model=script request_hash=B attempt=2
        8 ModelReplied tool_use send {} stop_reason=tool_use
        9 ToolStarted c8_0 send {}
        10 ToolFinished c8_0 "send is done"
        11 ModelCalled model=script request_hash=C
        12 ModelReplied "It is done." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    await expectGone(harness);
  });

  it("drops a reply that is not yet appended, and asks again without the words", async () => {
    const harness = await redacted(2, {
      script: [tries([call("send", { to: SECRET })], [call("send")]), "It is done."],
    });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelCalled model=script request_hash=B attempt=2
        7 ModelReplied tool_use send {} stop_reason=tool_use
        8 ToolStarted c7_0 send {}
        9 ToolFinished c7_0 "send is done"
        10 ModelCalled model=script request_hash=C
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.sent).toHaveLength(3);
    expect(JSON.stringify(harness.sent[0]?.request).includes(SECRET)).toBe(true);
    expect(JSON.stringify(harness.sent[1]?.request).includes(SECRET)).toBe(false);
    expect(harness.ran).toHaveLength(1);
    await expectGone(harness);
  });

  it("keeps a result that is not yet appended: it happened, once", async () => {
    const harness = await redacted(3);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ToolFinished c6_0 "send is done"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toHaveLength(1);
    await expectGone(harness);
  });

  /** A tool that says what it finds in its state, which holds the person's words. */
  const quoting = (effect: "read" | "internal" | "write", held?: Promise<undefined>) => {
    let runs = 0;
    const plugin: Plugin = {
      name: "memory",
      version: "1",
      records: { ran: { v: 1 } },
      reducer: {
        initial: () => "",
        reduce: (state, event) => (JSON.stringify(event).includes(SECRET) ? SECRET : state),
      },
      tools: [
        toolOf("quote", effect, {
          execute: async (_, context) => {
            runs += 1;
            const found = String(context.state);
            context.record({ kind: "ran", data: { found } });
            await held;
            return `it says ${found}`;
          },
        }),
      ],
      hooks: {
        afterTool: (_, { content }, view) => {
          view.record({ kind: "ran", data: { content } });
        },
      },
    };
    return { plugins: [plugin], script: [[call("quote")], "It is done."], ran: () => runs };
  };

  it.each(["read", "internal"] as const)("runs a %s call again that looked at what is gone since", async (effect) => {
    const { ran, ...more } = quoting(effect);
    const harness = await redacted(3, more);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 quote {}
        8 ExtensionRecorded [redacted] memory/ran {}
        9 ToolStarted c6_0 quote {} attempt=2
        10 ExtensionRecorded memory/ran {found: ""}
        11 ToolFinished c6_0 "it says "
        12 ExtensionRecorded memory/ran {content: [{type: text, text: "it says "}]}
        13 ModelCalled model=script request_hash=A
        14 ModelReplied "It is done." stop_reason=end_turn
        15 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(ran()).toBe(2);
    await expectGone(harness);
  });

  it("leaves a gap for the result of a write that looked at what is gone since: it happened, once", async () => {
    const { ran, ...more } = quoting("write");
    const harness = await redacted(3, more);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 quote {}
        8 ExtensionRecorded [redacted] memory/ran {}
        9 ToolFinished c6_0 "[removed: this content was redacted]"
        10 ExtensionRecorded [redacted] memory/ran {}
        11 ModelCalled model=script request_hash=A
        12 ModelReplied "It is done." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(ran()).toBe(1);
    await expectGone(harness);
  });

  it.each([
    ["keeps", "is still there", 99, 'reason: threw, message: "it says "}'],
    ["drops", "is gone since", 3, "reason: threw}"],
  ])("%s the message of a write that failed with what %s", async (_, __, nth, told) => {
    const { plugins, script } = quoting("write");
    const throwing = toolOf("quote", "write", {
      execute: (_input, context) => {
        throw new Error(`it says ${String(context.state)}`);
      },
    });
    const harness = await redacted(nth, { plugins: plugins.map((each) => ({ ...each, tools: [throwing] })), script });
    expect(await harness.log(7)).toContain(told);
  });

  it("does the same for a call that was still running then", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    const { ran, plugins } = quoting("read", held);
    const script = [[call("look"), call("quote")], "It is done."];
    const harness = await redacted(3, { plugins, script }, () => release(undefined));
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolStarted c6_1 quote {}
        9 ToolFinished c6_0 "look is done"
        10 ExtensionRecorded memory/ran {content: [{type: text, text: "look is done"}]}
        11 ToolStarted c6_1 quote {} attempt=2
        12 ExtensionRecorded memory/ran {found: ""}
        13 ToolFinished c6_1 "it says "
        14 ExtensionRecorded memory/ran {content: [{type: text, text: "it says "}]}
        15 ModelCalled model=script request_hash=A
        16 ModelReplied "It is done." stop_reason=end_turn
        17 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(ran()).toBe(2);
    await expectGone(harness);
  });

  it("keeps the records that belong to a result, and drops words ahead of a call, which are made anew", async () => {
    const notes: Plugin = {
      name: "notes",
      version: "1",
      records: { seen: { v: 1 }, said: { v: 1 } },
      reminders: (state) => [
        {
          kind: "said",
          data: null,
          message: [text(`Said: ${JSON.stringify(state.messages).includes(SECRET) ? SECRET : "nothing"}`)],
        },
      ],
      hooks: {
        afterTool: (_, __, view) => {
          view.record({ kind: "seen", data: { sent: true } });
        },
      },
    };
    const harness = await redacted(3, {
      plugins: [notes],
      script: [[call("send")], "It is done."],
      tools: [
        toolOf("send", "write", { execute: (_, context) => (context.record({ kind: "noted", data: {} }), "sent") }),
      ],
    });
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolStarted c7_0 send {}
        9 ExtensionRecorded test/noted {}
        10 ToolFinished c7_0 "sent"
        11 ExtensionRecorded notes/seen {sent: true}
        12 ExtensionRecorded notes/said null message="Said: nothing"
        13 ModelCalled model=script request_hash=A
        14 ModelReplied "It is done." stop_reason=end_turn
        15 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    await expectGone(harness);
  });

  it("drops the result of a call whose reply is dropped with it", async () => {
    const harness = await redacted(2, { script: [tries([call("fly"), call("send")], [call("send")]), "It is done."] });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelCalled model=script request_hash=B attempt=2
        7 ModelReplied tool_use send {} stop_reason=tool_use
        8 ToolStarted c7_0 send {}
        9 ToolFinished c7_0 "send is done"
        10 ModelCalled model=script request_hash=C
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ends).toEqual(["parked"]);
    await expectGone(harness);
  });

  it("before the Waiting drops the answer, and asks again", async () => {
    const harness = await redacted(2, { script: [tries(`You said ${SECRET}.`, "You said something.")] });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelCalled model=script request_hash=B attempt=2
        7 ModelReplied "You said something." stop_reason=end_turn
        8 Waiting on=input outcome=completed detail={answer: "You said something."}
      `),
    );
    await expectGone(harness);
  });

  it("before the end of a one-shot drops the answer, and asks again", async () => {
    const harness = await redacted(2, {
      mode: "oneShot",
      script: [tries(`You said ${SECRET}.`, "You said something.")],
    });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelCalled model=script request_hash=B attempt=2
        7 ModelReplied "You said something." stop_reason=end_turn
        8 TaskEnded outcome=done answer="You said something."
      `),
    );
    await expectGone(harness);
  });

  it("before a stop gives the claim back costs no result", async () => {
    const slow = toolOf("send", "write", { execute: async () => harness.sleep(1_000).then(() => "sent") });
    const harness: Harness = await createHarness({
      tools: [slow],
      script: [[call("send")], "It is done."],
      plan: before("store.append", 3, () => redact(harness)),
    });
    await harness.post({ type: "Say", text: SECRET });
    const { worker } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    void worker.stop();
    await harness.until(() => harness.ends.length === 1);
    expect(harness.ends).toEqual(["stopped"]);
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 "sent"
      `),
    );
    harness.start();
    await harness.rest();
    expect(harness.ran).toHaveLength(1);
    await expectGone(harness);
  });

  it("of an announced call's input keeps the call from running", async () => {
    const harness: Harness = await createHarness({
      tools: [toolOf("send", "write")],
      script: [[call("send", { to: SECRET })], "It is done."],
      plan: both(
        before("store.append", 2, () => harness.post({ type: "Say", text: "wait" })),
        before("store.append", 3, () => redact(harness)),
      ),
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(5)).toBe(
      lines(`
        6 ModelReplied [redacted] tool_use send {} stop_reason=tool_use
        7 ToolStarted [redacted] c6_0 send null
        8 InputTaken items=[Say [redacted]] through=2
        9 ToolFinished c6_0 skipped "[removed: this content was redacted]"
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ran).toEqual([]);
    await expectGone(harness);
  });

  it("is made anew under another secret: hashes of before are not compared with those of after", async () => {
    const harness = await createHarness({ script: [tries(hang, "Hello.")] });
    await harness.post({ type: "Say", text: SECRET });
    const { actor } = harness.start();
    await harness.until(() => harness.sent.length === 1);
    await redact(harness);
    harness.system.scheduler.crash(actor);
    await harness.rest();
    const called = (await harness.events()).flatMap(({ event }) => (event.type === "ModelCalled" ? [event] : []));
    expect(called).toHaveLength(2);
    expect(called[0]?.requestHash === called[1]?.requestHash).toBe(called[0]?.revision === called[1]?.revision);
    expect(harness.system.notes.join()).not.toContain("differs");
  });
});

describe("a request that is made again and differs", () => {
  it("is told to the operator, and seen in the log", async () => {
    const harness = await createHarness({
      script: [tries(hang, "Hello.")],
      tools: [toolOf("look", "read")],
      checks: false,
    });
    const { actor } = harness.start();
    await harness.until(() => harness.sent.length === 1);
    await harness.use({ tools: [toolOf("look", "read", { description: "look closely" })] });
    harness.system.scheduler.crash(actor);
    await harness.rest();
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/plugins
        7 ModelCalled model=script request_hash=B attempt=2
        8 ModelReplied "Hello." stop_reason=end_turn
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(harness.system.notes.join()).toContain("the request made again differs from that at seq 5: system or tools");
  });
});
