import { describe, expect, it } from "vitest";
import { text } from "../core/messages.ts";
import { ModelError, type Model, type ModelReply } from "../model/model.ts";
import { call } from "../testing/given.ts";
import { at, before } from "../testing/fault-plans.ts";
import { TASK, createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import type { RunnerPorts } from "./ports.ts";
import { lines } from "../testing/printed-log.ts";
import { fails, hang, tries, type Answer } from "../testing/scripted-answers.ts";

const reply = (more: Partial<ModelReply>): ModelReply => ({
  message: { parts: [text("Hello.")] },
  stopReason: "end_turn",
  tokens: "unknown",
  ...more,
});

/** The models of a worker that has all but `script`. */
const retired: RunnerPorts["model"] = (name) => {
  if (name === "script") throw new Error("it is retired.");
  const message = { parts: [text(`I am ${name}.`)] };
  return {
    name,
    contextTokens: null,
    async *stream() {
      yield { type: "reply", reply: { message, stopReason: "end_turn", tokens: "unknown" } };
    },
  };
};

const asking = (...answers: readonly Answer[]): Promise<Harness> => runHarness({ script: [tries(...answers)] });

/** How long after each failed attempt the next was announced (ms). */
const pausesOf = async (harness: Harness): Promise<number[]> => {
  const events = await harness.events();
  return events.flatMap(({ event, at }, index) => {
    const failed = event.type === "ExtensionRecorded" && event.kind === "model_failed";
    const next = events[index + 1];
    return failed && next?.event.type === "ModelCalled" ? [next.at - at] : [];
  });
};

const shorten = (log: string): string => log.replaceAll(/core\/model_failed.*/g, "core/model_failed");

describe("a failed attempt", () => {
  it.each(["overloaded", "rate_limited", "network"] as const)("is made again when it is %s", async (errorClass) => {
    const harness = await asking(fails(errorClass, { status: 529 }), "Hello.");
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/model_failed {class: ${errorClass}, purpose: turn, attempt: 1, durationMs: 0, message: "it says ${errorClass}", status: 529, retryAt: …}
        7 ModelCalled model=script request_hash=A attempt=2
        8 ModelReplied "Hello." stop_reason=end_turn
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(harness.sent[1]?.request).toEqual(harness.sent[0]?.request);
  });

  it("is made again after a growing pause, five times at most, then the turn pauses", async () => {
    const harness = await asking(fails("overloaded"));
    expect(shorten(await harness.log(12))).toBe(
      lines(`
        13 ModelCalled model=script request_hash=A attempt=5
        14 ExtensionRecorded core/model_failed
        15 Waiting on=resume outcome=paused reason=model_overloaded
      `),
    );
    const pauses = await pausesOf(harness);
    expect(pauses).toHaveLength(4);
    pauses.forEach((pause, index) => {
      expect(pause).toBeGreaterThanOrEqual((500 * 2 ** index) / 2);
      expect(pause).toBeLessThanOrEqual(500 * 2 ** index + 1);
    });
  });

  it("is tried as often as the task's settings say", async () => {
    const harness = await runHarness({ script: [fails("network")], settings: { modelAttempts: 2 } });
    expect(harness.sent).toHaveLength(2);
    expect(await harness.row()).toMatchObject({ waitingOn: "resume", outcome: "paused", reason: "model_network" });
  });

  it("waits as long as the provider asks for, at least", async () => {
    const harness = await asking(fails("rate_limited", { retryAfterMs: 60_000 }), "Hello.");
    const [pause] = await pausesOf(harness);
    expect(pause).toBeGreaterThanOrEqual(60_000);
  });

  it("keeps the tokens that it used, and counts as failed", async () => {
    const harness = await asking(fails("overloaded", { tokens: { input: 3, output: 0 } }), "Hello.");
    const [usage] = await harness.store.readRows({ taskId: "task", table: "usage" });
    expect(usage?.set).toMatchObject({ calls: 2, failed: 1, unknown: 0, input: 13, output: 5 });
  });

  it("goes on when a paused turn is resumed, counted anew", async () => {
    const harness = await asking(...Array.from({ length: 6 }, () => fails("overloaded")), "Hello.");
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(shorten(await harness.log(14))).toBe(
      lines(`
        15 Waiting on=resume outcome=paused reason=model_overloaded
        16 InputTaken items=[Resume] through=2
        17 ModelCalled model=script request_hash=A attempt=6
        18 ExtensionRecorded core/model_failed
        19 ModelCalled model=script request_hash=A attempt=7
        20 ModelReplied "Hello." stop_reason=end_turn
        21 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });

  it("is made again by another process after its pause, when the first dies in it", async () => {
    const harness = await createHarness({ script: [tries(fails("rate_limited", { retryAfterMs: 60_000 }), "Hello.")] });
    const first = harness.start();
    await harness.until(() => harness.appends.length === 2);
    harness.system.scheduler.crash(first.actor);
    await harness.rest();
    expect(shorten(await harness.log(4))).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/model_failed
        7 ModelCalled model=script request_hash=A attempt=2
        8 ModelReplied "Hello." stop_reason=end_turn
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    const [pause] = await pausesOf(harness);
    expect(pause).toBeGreaterThanOrEqual(60_000);
  });

  it("ends its pause early for an interrupt", async () => {
    const harness = await createHarness({ script: [fails("rate_limited", { retryAfterMs: 3_600_000 })] });
    harness.start();
    await harness.until(() => harness.appends.length === 2);
    const posted = harness.now;
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    expect((await harness.timeOf("Waiting")) - posted).toBeLessThan(100);
    expect(await harness.log(6)).toBe(
      lines(`
        7 InputTaken items=[Interrupt] through=2
        8 Waiting on=resume outcome=paused reason=interrupted
      `),
    );
  });

  it("lets a message join before the next one", async () => {
    const harness = await createHarness({ script: [tries(fails("rate_limited", { retryAfterMs: 60_000 }), "Hello.")] });
    harness.start();
    await harness.until(() => harness.appends.length === 2);
    await harness.post({ type: "Say", text: "one more thing" });
    await harness.rest();
    expect(shorten(await harness.log(5))).toBe(
      lines(`
        6 ExtensionRecorded core/model_failed
        7 InputTaken items=[Say "one more thing"] through=2
        8 ModelCalled model=script request_hash=A attempt=2
        9 ModelReplied "Hello." stop_reason=end_turn
        10 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(await pausesOf(harness)).toEqual([]);
  });
});

describe("what an attempt is given and what it costs", () => {
  it("is priced when it ends, also when it fails", async () => {
    const used = { input: 100, output: 10 } as const;
    const harness = await runHarness({
      script: [tries(fails("overloaded", { tokens: used }), reply({ tokens: used }))],
      ports: {
        price: (model, tokens) => (model === "script" && tokens !== "unknown" ? tokens.input / 1_000 : undefined),
      },
    });
    const events = (await harness.events()).map(({ event }) => event);
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "model_failed", data: expect.objectContaining({ priceEstimate: 0.1 }) }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: "ModelReplied", usage: { tokens: used, durationMs: 0, priceEstimate: 0.1 } }),
    );
  });

  it("may read the task's files and say what it leaves out", async () => {
    const seen: unknown[] = [];
    const notes: string[] = [];
    const model: Model = {
      name: "reader",
      contextTokens: null,
      async *stream(_request, { context }) {
        seen.push(await context.file?.("a"), await context.file?.("b"));
        context.note?.("a is too large");
        yield { type: "reply", reply: reply({}) };
      },
    };
    const harness = await createHarness({
      ports: { model: () => model, watcher: { note: (_task, message) => notes.push(message) } },
      checks: false, // They look at what the scripted model was sent.
    });
    await harness.store.putFile({ taskId: TASK, name: "a", mediaType: "text/plain", bytes: Uint8Array.of(7) });
    harness.start();
    await harness.rest();
    expect(seen).toEqual([Uint8Array.of(7), null]);
    expect(notes).toEqual(["a is too large"]);
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
  });
});

describe("a failure that another attempt cannot mend", () => {
  it.each(["auth", "bad_request", "refused"] as const)("fails the turn: %s", async (errorClass) => {
    const harness = await asking(fails(errorClass));
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/model_failed {class: ${errorClass}, purpose: turn, attempt: 1, durationMs: 0, message: "it says ${errorClass}"}
        7 ExtensionRecorded core/turn_failed {reason: model_${errorClass}, message: "it says ${errorClass}"}
        8 Waiting on=resume outcome=failed reason=model_${errorClass}
      `),
    );
  });

  it("ends a one-shot", async () => {
    const harness = await runHarness({ script: [fails("auth")], mode: "oneShot" });
    expect(await harness.log(7)).toBe(
      lines(`
        8 TaskEnded outcome=failed reason=model_auth
      `),
    );
  });

  it("is made again when the owner resumes", async () => {
    const harness = await asking(fails("auth"), "Hello.");
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(8)).toBe(
      lines(`
        9 InputTaken items=[Resume] through=2
        10 ModelCalled model=script request_hash=A attempt=2
        11 ModelReplied "Hello." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });

  it("fails the turn when the model throws something else", async () => {
    const harness = await asking(new TypeError("x is not a function"));
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/turn_failed {reason: error, message: "x is not a function"}
        7 Waiting on=resume outcome=failed reason=error
      `),
    );
  });

  it.each(["conversation", "run", "oneShot"] as const)("pauses a %s whose model is not to be had", async (mode) => {
    const harness = await runHarness({ mode, ports: { model: retired } });
    expect(await harness.log(4)).toMatch(
      /^5 ExtensionRecorded core\/turn_failed \{reason: model_missing, message: "the model script cannot be had: it is retired\. Give the task another .*\n6 Waiting on=resume outcome=paused reason=model_missing$/,
    );
    const [, , , , failed] = await harness.events();
    expect(failed?.event).toMatchObject({ data: { message: expect.stringContaining("perdure set task model=NAME") } });
    expect(harness.sent).toEqual([]);
    expect(harness.ends).toEqual(["parked"]);
  });

  it("goes on once the task was given another model and resumed", async () => {
    const harness = await runHarness({ ports: { model: retired } });
    await harness.post({ type: "Reconfigure", settings: { model: "newer" } });
    await harness.rest();
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 InputTaken items=[Reconfigure {settings: {model: newer}}] through=2
        8 ExtensionRecorded core/config {settings: {model: newer}, by: person:ada}
        9 Waiting on=resume outcome=paused reason=model_missing
        10 InputTaken items=[Resume] through=3
        11 ModelCalled model=newer request_hash=A
        12 ModelReplied "I am newer." stop_reason=end_turn
        13 Waiting on=input outcome=completed detail={answer: "I am newer."}
      `),
    );
  });

  it("pauses a turn whose provider has no such model", async () => {
    const gone = new ModelError("bad_request", "no such model", { status: 404 });
    const harness = await asking(gone, "Hello.");
    expect(await harness.log(5)).toMatch(
      /^6 ExtensionRecorded core\/model_failed \{class: bad_request.*status: 404.*\n7 ExtensionRecorded core\/turn_failed \{reason: model_missing.*\n8 Waiting on=resume outcome=paused reason=model_missing$/,
    );
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
  });

  it("goes on after a crash in mid-call whose model is gone, once there is another", async () => {
    const harness = await createHarness({ plan: at("model.stream", "crash_before"), restarts: false });
    const { actor } = harness.start();
    await harness.until(() => !actor.alive);
    harness.start({ ports: { model: retired } });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ outcome: "paused", reason: "model_missing" });
    await harness.post({ type: "Reconfigure", settings: { model: "newer" } });
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ outcome: "completed" });
  });

  it("fails the turn when the reply is none that a log can hold", async () => {
    const harness = await asking(reply({ tokens: { input: 0.5, output: 1 } }));
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/turn_failed {reason: error, message: "ModelReplied/usage/tokens/input: must be integer"}
        7 Waiting on=resume outcome=failed reason=error
      `),
    );
    expect(harness.ends).toEqual(["parked"]);
  });
});

describe("a reply that says nothing", () => {
  it.each<[string, Partial<ModelReply>]>([
    ["nothing at all", { message: { parts: [] } }],
    ["white space", { message: { parts: [text("  \n")] } }],
    ["reasoning alone", { message: { parts: [{ type: "reasoning", text: "I wonder" }] } }],
  ])("is asked for again: %s", async (_, empty) => {
    const harness = await asking(reply(empty), "Hello.");
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/model_failed {class: empty, purpose: turn, attempt: 1, durationMs: 0, message: "the reply was empty", tokens: unknown, retryAt: …}
        7 ModelCalled model=script request_hash=A attempt=2
        8 ModelReplied "Hello." stop_reason=end_turn
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });

  it("pauses the turn when it comes again and again", async () => {
    const harness = await asking(reply({ message: { parts: [] } }));
    expect(harness.sent).toHaveLength(5);
    expect(await harness.row()).toMatchObject({ waitingOn: "resume", outcome: "paused", reason: "model_empty" });
  });

  it("is asked for again when arguments of calls were cut, and nothing of it runs", async () => {
    const cut = reply({ message: { parts: [call("send", {})] }, broken: ["send"], stopReason: "max_tokens" });
    const harness = await runHarness({ tools: [toolOf("send", "write")], script: [tries(cut, "Hello.")] });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/model_failed {class: cut, purpose: turn, attempt: 1, durationMs: 0, message: "the arguments of send were cut or are not JSON", tokens: unknown, retryAt: …}
        7 ModelCalled model=script request_hash=A attempt=2
        8 ModelReplied "Hello." stop_reason=end_turn
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("counts as an answer when it was cut after some words", async () => {
    const harness = await asking(reply({ stopReason: "max_tokens" }));
    expect(await harness.log(5)).toBe(
      lines(`
        6 ModelReplied "Hello." stop_reason=max_tokens
        7 Waiting on=input outcome=completed reason=max_tokens detail={answer: Hello.}
      `),
    );
  });

  it("fails the turn when the model refuses", async () => {
    const harness = await asking(reply({ stopReason: "refusal" }));
    expect(await harness.log(5)).toBe(
      lines(`
        6 ModelReplied "Hello." stop_reason=refusal
        7 Waiting on=resume outcome=failed reason=refused
      `),
    );
  });
});

describe("a model call in flight", () => {
  const inFlight = async (more: Partial<HarnessOptions> = {}): Promise<Harness> => {
    const harness = await createHarness({ script: [tries(hang, "Hello.")], ...more });
    harness.start();
    await harness.until(() => harness.sent.length === 1);
    await harness.pass(300);
    return harness;
  };

  it.each(["Interrupt", "Cancel"] as const)("is aborted at once by an %s; nothing of it is kept", async (type) => {
    const harness = await inFlight();
    const posted = harness.now;
    await harness.post({ type });
    await harness.rest();
    expect((await harness.timeOf("Waiting")) - posted).toBeLessThan(100);
    const [outcome, on] = type === "Cancel" ? ["cancelled", "input"] : ["paused", "resume"];
    expect(await harness.log(5)).toBe(
      lines(`
        6 ExtensionRecorded core/model_failed {class: aborted, purpose: turn, attempt: 1, durationMs: 300, message: aborted}
        7 InputTaken items=[${type}] through=2
        8 Waiting on=${on ?? ""} outcome=${outcome ?? ""} reason=${type === "Cancel" ? "cancelled" : "interrupted"}
      `),
    );
  });

  it("is aborted by what came right before its announcement, though no hint told of it", async () => {
    const harness: Harness = await createHarness({
      script: [tries(hang, "Hello.")],
      plan: before("store.append", 1, () => harness.post({ type: "Interrupt" })),
      hints: false,
    });
    harness.start();
    await harness.rest();
    expect((await harness.timeOf("Waiting")) - (await harness.timeOf("ModelCalled"))).toBeLessThan(100);
    expect((await harness.row()).reason).toBe("interrupted");
  });

  it("is made again with the same bytes after an interrupt and a resume with nothing new said", async () => {
    const harness = await inFlight();
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(8)).toBe(
      lines(`
        9 InputTaken items=[Resume] through=3
        10 ModelCalled model=script request_hash=A attempt=2
        11 ModelReplied "Hello." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    expect(harness.sent[1]?.request).toEqual(harness.sent[0]?.request);
  });

  it("is not disturbed by a message, which joins after the reply", async () => {
    const slow: Answer = async ({ sleep }) => sleep(5_000).then(() => "Hello.");
    const harness = await inFlight({ script: [slow, "As you say."] });
    await harness.post({ type: "Say", text: "one more thing" });
    await harness.rest();
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelReplied "Hello." stop_reason=end_turn
        7 InputTaken items=[Say "one more thing"] through=2
        8 ModelCalled model=script request_hash=B
        9 ModelReplied "As you say." stop_reason=end_turn
        10 Waiting on=input outcome=completed detail={answer: "As you say."}
      `),
    );
  });

  it("sends the same bytes after a crash, though a message came meanwhile", async () => {
    const harness = await inFlight({ script: [tries(hang, "Hello."), "As you say."] });
    await harness.post({ type: "Say", text: "one more thing" });
    const [first] = harness.processes;
    if (first !== undefined) harness.system.scheduler.crash(first.actor);
    await harness.rest();
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 InputTaken items=[Say "one more thing"] through=2
        7 ModelCalled model=script request_hash=A attempt=2
        8 ModelReplied "Hello." stop_reason=end_turn
        9 ModelCalled model=script request_hash=B
        10 ModelReplied "As you say." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "As you say."}
      `),
    );
    expect(harness.sent[1]?.request).toEqual(harness.sent[0]?.request);
  });

  it("counts as a network failure when it is aborted and nobody here asked for it", async () => {
    const harness = await asking(fails("aborted"), "Hello.");
    expect(await harness.log(5)).toBe(
      lines(`
        6 ExtensionRecorded core/model_failed {class: network, purpose: turn, attempt: 1, durationMs: 0, message: "it says aborted", retryAt: …}
        7 ModelCalled model=script request_hash=A attempt=2
        8 ModelReplied "Hello." stop_reason=end_turn
        9 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });

  it("is finished, and its reply kept, when the worker stops", async () => {
    const slow: Answer = async ({ sleep }) => sleep(5_000).then(() => [call("look")]);
    const harness = await inFlight({ tools: [toolOf("look", "read")], script: [slow, "Hello."] });
    await Promise.all([harness.processes[0]?.worker.stop(), harness.until(() => harness.ends.length > 0)]);
    expect(harness.ends).toEqual(["stopped"]);
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelReplied tool_use look {} stop_reason=tool_use
      `),
    );
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolFinished c6_0 "look is done"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "Hello." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });
});

describe("the slots for model calls", () => {
  /** Slots of which none is free at first. */
  const oneTaken = () => {
    const freed = Promise.withResolvers<() => void>();
    let asked = 0;
    const slots = {
      tryAcquire: () => null,
      load: () => ({ limit: 0, taken: 0, waiting: 0, waited: 0, waitingTasks: [] }),
      acquire: (_: unknown, signal: AbortSignal): Promise<() => void> => {
        asked += 1;
        const aborted = new Promise<never>((__, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        });
        return Promise.race([freed.promise, aborted]);
      },
    };
    return { slots, free: () => freed.resolve(() => undefined), asked: () => asked };
  };

  it("make what is pending commit alone when none is free", async () => {
    const { slots, free, asked } = oneTaken();
    const harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: [[call("look")]],
      ports: { slots },
    });
    harness.start();
    await harness.until(() => asked() === 1);
    expect(await harness.log(3)).toBe(
      lines(`
        4 InputTaken items=[Say "do it"] through=1
      `),
    );
    free();
    await harness.rest();
    expect(harness.appends.slice(1)).toEqual([
      ["ModelCalled"],
      ["ModelReplied", "ToolStarted"],
      ["ToolFinished"],
      ["ModelCalled"],
      ["ModelReplied", "Waiting"],
    ]);
  });

  it("are given up by a cancel, without a trace in the log or the usage", async () => {
    const { slots, asked } = oneTaken();
    const harness = await createHarness({ ports: { slots } });
    harness.start();
    await harness.until(() => asked() === 1);
    await harness.post({ type: "Cancel" });
    await harness.rest();
    expect(await harness.log(4)).toBe(
      lines(`
        5 InputTaken items=[Cancel] through=2
        6 Waiting on=input outcome=cancelled reason=cancelled
      `),
    );
    expect(await harness.store.readRows({ taskId: "task", table: "usage" })).toEqual([]);
  });
});

describe("a context that does not fit", () => {
  it("pauses with state intact when nobody can make it smaller", async () => {
    const harness = await runHarness({ settings: { contextTokens: 4_000 } });
    expect(await harness.log(4)).toBe(
      lines(`
        5 Waiting on=resume outcome=paused reason=context_full
      `),
    );
    await harness.post({ type: "Reconfigure", settings: { contextTokens: 100_000 } });
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(5)).toBe(
      lines(`
        6 InputTaken items=[Reconfigure {settings: {contextTokens: 100000}}, Resume] through=3
        7 ExtensionRecorded core/config {settings: {contextTokens: 100000}, by: person:ada}
        8 ModelCalled model=script request_hash=A
        9 ModelReplied "done" stop_reason=end_turn
        10 Waiting on=input outcome=completed detail={answer: done}
      `),
    );
  });

  it("is full before its last tokens: the reply has its room, and the estimate a margin", async () => {
    const outcomes = [960_000, 940_000].map(async (maxOutputTokens) => {
      const harness = await runHarness({ settings: { contextTokens: 1_000_000, maxOutputTokens } });
      return (await harness.row()).reason ?? (await harness.row()).outcome;
    });
    expect(await Promise.all(outcomes)).toEqual(["context_full", "completed"]);
  });

  it("is made smaller when a plugin can, also when only the provider says that it is too large", async () => {
    const shortens = {
      name: "shortens",
      version: "1",
      compact: async () => ({ through: 6, summary: "short", kept: [] }),
    };
    const harness = await runHarness({
      plugins: [shortens],
      script: ["a long story ".repeat(100), tries(fails("overflow"), "Hello.")],
    });
    await harness.post({ type: "Say", text: "and then?" });
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Say "and then?"] through=2
        9 ModelCalled model=script request_hash=A
        10 ExtensionRecorded core/model_failed {class: overflow, purpose: turn, attempt: 1, durationMs: 0, message: "it says overflow"}
        11 Compacted through=6 summary="short"
        12 ModelCalled model=script request_hash=B attempt=2
        13 ModelReplied "Hello." stop_reason=end_turn
        14 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
    const shown = harness.sent.at(-1)?.request.messages.map((message) => JSON.stringify(message));
    expect(shown?.map((message) => /do it|short|and then/.exec(message)?.[0])).toEqual(["do it", "short", "and then"]);
  });

  it("pauses when compaction does not make it smaller", async () => {
    const grows = {
      name: "grows",
      version: "1",
      compact: async () => ({ through: 4, summary: "x".repeat(50), kept: [] }),
    };
    const harness = await runHarness({ plugins: [grows], script: [fails("overflow")] });
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/model_failed {class: overflow, purpose: turn, attempt: 1, durationMs: 0, message: "it says overflow"}
        7 Compacted through=4 summary="xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        8 Waiting on=resume outcome=paused reason=context_full
      `),
    );
  });
});
