import { describe, expect, test } from "vitest";
import {
  OWNER,
  at,
  call,
  called,
  core,
  created,
  ended,
  facts,
  finished,
  given,
  item,
  recorded,
  replied,
  say,
  started,
  steer,
  taken,
  tool,
  toolsKnown,
  waiting,
  type Step as Entry,
} from "../testing/given.ts";
import { DEFAULT_MAX_STEPS, DEFAULT_MODEL_ATTEMPTS, decide, type Facts, type Step } from "./decide.ts";
import { MAX_DISPATCHES } from "./recovery.ts";
import type { Event, Mode } from "./events.ts";
import type { ModelFailure, ToolEntry } from "./records.ts";
import { skeletonOf } from "./redact.ts";

const modes: readonly Mode[] = ["conversation", "run", "oneShot"];

const tools = [
  tool("look"),
  tool("note", { effect: "internal" }),
  tool("send", { effect: "write" }),
  tool("put", { effect: "write", verify: true }),
  tool("pay", { effect: "write", verify: true, idempotent: { ttlMs: 60_000 } }),
  tool("wipe", { effect: "destructive", onUnknown: "tell" }),
];

type First = Parameters<typeof created>[0];

const begun = (first: First = {}): Entry[] => [created(first), toolsKnown(...tools), taken(say("hi"))];
const asked = (first?: First): Entry[] => [...begun(first), called()];
/** A reply whose calls get the ids c5_0, c5_1 and so on. */
const calls = (names: readonly string[], first?: First): Entry[] => [
  ...asked(first),
  replied(names.map((name) => call(name))),
];
const answered = (first?: First, stopReason: "end_turn" | "max_tokens" | "refusal" = "end_turn"): Entry[] => [
  ...asked(first),
  replied("yes", { stopReason }),
];
const write = (id: string, name: string, attempt = 1): Event =>
  started(id, name, {
    effect: name === "wipe" ? "destructive" : "write",
    attempt,
    ...(name === "pay" ? { idempotent: { ttlMs: 60_000 } } : {}),
  });
const unknown = (callId: string): Entry => core("action_unknown", { callId, reason: "crashed" });

const interrupt = taken(item("Interrupt", {}));
const cancel = taken(item("Cancel", {}));
const close = taken(item("Close", {}));
const resume = taken(item("Resume", {}));
const paused = waiting("resume", { outcome: "paused", reason: "why" });

const stepAfter = (log: readonly Entry[], more: Partial<Facts> = {}): Step => {
  let step: Step | undefined;
  given(...log).then((state) => (step = decide(state, facts(more))));
  return step as Step;
};

const waits = (on: string, more: object = {}): object => ({
  do: "Wait",
  record: true,
  on,
  waits: [],
  settle: [],
  cancelTimers: [],
  cancelApprovals: [],
  voidApprovals: [],
  ...more,
});
const runs = (...start: string[]): object => ({ do: "RunCalls", start, settle: [] });
const settles = (...settle: [string, string][]): object => ({
  do: "RunCalls",
  start: [],
  settle: settle.map(([callId, as]) => ({ callId, as })),
});
const recovers = (...orders: [string, string][]): object => ({
  do: "RecoverCalls",
  orders: orders.map(([callId, order]) => ({ callId, order })),
});

describe("precedence", () => {
  test("input is taken before any other step", () => {
    for (const log of [begun(), [...calls(["send"]), write("c5_0", "send")], [...answered(), interrupt], answered()]) {
      expect(stepAfter(log, { untaken: true, stoppedMidTurn: "crashed" })).toEqual({ do: "TakeInput" });
    }
  });

  test("an ended task only parks, and takes nothing more", () => {
    for (const log of [
      [...begun(), ended()],
      [...answered(), waiting("input"), ended()],
    ]) {
      expect(stepAfter(log, { untaken: true })).toMatchObject({ do: "Wait", on: "input", record: false });
    }
  });

  test("recovery goes before a stop, and a stop before the pause of a task that was stopped in mid-turn", () => {
    const log = [...calls(["send"], { onInterrupt: "pause" }), write("c5_0", "send"), cancel];
    expect(stepAfter(log, { stoppedMidTurn: "crashed" })).toEqual(recovers(["c5_0", "unknown"]));
    expect(stepAfter([...asked({ onInterrupt: "pause" }), cancel], { stoppedMidTurn: "crashed" })).toEqual(
      waits("input", { outcome: "cancelled", reason: "cancelled" }),
    );
  });
});

describe("a task that pauses when it is stopped in mid-turn", () => {
  const first = { onInterrupt: "pause" } as const;
  const crashed = { stoppedMidTurn: "crashed" } as const;

  test("calls no model and runs no tool", () => {
    const expected = waits("resume", { outcome: "paused", reason: "interrupted", interrupted: "crashed" });
    for (const log of [begun(first), asked(first), calls(["look", "send"], first), answered(first)]) {
      expect(stepAfter(log, crashed)).toEqual(expected);
      expect(stepAfter(log, { stoppedMidTurn: "stopped" })).toMatchObject({ interrupted: "stopped" });
    }
  });

  test("marks started writes unknown without asking for verification, whatever they declare", () => {
    for (const name of ["send", "put", "pay", "wipe"]) {
      const log = [...calls([name], first), write("c5_0", name)];
      expect(stepAfter(log, crashed), name).toEqual(recovers(["c5_0", "unknown"]));
      expect(stepAfter([...log, unknown("c5_0")], crashed), name).toEqual(
        waits("resolution", {
          outcome: "paused",
          reason: "interrupted",
          interrupted: "crashed",
          waits: [{ on: "resolution", callId: "c5_0" }],
        }),
      );
    }
  });

  test("runs started reads again only after a resume", () => {
    const log = [...calls(["look"], first), started("c5_0", "look")];
    expect(stepAfter(log, crashed)).toMatchObject({ do: "Wait", on: "resume" });
    const pausedLog = [...log, core("interrupted", { reason: "crashed" }), paused];
    expect(stepAfter(pausedLog)).toMatchObject({ do: "Wait", record: false });
    expect(stepAfter([...pausedLog, resume])).toEqual(recovers(["c5_0", "rerun"]));
  });

  test("says everything that it waits for", () => {
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c5_1",
      inputHash: "h",
      definition: "d",
      decides: "o",
    });
    const log = [...calls(["look", "send"], first), asks, started("c5_0", "look")];
    expect(stepAfter(log, crashed)).toMatchObject({
      on: "resume",
      waits: [{ on: "approval", callId: "c5_1", ref: "q" }],
    });
  });

  test("goes on as any other where it was not", () => {
    expect(stepAfter(begun(first))).toMatchObject({ do: "CallModel" });
  });

  test("never dispatches an idempotent write again, also where its own worker lost it", () => {
    const log = [...calls(["pay"], first), at(9_000, write("c5_0", "pay"))];
    expect(stepAfter(log, { now: 9_001 })).toEqual(recovers(["c5_0", "verify"]));
  });

  test("a restored database pauses every task in mid-turn", () => {
    const log = [...calls(["pay"]), write("c5_0", "pay")];
    expect(stepAfter(log, { stoppedMidTurn: "restored" })).toEqual(recovers(["c5_0", "unknown"]));
    expect(stepAfter(asked(), { stoppedMidTurn: "restored" })).toMatchObject({ on: "resume", interrupted: "restored" });
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c5_0",
      inputHash: "h",
      definition: "d",
      decides: "o",
    });
    const waitsAlready = [...calls(["send"]), asks, waiting("approval")];
    expect(stepAfter(waitsAlready, { stoppedMidTurn: "restored" })).toMatchObject({ on: "resume", record: true });
  });

  test("a restored database voids what was asked and what was approved, and keeps other waits", () => {
    const asks = (callId: string, requestId: string) =>
      core("approval_requested", { requestId, callId, inputHash: "h", definition: "d", decides: "o" });
    const approved = core("approval_settled", { requestId: "q1", callId: "c5_0", decision: "approved", by: "o" });
    const parked = core("call_parked", { callId: "c5_2", on: "answer" });
    const log = [...calls(["send", "pay", "look"]), asks("c5_0", "q1"), asks("c5_1", "q2"), approved, parked];
    expect(stepAfter(log, { stoppedMidTurn: "restored" })).toEqual({
      ...waits("resume", { outcome: "paused", reason: "restored", interrupted: "restored" }),
      waits: [{ on: "answer", callId: "c5_2" }],
      voidApprovals: ["q1", "q2"],
    });
    expect(stepAfter(log, { stoppedMidTurn: "crashed" })).toMatchObject({ do: "RunCalls" });
  });

  test("a task that continues goes on", () => {
    expect(stepAfter(asked(), crashed)).toMatchObject({ do: "CallModel" });
  });
});

describe("an idempotent write that was started", () => {
  const log = [...calls(["pay"]), at(100_000, write("c5_0", "pay"))];
  const now = 100_001;

  test("is dispatched again", () => {
    expect(stepAfter(log, { now })).toEqual(recovers(["c5_0", "redispatch"]));
    expect(stepAfter(log, { now, stoppedMidTurn: "crashed" })).toEqual(recovers(["c5_0", "redispatch"]));
  });

  test("within its time to live from the first announcement", () => {
    expect(stepAfter(log, { now: 159_999 })).toEqual(recovers(["c5_0", "redispatch"]));
    expect(stepAfter(log, { now: 160_000 })).toEqual(recovers(["c5_0", "verify"]));
    const again = [...log, at(150_000, write("c5_0", "pay", 2))];
    expect(stepAfter(again, { now: 160_000 })).toEqual(recovers(["c5_0", "verify"]));
  });

  test("a bounded number of times", () => {
    const most = [
      ...log,
      ...Array.from({ length: MAX_DISPATCHES - 1 }, (_, n) => at(100_000, write("c5_0", "pay", n + 2))),
    ];
    expect(stepAfter(most.slice(0, -1), { now })).toEqual(recovers(["c5_0", "redispatch"]));
    expect(stepAfter(most, { now })).toEqual(recovers(["c5_0", "verify"]));
  });

  test("not where the tool is another now, or is gone", () => {
    const other = (entry: ToolEntry[]): Step => stepAfter([...log, toolsKnown(...entry)], { now });
    expect(other([tool("pay", { effect: "write", verify: true, definition: "new" })])).toEqual(
      recovers(["c5_0", "unknown"]),
    );
    expect(other([])).toEqual(recovers(["c5_0", "unknown"]));
  });

  test("not where a correction called it off; and it is never skipped, for it may have happened", () => {
    expect(stepAfter([...log, taken(steer("no"))], { now })).toEqual(recovers(["c5_0", "verify"]));
    const again = [...log, write("c5_0", "pay", 2), taken(steer("no"))];
    expect(stepAfter(again, { now, announced: new Set(["c5_0"]) })).toEqual(recovers(["c5_0", "verify"]));
    const unverified = { now, announced: new Set(["c5_0"]), unverified: new Set(["c5_0"]) };
    expect(stepAfter(again, unverified)).toEqual(recovers(["c5_0", "unknown"]));
  });

  test("once announced again it runs", () => {
    expect(stepAfter([...log, write("c5_0", "pay", 2)], { now, announced: new Set(["c5_0"]) })).toEqual(runs("c5_0"));
  });
});

describe("any other write that was started", () => {
  test("is verified where its tool can, once per claim; else it is unknown", () => {
    const log = [...calls(["put"]), write("c5_0", "put")];
    expect(stepAfter(log)).toEqual(recovers(["c5_0", "verify"]));
    expect(stepAfter(log, { unverified: new Set(["c5_0"]) })).toEqual(recovers(["c5_0", "unknown"]));
    expect(stepAfter([...calls(["send"]), write("c5_0", "send")])).toEqual(recovers(["c5_0", "unknown"]));
  });

  test("is not verified by a tool that changed", () => {
    const changed = toolsKnown(tool("put", { effect: "write", verify: true, definition: "new" }));
    expect(stepAfter([...calls(["put"]), write("c5_0", "put"), changed])).toEqual(recovers(["c5_0", "unknown"]));
  });

  test("is told to the model where its tool says so", () => {
    expect(stepAfter([...calls(["wipe"]), write("c5_0", "wipe")])).toEqual(recovers(["c5_0", "tell"]));
  });

  test("keeps the effect it was announced with, also where the tool calls itself a read now", () => {
    const log = [...calls(["send"]), write("c5_0", "send"), toolsKnown(tool("send"))];
    expect(stepAfter(log)).toEqual(recovers(["c5_0", "unknown"]));
  });

  test("is not touched while its own claim has announced and not dispatched it", () => {
    expect(stepAfter([...calls(["send"]), write("c5_0", "send")], { announced: new Set(["c5_0"]) })).toEqual(
      runs("c5_0"),
    );
  });

  test("that was announced and not dispatched is skipped by a correction: it never ran", () => {
    for (const name of ["send", "put", "pay"]) {
      const log = [...calls([name]), write("c5_0", name), taken(steer("no"))];
      expect(stepAfter(log, { announced: new Set(["c5_0"]), now: 6_001 })).toEqual(settles(["c5_0", "skipped"]));
    }
  });

  test("is recovered whether the turn runs or not", () => {
    const log = [...calls(["send"]), write("c5_0", "send"), paused];
    expect(stepAfter(log)).toEqual(recovers(["c5_0", "unknown"]));
  });

  test("whose input was redacted can be neither repeated nor verified", () => {
    for (const name of ["put", "pay"]) {
      const log = [...calls([name]), skeletonOf(write("c5_0", name))];
      expect(stepAfter(log, { now: 6_001 })).toEqual(recovers(["c5_0", "unknown"]));
    }
  });
});

describe("an unknown action", () => {
  const log = [...calls(["put", "look"]), write("c5_0", "put"), unknown("c5_0")];
  const pausedLog = [...log, waiting("resolution", { outcome: "paused", reason: "unknown_action" })];

  test("pauses the turn; nothing else of the reply starts, and no model is called", () => {
    expect(stepAfter(log)).toEqual(
      waits("resolution", {
        outcome: "paused",
        reason: "unknown_action",
        waits: [{ on: "resolution", callId: "c5_0" }],
      }),
    );
    expect(stepAfter([...log, finished("c5_1")])).toMatchObject({ do: "Wait", on: "resolution" });
  });

  test("is settled by a resolution, or looked at when somebody asks", () => {
    const resolve = item("Resolve", { callId: "c5_0", outcome: "done", verification: "seen" });
    const verify = item("Verify", { callId: "c5_0" });
    expect(stepAfter([...pausedLog, taken(resolve)])).toEqual(recovers(["c5_0", "settle"]));
    expect(stepAfter([...pausedLog, taken(verify)])).toEqual(recovers(["c5_0", "verify"]));
    expect(stepAfter([...pausedLog, taken(verify, resolve)])).toEqual(recovers(["c5_0", "settle"]));
  });

  test("that was looked at in vain still waits for its resolution", () => {
    const settled = core("action_settled", { callId: "c5_0", how: "verification", outcome: "unknown", by: OWNER });
    expect(stepAfter([...pausedLog, taken(item("Verify", { callId: "c5_0" })), settled])).toEqual(
      waits("resolution", {
        outcome: "paused",
        reason: "unknown_action",
        waits: [{ on: "resolution", callId: "c5_0" }],
      }),
    );
  });

  test("once settled leaves the turn paused until a resume", () => {
    const settled = [...pausedLog, finished("c5_0", "done", { settledBy: "attestation" })];
    expect(stepAfter(settled)).toEqual(waits("resume", { outcome: "paused", reason: "unknown_action" }));
    expect(stepAfter([...settled, waiting("resume"), resume])).toEqual(runs("c5_1"));
  });
});

describe("a read or internal call that was started", () => {
  test("runs again", () => {
    for (const name of ["look", "note"]) {
      const effect = name === "look" ? "read" : "internal";
      expect(stepAfter([...calls([name]), started("c5_0", name, { effect })])).toEqual(recovers(["c5_0", "rerun"]));
    }
  });

  test("does not once the turn stops, was steered, has failed, or nobody knows its input", () => {
    const log = [...calls(["look"]), started("c5_0", "look")];
    expect(stepAfter([...log, interrupt])).toMatchObject({
      do: "Wait",
      settle: [{ callId: "c5_0", as: "interrupted" }],
    });
    expect(stepAfter([...log, taken(steer("no"))])).toEqual(settles(["c5_0", "interrupted"]));
    expect(stepAfter([...log, core("turn_failed", { reason: "error" })])).toMatchObject({
      outcome: "failed",
      settle: [{ callId: "c5_0", as: "interrupted" }],
    });
    const redacted = [...calls(["look"]), skeletonOf(started("c5_0", "look"))];
    expect(stepAfter(redacted)).toEqual(settles(["c5_0", "interrupted"]));
  });

  test("a correction ends it as interrupted where an earlier attempt ran, and skips it where none did", () => {
    const announced = new Set(["c5_0"]);
    const first = [...calls(["look"]), started("c5_0", "look")];
    expect(stepAfter([...first, taken(steer("no"))], { announced })).toEqual(settles(["c5_0", "skipped"]));
    const second = [...first, started("c5_0", "look", { attempt: 2 })];
    expect(stepAfter([...second, taken(steer("no"))], { announced })).toEqual(settles(["c5_0", "interrupted"]));
  });
});

describe("a call to the model without a reply", () => {
  test("is made again", () => {
    expect(stepAfter(asked(), { stoppedMidTurn: "crashed" })).toEqual({ do: "CallModel", attempt: 2, notBefore: 0 });
    expect(stepAfter([...asked(), called({ attempt: 2 })])).toEqual({ do: "CallModel", attempt: 3, notBefore: 0 });
  });

  test("whatever bounds and estimates say meanwhile: it was let go before", () => {
    const first = { settings: { maxSteps: 1 } };
    expect(stepAfter([...calls(["look"], first), finished("c5_0"), called()], { context: "full" })).toMatchObject({
      do: "CallModel",
    });
  });

  test("waits for its turn where the provider said so", () => {
    const failed = core("model_failed", {
      class: "rate_limited",
      purpose: "turn",
      attempt: 1,
      durationMs: 1,
      retryAt: 9_000,
    });
    expect(stepAfter([...asked(), failed])).toEqual({ do: "CallModel", attempt: 2, notBefore: 9_000 });
  });
});

describe("starting calls", () => {
  test("internal calls go one at a time, in call order: each sees what the one before it recorded", () => {
    const log = calls(["note", "note", "look", "look", "note"]);
    expect(stepAfter(log)).toEqual(runs("c5_0"));
    expect(stepAfter([...log, finished("c5_0")])).toEqual(runs("c5_1"));
    expect(stepAfter([...log, finished("c5_0"), finished("c5_1")])).toEqual(runs("c5_2", "c5_3"));
  });

  test("the next internal call goes on while the one before it is parked", () => {
    const log = [...calls(["note", "note"]), started("c5_0", "note", { effect: "internal" })];
    expect(stepAfter([...log, core("call_parked", { callId: "c5_0", on: "answer" })])).toEqual(runs("c5_1"));
  });

  test("reads go side by side up to the next write; writes one at a time, in call order", () => {
    const log = calls(["look", "look", "send", "look", "wipe", "send"]);
    expect(stepAfter(log)).toEqual(runs("c5_0", "c5_1"));
    expect(stepAfter([...log, finished("c5_1"), finished("c5_0")])).toEqual(runs("c5_2"));
    expect(stepAfter([...log, ...["c5_0", "c5_1", "c5_2"].map((id) => finished(id))])).toEqual(runs("c5_3"));
    expect(stepAfter([...log, ...["c5_0", "c5_1", "c5_2", "c5_3"].map((id) => finished(id))])).toEqual(runs("c5_4"));
  });

  test("an announced write runs alone, also where its tool calls itself a read now", () => {
    const log = [...calls(["send", "look"]), write("c5_0", "send"), toolsKnown(tool("send"), tool("look"))];
    expect(stepAfter(log, { announced: new Set(["c5_0"]) })).toEqual(runs("c5_0"));
  });

  test("a finished call never runs again", () => {
    expect(stepAfter([...calls(["look", "look"]), finished("c5_0")])).toEqual(runs("c5_1"));
  });

  test("a call of a tool that is not there gets its result at once", () => {
    expect(stepAfter(calls(["look", "gone", "send"]))).toEqual(settles(["c5_1", "no_such_tool"]));
  });

  test("a call that needs no decision goes on while another is parked", () => {
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c5_0",
      inputHash: "h",
      definition: "d",
      decides: "o",
    });
    expect(stepAfter([...calls(["send", "look"]), asks])).toEqual(runs("c5_1"));
  });

  test("a yes runs the call, a no denies it", () => {
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c5_0",
      inputHash: "h",
      definition: "d",
      decides: "o",
    });
    const settled = (decision: "approved" | "denied") =>
      core("approval_settled", { requestId: "q", callId: "c5_0", decision, by: OWNER });
    expect(stepAfter([...calls(["send"]), asks, settled("approved")])).toEqual(runs("c5_0"));
    expect(stepAfter([...calls(["send"]), asks, settled("denied")])).toEqual(settles(["c5_0", "denied"]));
  });

  test("what a parked call waited for is its result, also when it comes with a stop", () => {
    const parked = [
      ...calls(["note"]),
      started("c5_0", "note", { effect: "internal" }),
      core("call_parked", { callId: "c5_0", on: "answer" }),
    ];
    const answer = item("Answer", { question: "c5_0", text: "42" });
    expect(stepAfter([...parked, taken(answer)])).toEqual(settles(["c5_0", "arrived"]));
    expect(stepAfter([...parked, taken(answer), interrupt])).toMatchObject({
      settle: [{ callId: "c5_0", as: "arrived" }],
    });
  });

  test("the end of background work is its result", () => {
    const log = [...calls(["send"]), write("c5_0", "send"), core("detached", { callId: "c5_0", job: "j" })];
    expect(stepAfter(log)).toEqual(waits("signal"));
    const over = (status: "ok" | "unknown") => core("detached_ended", { callId: "c5_0", job: "j", status });
    expect(stepAfter([...log, over("ok")])).toEqual(settles(["c5_0", "arrived"]));
    expect(stepAfter([...log, over("unknown")])).toEqual(recovers(["c5_0", "unknown"]));
  });

  test("a parked call whose input was redacted still gets what it waits for", () => {
    const announced = skeletonOf(started("c5_0", "note", { effect: "internal" }));
    const parked = [...calls(["note"]), announced, core("call_parked", { callId: "c5_0", on: "answer" })];
    expect(stepAfter(parked)).toMatchObject({ do: "Wait", on: "answer" });
    const answer = item("Answer", { question: "c5_0", text: "42" });
    expect(stepAfter([...parked, taken(answer)])).toEqual(settles(["c5_0", "arrived"]));
  });

  test("a call whose input was redacted does not start", () => {
    expect(stepAfter([...asked(), skeletonOf(replied([call("send")]))])).toEqual(settles(["c5_0", "skipped"]));
  });

  test("a correction skips what has not started, and interrupts what had parked", () => {
    const parked = [
      ...calls(["note", "send"]),
      started("c5_0", "note", { effect: "internal" }),
      core("call_parked", { callId: "c5_0", on: "answer" }),
    ];
    expect(stepAfter([...parked, taken(steer("no"))])).toEqual(settles(["c5_0", "interrupted"], ["c5_1", "skipped"]));
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c5_0",
      inputHash: "h",
      definition: "d",
      decides: "o",
    });
    expect(stepAfter([...calls(["send"]), asks, taken(steer("no"))])).toEqual(settles(["c5_0", "skipped"]));
  });
});

describe("waiting in a turn", () => {
  const parked = (on: "answer" | "children" | "timer" | "signal", index: number): Entry[] => [
    started(`c5_${String(index)}`, "note", { effect: "internal" }),
    core("call_parked", { callId: `c5_${String(index)}`, on, ref: on }),
  ];
  const asks = core("approval_requested", {
    requestId: "q",
    callId: "c5_0",
    inputHash: "h",
    definition: "d",
    decides: "o",
  });

  test("is for the first in precedence, and lists all", () => {
    const kinds = ["signal", "timer", "children", "answer"] as const;
    const log = calls(["send", "note", "note", "note", "note"]);
    const all = kinds.flatMap((on, index) => parked(on, index + 1));
    const listed = [
      { on: "approval", callId: "c5_0", ref: "q" },
      ...kinds.map((on, index) => ({ on, callId: `c5_${String(index + 1)}`, ref: on })),
    ];
    expect(stepAfter([...log, asks, ...all])).toEqual(waits("approval", { waits: listed }));
    for (let count = 4; count >= 1; count -= 1) {
      const some = kinds.slice(0, count);
      const rest = Array.from({ length: 5 }, (_, index) => index).filter((index) => index < 1 || index > count);
      const step = stepAfter([
        ...log,
        ...rest.map((index) => finished(`c5_${String(index)}`)),
        ...some.flatMap((on, index) => parked(on, index + 1)),
      ]);
      expect(step).toMatchObject({ on: some.at(-1), waits: listed.slice(1, count + 1) });
    }
  });

  test("goes on although the tool of what is parked is not there any more", () => {
    const log = [...calls(["gone"]), core("call_parked", { callId: "c5_0", on: "signal", ref: "bell" })];
    expect(stepAfter(log)).toEqual(waits("signal", { waits: [{ on: "signal", callId: "c5_0", ref: "bell" }] }));
    expect(stepAfter(calls(["gone"]))).toEqual(settles(["c5_0", "no_such_tool"]));
  });

  test("is recorded once", () => {
    const log = [...calls(["send"]), asks, waiting("approval")];
    expect(stepAfter(log)).toMatchObject({ do: "Wait", record: false, on: "approval" });
    expect(stepAfter([...log, taken(item("Signal", { name: "n" }))])).toMatchObject({ record: true, on: "approval" });
  });
});

describe("a correction that could not be saved", () => {
  const unsaved = { correctionUnsaved: true } as const;

  test("pauses the turn; what is announced has not run, and is skipped", () => {
    const log = [
      ...calls(["look", "look", "pay"]),
      started("c5_0", "look"),
      started("c5_1", "look"),
      write("c5_2", "pay", 2),
    ];
    const announced = new Set(["c5_0", "c5_2"]);
    const lost = [...log.slice(0, -1), finished("c5_1")];
    expect(stepAfter(lost, { ...unsaved, announced })).toEqual(
      waits("resume", {
        outcome: "paused",
        reason: "correction_not_saved",
        settle: [{ callId: "c5_0", as: "skipped" }],
      }),
    );
    // What ran before this announcement is recovered like after a crash.
    const again = [...log.slice(0, -2), finished("c5_0"), finished("c5_1"), write("c5_2", "pay", 2)];
    expect(stepAfter(again, { ...unsaved, announced })).toMatchObject({ reason: "correction_not_saved", settle: [] });
  });

  test("pauses nothing where one was saved since", () => {
    expect(stepAfter(calls(["look"]))).toEqual(runs("c5_0"));
    expect(stepAfter(calls(["look"]), unsaved)).toMatchObject({ outcome: "paused", settle: [] });
  });
});

describe("an answer", () => {
  test("completes the turn; what follows is the mode's", () => {
    expect(stepAfter(answered())).toEqual(waits("input", { outcome: "completed", answer: "yes" }));
    expect(stepAfter(answered({ mode: "run" }))).toEqual(waits("resume", { outcome: "completed", answer: "yes" }));
    expect(stepAfter(answered({ mode: "oneShot" }))).toEqual({ do: "End", outcome: "done", answer: "yes", settle: [] });
  });

  test("that was cut says so", () => {
    expect(stepAfter(answered({}, "max_tokens"))).toEqual(
      waits("input", { outcome: "completed", answer: "yes", reason: "max_tokens" }),
    );
  });

  test("that refuses fails the turn, whatever goals say", () => {
    const goals = { open: 1, blocked: 0, progress: true };
    expect(stepAfter(answered({}, "refusal"), { goals })).toEqual(
      waits("resume", { outcome: "failed", reason: "refused" }),
    );
    expect(stepAfter(answered({ mode: "oneShot" }, "refusal"))).toEqual({
      do: "End",
      outcome: "failed",
      reason: "refused",
      settle: [],
    });
  });

  test("taken back by a later message is none", () => {
    expect(stepAfter([...answered(), taken(say("more"))])).toMatchObject({ do: "CallModel", attempt: 1 });
  });
});

describe("goals", () => {
  const open = { open: 2, blocked: 0, progress: true };

  test("that are open begin another leg", () => {
    expect(stepAfter(answered(), { goals: open })).toEqual({ do: "Continue" });
    expect(stepAfter(answered(), { goals: { ...open, blocked: 1 } })).toEqual({ do: "Continue" });
    expect(stepAfter(answered({ mode: "oneShot" }), { goals: open })).toEqual({ do: "Continue" });
  });

  test("that are all done complete the turn", () => {
    expect(stepAfter(answered(), { goals: { open: 0, blocked: 0, progress: false } })).toMatchObject({
      outcome: "completed",
    });
  });

  test("that are all blocked, and a leg without progress, pause it", () => {
    expect(stepAfter(answered(), { goals: { open: 2, blocked: 2, progress: true } })).toEqual(
      waits("resume", { outcome: "paused", reason: "goals_blocked" }),
    );
    expect(stepAfter(answered(), { goals: { ...open, progress: false } })).toEqual(
      waits("resume", { outcome: "paused", reason: "no_progress" }),
    );
  });

  test("go on without a count, unless one is set", () => {
    const legs = (count: number, first: First): Entry[] => [
      ...answered(first),
      ...Array.from({ length: count - 1 }, () => [
        recorded("plan", "leg", {}, { words: "go on" }),
        called(),
        replied("still"),
      ]).flat(),
    ];
    expect(stepAfter(legs(40, {}), { goals: open })).toEqual({ do: "Continue" });
    expect(stepAfter(legs(2, { settings: { maxLegs: 3 } }), { goals: open })).toEqual({ do: "Continue" });
    expect(stepAfter(legs(3, { settings: { maxLegs: 3 } }), { goals: open })).toEqual(
      waits("resume", { outcome: "paused", reason: "max_legs" }),
    );
  });

  test("go on after a resume of a turn that they paused", () => {
    expect(stepAfter([...answered(), paused, resume], { goals: open })).toMatchObject({ do: "CallModel" });
  });
});

describe("calling the model", () => {
  test("follows a person's words and complete results", () => {
    expect(stepAfter(begun())).toEqual({ do: "CallModel", attempt: 1, notBefore: 0 });
    expect(stepAfter([...calls(["look"]), finished("c5_0")])).toEqual({ do: "CallModel", attempt: 1, notBefore: 0 });
  });

  test("is bounded in steps per turn", () => {
    const log = (first: First) => [...calls(["look"], first), finished("c5_0")];
    expect(stepAfter(log({ settings: { maxSteps: 1 } }))).toEqual(
      waits("resume", { outcome: "paused", reason: "max_steps" }),
    );
    expect(stepAfter(log({ settings: { maxSteps: 2 } }))).toMatchObject({ do: "CallModel" });
    expect(stepAfter([...log({ settings: { maxSteps: 1 } }), paused, resume])).toMatchObject({ do: "CallModel" });
    expect(DEFAULT_MAX_STEPS).toBeGreaterThanOrEqual(1_000);
  });

  test("is bounded in failures, and then pauses with the reason", () => {
    const fail = (failure: ModelFailure, count: number, first: First = {}): Entry[] => [
      ...begun(first),
      ...Array.from({ length: count }, (_, n) => [
        called({ attempt: n + 1 }),
        core("model_failed", { class: failure, purpose: "turn", attempt: n + 1, durationMs: 1 }),
      ]).flat(),
    ];
    expect(stepAfter(fail("empty", DEFAULT_MODEL_ATTEMPTS - 1))).toMatchObject({
      do: "CallModel",
      attempt: DEFAULT_MODEL_ATTEMPTS,
    });
    expect(stepAfter(fail("empty", DEFAULT_MODEL_ATTEMPTS))).toEqual(
      waits("resume", { outcome: "paused", reason: "model_empty" }),
    );
    expect(stepAfter(fail("cut", 2, { settings: { modelAttempts: 2 } }))).toMatchObject({ reason: "model_cut" });
    expect(stepAfter(fail("aborted", 20))).toMatchObject({ do: "CallModel", attempt: 21 });
    expect(stepAfter([...fail("network", DEFAULT_MODEL_ATTEMPTS), paused, resume])).toMatchObject({ do: "CallModel" });
  });

  test("makes room first, and pauses where there is none to make", () => {
    expect(stepAfter(begun(), { context: "over" })).toEqual({ do: "Compact" });
    expect(stepAfter(begun(), { context: "full" })).toEqual(
      waits("resume", { outcome: "paused", reason: "context_full" }),
    );
    expect(stepAfter(calls(["look"]), { context: "full" })).toEqual(runs("c5_0"));
  });

  test("needs something to answer", () => {
    const blocked = core("erased", { seqs: [3], reason: "blocked" });
    expect(stepAfter([...begun(), blocked])).toEqual(
      waits("resume", { outcome: "paused", reason: "nothing_to_answer" }),
    );
    const second = [
      ...answered(),
      waiting("input", { outcome: "completed" }),
      taken(say("bad")),
      core("erased", { seqs: [7], reason: "blocked" }),
    ];
    expect(stepAfter(second)).toMatchObject({ reason: "nothing_to_answer" });
    expect(stepAfter([...begun(), blocked, paused, resume])).toMatchObject({ do: "CallModel" });
  });
});

describe("a turn that failed", () => {
  const failed = core("turn_failed", { reason: "error" });

  test("stops at once, and settles what is open", () => {
    expect(stepAfter([...begun(), failed])).toEqual(waits("resume", { outcome: "failed", reason: "error" }));
    expect(stepAfter([...calls(["look", "send"]), failed])).toEqual(
      waits("resume", {
        outcome: "failed",
        reason: "error",
        settle: [
          { callId: "c5_0", as: "skipped" },
          { callId: "c5_1", as: "skipped" },
        ],
      }),
    );
    expect(stepAfter([...answered(), failed])).toMatchObject({ outcome: "failed" });
  });

  test("ends a one-shot, once no action is unknown", () => {
    const log = [...calls(["send"], { mode: "oneShot" }), failed];
    expect(stepAfter(log)).toEqual({
      do: "End",
      outcome: "failed",
      reason: "error",
      settle: [{ callId: "c5_0", as: "skipped" }],
    });
    const lost = [...calls(["send"], { mode: "oneShot" }), write("c5_0", "send"), unknown("c5_0"), failed];
    expect(stepAfter(lost)).toMatchObject({ do: "Wait", on: "resolution", outcome: "failed" });
  });

  test("goes on after a resume", () => {
    expect(stepAfter([...begun(), failed, waiting("resume", { outcome: "failed" }), resume])).toMatchObject({
      do: "CallModel",
    });
  });

  test("still recovers a write that was started", () => {
    expect(stepAfter([...calls(["send"]), write("c5_0", "send"), failed])).toEqual(recovers(["c5_0", "unknown"]));
  });
});

describe("an interrupt", () => {
  test("pauses the turn and settles what is open, in one append", () => {
    for (const mode of modes) {
      expect(stepAfter([...calls(["look", "send"], { mode }), interrupt])).toEqual(
        waits("resume", {
          outcome: "paused",
          reason: "interrupted",
          settle: [
            { callId: "c5_0", as: "skipped" },
            { callId: "c5_1", as: "skipped" },
          ],
        }),
      );
    }
  });

  test("takes the turn's approvals and timers with it", () => {
    const log = [
      ...calls(["send", "note"]),
      core("approval_requested", { requestId: "q", callId: "c5_0", inputHash: "h", definition: "d", decides: "o" }),
      started("c5_1", "note", { effect: "internal" }),
      core("timer_set", { id: "t", dueAt: 9_000, callId: "c5_1" }),
      core("timer_set", { id: "daily", dueAt: 9_000 }),
      core("call_parked", { callId: "c5_1", on: "timer" }),
      interrupt,
    ];
    expect(stepAfter(log)).toMatchObject({ cancelApprovals: ["q"], cancelTimers: ["t"], waits: [] });
  });

  test("leaves an approval that was settled as it is", () => {
    const log = [
      ...calls(["send"]),
      core("approval_requested", { requestId: "q", callId: "c5_0", inputHash: "h", definition: "d", decides: "o" }),
      core("approval_settled", { requestId: "q", callId: "c5_0", decision: "approved", by: OWNER }),
      interrupt,
    ];
    expect(stepAfter(log)).toMatchObject({ cancelApprovals: [], settle: [{ callId: "c5_0", as: "skipped" }] });
  });

  test("with an action unknown waits for its resolution", () => {
    const log = [...calls(["send", "look"]), write("c5_0", "send"), unknown("c5_0"), interrupt];
    expect(stepAfter(log)).toEqual(
      waits("resolution", {
        outcome: "paused",
        reason: "interrupted",
        settle: [{ callId: "c5_1", as: "skipped" }],
        waits: [{ on: "resolution", callId: "c5_0" }],
      }),
    );
  });

  test("comes too late for an answer that is there, unless goals are open", () => {
    expect(stepAfter([...answered(), interrupt])).toEqual(waits("input", { outcome: "completed", answer: "yes" }));
    const goals = { open: 1, blocked: 0, progress: true };
    expect(stepAfter([...answered(), interrupt], { goals })).toMatchObject({
      outcome: "paused",
      reason: "interrupted",
    });
  });

  test("then words in the same breath begin the conversation's next turn", () => {
    expect(stepAfter([...begun(), taken(item("Interrupt", {}), say("instead"))])).toMatchObject({ do: "CallModel" });
    expect(stepAfter([...calls(["send"]), taken(item("Cancel", {}), say("instead"))])).toEqual(
      settles(["c5_0", "skipped"]),
    );
  });
});

describe("a cancel", () => {
  test("ends the turn, and a one-shot's task", () => {
    const settle = [{ callId: "c5_0", as: "skipped" }];
    const ends = { outcome: "cancelled", reason: "cancelled", settle };
    expect(stepAfter([...calls(["look"]), cancel])).toEqual(waits("input", ends));
    expect(stepAfter([...calls(["look"], { mode: "run" }), cancel])).toEqual(waits("resume", ends));
    expect(stepAfter([...calls(["look"], { mode: "oneShot" }), cancel])).toEqual({ do: "End", ...ends });
    expect(stepAfter([created({ mode: "oneShot" }), cancel])).toMatchObject({ do: "End", outcome: "cancelled" });
  });

  test("goes before an answer", () => {
    expect(stepAfter([...answered(), cancel])).toMatchObject({ outcome: "cancelled" });
  });

  test("with an action dispatched waits for its resolution, and is cancelled once it is settled", () => {
    for (const mode of modes) {
      const log = [...calls(["send"], { mode }), write("c5_0", "send"), unknown("c5_0"), cancel];
      expect(stepAfter(log)).toEqual(waits("resolution", { waits: [{ on: "resolution", callId: "c5_0" }] }));
      const settled = [...log, waiting("resolution"), finished("c5_0")];
      expect(stepAfter(settled)).toMatchObject({ do: mode === "oneShot" ? "End" : "Wait", outcome: "cancelled" });
    }
  });

  test("reaches a turn that had paused", () => {
    expect(stepAfter([...calls(["look"]), paused, cancel])).toMatchObject({
      outcome: "cancelled",
      settle: [{ callId: "c5_0", as: "skipped" }],
    });
  });
});

describe("a close", () => {
  const over = (outcome: "completed" | "paused" | "failed" | "cancelled") => [
    ...answered(),
    waiting("input", { outcome }),
  ];

  test("ends the task as its last turn did", () => {
    expect(stepAfter([...begun().slice(0, 1), close])).toEqual({
      do: "End",
      outcome: "done",
      reason: "closed",
      settle: [],
    });
    expect(stepAfter([...over("completed"), close])).toEqual({
      do: "End",
      outcome: "done",
      reason: "closed",
      answer: "yes",
      settle: [],
    });
    const failed = stepAfter([...over("failed"), close]);
    expect(failed).toEqual({ do: "End", outcome: "failed", reason: "closed", settle: [] });
    expect(stepAfter([...over("cancelled"), close])).toMatchObject({ do: "End", outcome: "cancelled" });
    expect(stepAfter([...over("paused"), close])).toMatchObject({ do: "End", outcome: "cancelled" });
  });

  test("settles calls that a paused turn left", () => {
    expect(stepAfter([...calls(["look", "look"]), started("c5_1", "look"), paused, close])).toMatchObject({
      do: "End",
      settle: [
        { callId: "c5_0", as: "skipped" },
        { callId: "c5_1", as: "interrupted" },
      ],
    });
  });
});

describe("at rest", () => {
  test("a task without a turn waits for input", () => {
    for (const mode of modes) expect(stepAfter([created({ mode })])).toEqual(waits("input"));
  });

  test("a task parks where its log already says what it waits for", () => {
    expect(stepAfter([...answered(), waiting("input", { outcome: "completed" })])).toMatchObject({
      do: "Wait",
      record: false,
    });
  });

  test("what was taken without effect is followed by the same wait, outcome and answer included", () => {
    const log = (outcome: "completed" | "paused" | "cancelled" | "failed", mode: Mode = "conversation") => [
      ...answered({ mode }),
      waiting("input", { outcome, reason: "r" }),
      taken(item("Signal", { name: "n" })),
    ];
    expect(stepAfter(log("completed"))).toEqual(waits("input", { outcome: "completed", reason: "r", answer: "yes" }));
    expect(stepAfter(log("completed", "run"))).toEqual(
      waits("resume", { outcome: "completed", reason: "r", answer: "yes" }),
    );
    expect(stepAfter(log("cancelled"))).toEqual(waits("input", { outcome: "cancelled", reason: "r" }));
    expect(stepAfter(log("cancelled", "run"))).toMatchObject({ on: "resume" });
    expect(stepAfter(log("paused"))).toEqual(waits("resume", { outcome: "paused", reason: "r" }));
    expect(stepAfter(log("failed"))).toEqual(waits("resume", { outcome: "failed", reason: "r" }));
  });

  test("a run takes no Say as a new turn, a conversation does", () => {
    const log = (mode: Mode) => [...answered({ mode }), waiting("input", { outcome: "completed" }), taken(say("more"))];
    expect(stepAfter(log("run"))).toMatchObject({ do: "Wait", on: "resume", outcome: "completed" });
    expect(stepAfter([...log("run"), resume])).toMatchObject({ do: "CallModel" });
    expect(stepAfter(log("conversation"))).toMatchObject({ do: "CallModel" });
  });

  test("a paused turn no longer shows what has come", () => {
    const parked = [
      started("c5_0", "note", { effect: "internal" }),
      core("call_parked", { callId: "c5_0", on: "answer" }),
    ];
    const log = [...calls(["note"]), ...parked, paused];
    expect(stepAfter([...log, taken(item("Signal", { name: "n" }))])).toMatchObject({ waits: [{ on: "answer" }] });
    expect(stepAfter([...log, taken(item("Answer", { question: "c5_0", text: "42" }))])).toMatchObject({ waits: [] });
  });

  test("a paused turn shows all that is still asked for", () => {
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c5_0",
      inputHash: "h",
      definition: "d",
      decides: "o",
    });
    expect(stepAfter([...calls(["send"]), asks, paused, taken(item("Signal", { name: "n" }))])).toMatchObject({
      on: "resume",
      waits: [{ on: "approval", callId: "c5_0", ref: "q" }],
    });
  });
});
