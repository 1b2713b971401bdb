import { describe, expect, test } from "vitest";
import {
  OWNER,
  call,
  called,
  core,
  created,
  finished,
  given,
  replied,
  say,
  started,
  taken,
  waiting,
} from "../testing/given.ts";
import { fold } from "./fold.ts";
import { GAP, text, textOf } from "./messages.ts";
import { recordKinds, recordSkeleton } from "./records.ts";
import { skeletonOf } from "./redact.ts";
import type { TaskState } from "./state.ts";

const asked = [created({ settings: { maxSteps: 5 } }), taken(say("hi")), called()] as const;
const busy = [...asked, replied([call("look"), call("send")]), started("c4_1", "send", { effect: "write" })] as const;

const failed = (more: object = {}) =>
  core("model_failed", { class: "network", purpose: "turn", attempt: 1, durationMs: 5, ...more });
const users = (state: TaskState): string[] =>
  state.messages.flatMap((message) => (message.role === "user" ? [textOf(message.content)] : [message.role]));

describe("model_failed", () => {
  test("closes the attempt and says when the next may be made", () => {
    given(...asked, failed({ retryAt: 9_000 })).then((state) => {
      expect(state.model).toEqual({ attempts: 1, failures: 1, lastFailure: "network", retryAt: 9_000 });
      expect(state.usage[0]).toMatchObject({
        purpose: "turn",
        model: "m",
        calls: 1,
        failed: 1,
        unknown: 1,
        durationMs: 5,
      });
    });
  });

  test("is waited for once: the next attempt begins without a back-off", () => {
    given(...asked, failed({ retryAt: 9_000 }), called({ attempt: 2 })).then((state) => {
      expect(state.model).not.toHaveProperty("retryAt");
    });
  });

  test("counts what the failed attempt used, where it is known", () => {
    given(...asked, failed({ tokens: { input: 3, output: 1 }, priceEstimate: 2 })).then((state) => {
      expect(state.usage[0]).toMatchObject({ input: 3, output: 1, unknown: 0, priceEstimate: 2 });
    });
  });

  test("an aborted attempt is no failure of the model", () => {
    given(...asked, failed({ class: "aborted" })).then((state) => {
      expect(state.model).toEqual({ attempts: 1, failures: 0, lastFailure: "aborted" });
    });
  });

  test("without a call announced counts no usage", () => {
    given(...asked, failed(), failed()).then((state) => {
      expect(state.usage[0]?.calls).toBe(1);
      expect(state.model.failures).toBe(2);
    });
  });
});

test("usage counts nested work under its own purpose", () => {
  const nested = { purpose: "title", model: "small", tokens: { input: 1, output: 1 }, durationMs: 2 };
  given(core("usage", { ...nested, priceEstimate: 0.1 }), core("usage", { ...nested, failed: "network" })).then(
    (state) => {
      expect(state.usage).toEqual([
        expect.objectContaining({
          purpose: "title",
          model: "small",
          calls: 2,
          failed: 1,
          input: 2,
          priceEstimate: 0.1,
        }),
      ]);
    },
  );
});

test("usage of two models, and for two purposes, is counted apart", () => {
  const of = (purpose: string, model: string) => core("usage", { purpose, model, tokens: "unknown", durationMs: 1 });
  given(of("title", "m"), of("title", "n"), of("summary", "m"), of("title", "n")).then((state) => {
    expect(state.usage.map(({ purpose, model, calls }) => [purpose, model, calls])).toEqual([
      ["title", "m", 1],
      ["title", "n", 2],
      ["summary", "m", 1],
    ]);
  });
});

test("config changes the settings that it names", () => {
  given(created({ settings: { maxSteps: 5 } }), core("config", { settings: { model: "n" }, by: OWNER })).then(
    (state) => {
      expect(state.settings).toEqual({ model: "n", maxSteps: 5 });
    },
  );
});

test("timers are set, set anew and cancelled by id", () => {
  given(
    core("timer_set", { id: "a", dueAt: 1, callId: "c4_0" }),
    core("timer_set", { id: "b", dueAt: 2 }),
    core("timer_set", { id: "a", dueAt: 3 }),
    core("timer_cancelled", { id: "b" }),
    core("timer_cancelled", { id: "none" }),
  ).then((state) => {
    expect(state.timers).toEqual({ a: { dueAt: 3 } });
  });
});

test("turn_failed marks the turn; without one it is only on the log", () => {
  given(...asked, core("turn_failed", { reason: "error", message: "m" })).then((state) => {
    expect(state.turn?.failed).toBe("error");
  });
  given(created(), core("turn_failed", { reason: "error" })).then((state) => {
    expect(state.turn).toBeUndefined();
  });
});

describe("approvals", () => {
  const asks = core("approval_requested", {
    requestId: "q",
    callId: "c4_0",
    inputHash: "h",
    definition: "d",
    decides: "owner",
  });
  const settled = (decision: "approved" | "denied" | "expired" | "cancelled" | "void", more: object = {}) =>
    core("approval_settled", { requestId: "q", callId: "c4_0", decision, by: OWNER, ...more });

  test("a request parks the call", () => {
    given(...busy, asks).then((state) => {
      expect(state.calls[0]).toMatchObject({
        phase: "parked",
        parked: { on: "approval", ref: "q" },
        approval: { requestId: "q", inputHash: "h", definition: "d", approved: false },
      });
    });
  });

  test("a yes lets it start, with the corrected input if there is one", () => {
    given(...busy, asks, settled("approved")).then((state) => {
      expect(state.calls[0]).toMatchObject({ phase: "waiting", input: {}, approval: { approved: true } });
      expect(state.calls[0]?.parked).toBeUndefined();
    });
    given(...busy, asks, settled("approved", { input: { path: "b" } })).then((state) => {
      expect(state.calls[0]?.input).toEqual({ path: "b" });
    });
  });

  test("a no, a lapse and a cancellation deny it, with what is known of why", () => {
    for (const decision of ["denied", "expired", "cancelled"] as const) {
      given(...busy, asks, settled(decision)).then((state) => {
        expect(state.calls[0]).toMatchObject({ phase: "waiting", denied: decision });
        expect(state.calls[0]?.approval).toBeUndefined();
      });
    }
    given(...busy, asks, settled("denied", { reason: "too risky" })).then((state) => {
      expect(state.calls[0]?.denied).toBe("too risky");
    });
  });

  test("a voided one has to be asked for again", () => {
    given(...busy, asks, settled("void")).then((state) => {
      expect(state.calls[0]?.phase).toBe("waiting");
      expect(state.calls[0]).not.toHaveProperty("denied");
      expect(state.calls[0]).not.toHaveProperty("approval");
    });
  });

  test("a settlement of another request, or of a call that is over, changes nothing", () => {
    given(
      ...busy,
      asks,
      core("approval_settled", { requestId: "old", callId: "c4_0", decision: "denied", by: OWNER }),
    ).then((state) => {
      expect(state.calls[0]?.phase).toBe("parked");
    });
    given(...busy, asks, finished("c4_0"), settled("approved")).then((state) => {
      expect(state.calls[0]?.phase).toBe("finished");
    });
    given(...busy, finished("c4_0"), asks).then((state) => {
      expect(state.calls[0]?.phase).toBe("finished");
    });
  });
});

describe("unknown actions", () => {
  const unknown = core("action_unknown", { callId: "c4_1", reason: "crashed", message: "m" });
  const settled = core("action_settled", { callId: "c4_1", how: "verification", outcome: "unknown", by: OWNER });

  test("stay open, since when and why being kept", () => {
    given(...busy, waiting("input"), unknown).then((state) => {
      expect(state.calls[1]).toMatchObject({ phase: "unknown", unknownAt: 7_000, unknownReason: "crashed" });
      expect(state.waiting).toBeUndefined();
    });
  });

  test("a verification that could not say was answered, and may be asked for again", () => {
    given(...busy, unknown, taken({ ...say(""), type: "Verify", callId: "c4_1" } as never), settled).then((state) => {
      expect(state.calls[1]?.phase).toBe("unknown");
      expect(state.calls[1]?.verifyAskedBy).toBeUndefined();
    });
  });
});

describe("background work", () => {
  const detached = core("detached", { callId: "c4_1", job: "j" });
  const over = (status: "ok" | "error" | "unknown") => core("detached_ended", { callId: "c4_1", job: "j", status });

  test("keeps its call open until it ends", () => {
    given(...busy, detached).then((state) => {
      expect(state.calls[1]?.phase).toBe("detached");
    });
    given(...busy, detached, over("error")).then((state) => {
      expect(state.calls[1]?.arrival).toEqual({ status: "error", content: [] });
    });
  });

  test("whose process is gone is a started call that nobody runs", () => {
    given(...busy, detached, over("unknown")).then((state) => {
      expect(state.calls[1]?.phase).toBe("started");
      expect(state.calls[1]?.arrival).toBeUndefined();
    });
  });
});

test("a parked call says what it waits for", () => {
  given(...busy, core("call_parked", { callId: "c4_1", on: "signal", ref: "bell" })).then((state) => {
    expect(state.calls[1]).toMatchObject({ phase: "parked", parked: { on: "signal", ref: "bell" } });
  });
  given(...busy, core("call_parked", { callId: "c4_1", on: "answer" })).then((state) => {
    expect(state.calls[1]?.parked).toEqual({ on: "answer" });
  });
});

test("a handoff moves the task", () => {
  const origin = { frontEnd: "discord", place: "guild", conversation: "c", private: true };
  given(core("handoff", { origin, by: OWNER })).then((state) => {
    expect(state.origin).toEqual(origin);
  });
});

test("collaborators are a set", () => {
  const change = (principal: string, what: "add" | "remove") =>
    core("collaborator", { principal, change: what, by: OWNER });
  given(
    change("a:1", "add"),
    change("a:2", "add"),
    change("a:1", "add"),
    change("a:2", "remove"),
    change("a:3", "remove"),
  ).then((state) => {
    expect(state.collaborators).toEqual(["a:1"]);
  });
});

describe("erased", () => {
  const erased = (...seqs: number[]) => core("erased", { seqs, reason: "blocked" });

  test("takes words out of the conversation and out of the queue, and the request's chain with them", () => {
    given(...asked, replied("yes"), taken(say("bad")), erased(5)).then((state) => {
      expect(users(state)).toEqual(["hi", "assistant"]);
      expect(state.chain).toBeUndefined();
    });
    given(...busy, taken(say("bad")), taken(say("good")), erased(6)).then((state) => {
      expect(state.queue).toMatchObject([{ content: [{ text: "good" }] }]);
    });
  });

  test("takes a reply that asked for nothing, never a call or a result", () => {
    const reply = replied([text("I will look."), call("look")]);
    given(...asked, reply, finished("c4_1"), called(), replied("yes"), erased(4, 5, 7)).then((state) => {
      expect(users(state)).toEqual(["hi", "assistant", "tool"]);
    });
  });

  test("leaves a gap at the head: a conversation begins with a person's words", () => {
    given(...asked, replied("yes"), taken(say("more")), erased(2)).then((state) => {
      expect(users(state)).toEqual([GAP, "assistant", "more"]);
    });
  });
});

test("refreshed and interrupted leave the conversation as it is", () => {
  given(...busy, core("refreshed", { source: "s", seqs: [2] }), core("interrupted", { reason: "stopped" })).then(
    (state, log) => {
      const before = fold(state.taskId, log.slice(0, -2), {});
      expect(state).toEqual({ ...before, seq: state.seq, at: state.at, interrupted: "stopped" });
    },
  );
});

test("records of calls that are not open change nothing", () => {
  const records = [
    core("call_parked", { callId: "c9_0", on: "answer" }),
    core("action_unknown", { callId: "c9_0", reason: "crashed" }),
    core("action_settled", { callId: "c9_0", how: "attestation", outcome: "done", by: OWNER }),
    core("detached", { callId: "c9_0", job: "j" }),
    core("detached_ended", { callId: "c9_0", job: "j", status: "ok" }),
  ];
  given(...busy, ...records).then((state, log) => {
    const before = fold(state.taskId, log.slice(0, -records.length), {});
    expect(state.calls).toEqual(before.calls);
  });
});

test("redacted prompts leave empty blocks", () => {
  given(skeletonOf(core("prompts", { identity: "I", system: "S", parts: [{ plugin: "p", text: "t" }] }))).then(
    (state) => {
      expect(state.prompts).toEqual({ identity: "", system: "", parts: [] });
    },
  );
});

test("every kind keeps some skeleton, but those that are words alone", () => {
  expect(recordKinds.filter((kind) => recordSkeleton(kind).length === 0)).toEqual(["prompts"]);
});
