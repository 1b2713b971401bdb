import { describe, expect, test } from "vitest";
import {
  TASK,
  at,
  call,
  called,
  compacted,
  core,
  created,
  ended,
  finished,
  given,
  givenWith,
  item,
  logOf,
  recorded,
  replied,
  say,
  started,
  taken,
  toolsKnown,
  waiting,
} from "../testing/given.ts";
import { FoldError, PROVISIONAL, apply, callId, confirmTime, createState, fold } from "./fold.ts";
import { GAP, text } from "./messages.ts";
import { RECORD_VERSION } from "./records.ts";
import { skeletonOf } from "./redact.ts";
import { branchOf, type PluginRecord, type Reducer, type TaskState } from "./state.ts";

const asked = [created(), taken(say("hi")), called()] as const;
const twoCalls = [...asked, replied([call("look"), call("send")])] as const;

/** The messages without their seqs, words joined: `user hi`, `assistant c4_0:look`, `tool c4_0=ok`. */
const conversation = (state: TaskState): string[] =>
  state.messages.map((message) => {
    const words = (parts: readonly { type: string; text?: string; id?: string; name?: string }[]): string =>
      parts
        .map((part) => part.text ?? (part.id === undefined ? part.name : `${part.id}:${String(part.name)}`))
        .join(" | ");
    if (message.role === "user") return `user ${words(message.content)}`;
    if (message.role === "assistant") return `assistant ${words(message.parts)}`;
    return `tool ${message.results.map((result) => `${result.callId}=${result.status}`).join(" ")}`;
  });

describe("TaskCreated", () => {
  test("begins the state", () => {
    const first = created({ objective: "do it", mode: "run", onInterrupt: "pause", settings: { maxSteps: 3 } });
    given(first).then((state) => {
      expect(state).toMatchObject({
        taskId: TASK,
        seq: 1,
        at: 1_000,
        agent: "demo",
        objective: "do it",
        mode: "run",
        onInterrupt: "pause",
        settings: { model: "m", maxSteps: 3 },
        messages: [],
        calls: [],
        forkDepth: 0,
        inboxTaken: 0,
      });
      expect(state.turn).toBeUndefined();
      expect(state.parent).toBeUndefined();
    });
  });

  test("names a parent and a history", () => {
    const parent = { taskId: "p", callId: "c1_0" };
    const historyFrom = { taskId: "s", through: 9 };
    given(created({ parent, historyFrom })).then((state) => {
      expect(state.parent).toEqual(parent);
      expect(state.historyFrom).toEqual(historyFrom);
    });
  });

  test("over a source: the event says who and what it is, the rest is carried over", () => {
    let source: TaskState | undefined;
    given(...asked, replied("yes"), waiting("input")).then((state) => (source = { ...state, forkDepth: 1 }));
    const log = logOf(
      created({ agent: "other", objective: "new" }),
      taken(say("and?")),
      called(),
      replied([call("look")]),
    );
    const state = fold("fork", log, {}, source);
    expect(state).toMatchObject({ taskId: "fork", seq: 4, agent: "other", objective: "new", forkDepth: 1 });
    expect(conversation(state)).toEqual(["user hi", "assistant yes", "user new", "user and?", "assistant f1c4_0:look"]);
  });
});

describe("the order of events", () => {
  const refused = (work: () => unknown): void => {
    expect(work).toThrow(FoldError);
  };

  test("a log begins with TaskCreated at seq 1", () => {
    refused(() => fold(TASK, [], {}));
    refused(() => fold(TASK, logOf(taken()), {}));
    refused(() => createState(TASK, { seq: 2, at: 0, event: created() }));
  });

  test("the state knows the last one and its time", () => {
    given(created(), at(7_000, taken(say("hi")))).then((state) => {
      expect([state.seq, state.at]).toEqual([2, 7_000]);
    });
  });

  test("seqs are dense", () => {
    given(created()).then((state) => {
      refused(() => apply(state, { seq: 3, at: 0, event: taken() }, {}));
      refused(() => apply(state, { seq: 1, at: 0, event: taken() }, {}));
    });
  });

  test("nothing follows TaskEnded", () => {
    given(ended({ outcome: "failed", reason: "why" })).then((state) => {
      expect(state.ended).toEqual({ outcome: "failed", reason: "why" });
      refused(() => apply(state, { seq: state.seq + 1, at: 0, event: taken() }, {}));
    });
  });

  test("TaskCreated comes once, and a reply answers a call to the model", () => {
    refused(() => fold(TASK, logOf(created(), created()), {}));
    refused(() => fold(TASK, logOf(created(), replied("x")), {}));
    refused(() => fold(TASK, logOf(...asked, replied("x"), replied("y")), {}));
  });

  test("ToolStarted and ToolFinished are for an open call", () => {
    refused(() => fold(TASK, logOf(...twoCalls, started("c4_9", "look")), {}));
    refused(() => fold(TASK, logOf(...twoCalls, finished("c4_9")), {}));
    refused(() => fold(TASK, logOf(...twoCalls, finished("c4_0"), finished("c4_0")), {}));
    refused(() => fold(TASK, logOf(...twoCalls, finished("c4_0"), started("c4_0", "look")), {}));
    refused(() => fold(TASK, logOf(...twoCalls, finished("c4_0"), finished("c4_1"), finished("c4_1")), {}));
  });

  test("a core record of a kind that is not known here cannot be folded", () => {
    const record = { ...core("interrupted", { reason: "crashed" }), kind: "dreamt" } as const;
    expect(() => fold(TASK, logOf(created(), record), {})).toThrow("core/dreamt v1 is not known here");
    const newer = { ...core("interrupted", { reason: "crashed" }), v: RECORD_VERSION + 1 } as const;
    expect(() => fold(TASK, logOf(created(), newer), {})).toThrow(`core/interrupted v${String(RECORD_VERSION + 1)}`);
  });
});

describe("ModelCalled and ModelReplied", () => {
  test("a call to the model is open until its reply, and the chain of its request is kept", () => {
    given(created(), taken(say("hi")), called({ attempt: 2, requestHash: "h", messages: 1, revision: 4 })).then(
      (state) => {
        expect(state.model.open).toMatchObject({ seq: 3, attempt: 2, requestHash: "h" });
        expect(state.model.attempts).toBe(2);
        expect(state.chain).toEqual({ prefixHash: "p", hash: "h", messages: 1, revision: 4 });
      },
    );
    given(...asked, replied("yes")).then((state) => {
      expect(state.model).toEqual({ attempts: 0, failures: 0 });
      expect(state.chain?.hash).toBe("r");
    });
  });

  test("a call for another purpose leaves the chain of the conversation alone", () => {
    given(...asked, replied("yes"), called({ purpose: "title", requestHash: "t" })).then((state) => {
      expect(state.chain?.hash).toBe("r");
    });
  });

  test("a reply without calls is the turn's answer", () => {
    given(...asked, replied([text("It says "), text("hello.")], { stopReason: "max_tokens" })).then((state) => {
      expect(state.turn).toMatchObject({ steps: 1, answer: "It says hello.", answerStop: "max_tokens" });
      expect(conversation(state)).toEqual(["user hi", "assistant It says  | hello."]);
      expect(state.replies).toBe(1);
    });
  });

  test("the kernel mints call ids from the place in the log, also for equal names and provider ids", () => {
    const same = { ...call("look"), providerId: "x" };
    given(...asked, replied([text("first"), same, same])).then((state) => {
      expect(state.calls.map(({ id, phase, attempt }) => [id, phase, attempt])).toEqual([
        ["c4_1", "waiting", 0],
        ["c4_2", "waiting", 0],
      ]);
      expect(conversation(state).at(-1)).toBe("assistant first | c4_1:look | c4_2:look");
      expect(state.turn?.answer).toBeUndefined();
    });
    expect([callId(0, 12, 3), callId(1, 12, 3), callId(2, 1, 0)]).toEqual(["c12_3", "f1c12_3", "f2c1_0"]);
  });

  test("a blank text stays out of the conversation, and a reply of nothing adds no message", () => {
    given(...asked, replied([text("\n "), call("look")])).then((state) => {
      expect(conversation(state)).toEqual(["user hi", "assistant c4_1:look"]);
    });
    given(...asked, replied("")).then((state) => {
      expect(conversation(state)).toEqual(["user hi"]);
      expect(state.turn?.answer).toBe("");
    });
  });

  test("usage is counted by purpose and model, and what is not reported stays unknown", () => {
    const tokens = { input: 5, output: 2, cacheRead: 3, cacheWrite: 4, reasoning: 1 };
    given(
      ...asked,
      replied([call("look")], { usage: { tokens, durationMs: 7, priceEstimate: 0.5 } }),
      finished("c4_0"),
      called(),
      replied("done", { usage: { tokens: "unknown", durationMs: 1, priceEstimate: 0.25 } }),
    ).then((state) => {
      expect(state.usage).toEqual([
        {
          purpose: "turn",
          model: "m",
          calls: 2,
          failed: 0,
          unknown: 1,
          input: 5,
          output: 2,
          cacheRead: 3,
          cacheWrite: 4,
          reasoning: 1,
          durationMs: 8,
          priceEstimate: 0.75,
        },
      ]);
      expect(state.contextTokens).toBe(14);
    });
  });
});

describe("ToolStarted and ToolFinished", () => {
  test("a started call keeps what it runs as, and the time of its first announcement", () => {
    const input = { path: "rewritten" };
    const first = at(5_000, started("c4_1", "send", { effect: "write", input, idempotent: { ttlMs: 9 } }));
    given(...twoCalls, first, at(9_000, started("c4_1", "send", { effect: "write", input, attempt: 2 }))).then(
      (state) => {
        expect(state.calls[1]).toMatchObject({
          phase: "started",
          effect: "write",
          input,
          attempt: 2,
          startedAt: 5_000,
          idempotent: { ttlMs: 9 },
          definition: "definition of send",
          invocationId: "invocation of c4_1",
        });
      },
    );
    given(...twoCalls).then((state) => {
      expect(state.calls[1]?.input).toEqual({});
    });
  });

  test("results stand in call order, whatever order they finished in", () => {
    given(...twoCalls, finished("c4_1", "second"), finished("c4_0", "first", { status: "error" })).then((state) => {
      expect(state.messages.at(-1)).toEqual({
        seq: 6,
        role: "tool",
        results: [
          { callId: "c4_0", name: "look", status: "error", content: [text("first")] },
          { callId: "c4_1", name: "send", status: "ok", content: [text("second")] },
        ],
      });
      expect(state.calls).toEqual([]);
    });
  });

  test("no result joins before the last one is there", () => {
    given(...twoCalls, finished("c4_1")).then((state) => {
      expect(state.messages.at(-1)?.role).toBe("assistant");
      expect(state.calls.map((each) => each.phase)).toEqual(["waiting", "finished"]);
    });
  });

  test("a finished call keeps nothing of what it waited for", () => {
    const answer = item("Answer", { question: "c4_0", text: "42" });
    const parked = [started("c4_0", "look"), core("call_parked", { callId: "c4_0", on: "answer" }), taken(answer)];
    const resolve = item("Resolve", { callId: "c4_1", outcome: "done", verification: "seen" });
    const lost = [
      started("c4_1", "send", { effect: "write" }),
      core("action_unknown", { callId: "c4_1", reason: "crashed" }),
      taken(resolve, item("Verify", { callId: "c4_1" })),
    ];
    const kept = [
      "attempt",
      "definition",
      "effect",
      "id",
      "input",
      "invocationId",
      "name",
      "phase",
      "result",
      "startedAt",
    ];
    for (const [log, id, index] of [[parked, "c4_0", 0] as const, [lost, "c4_1", 1] as const]) {
      given(...twoCalls, ...log, finished(id)).then((state) => {
        expect(Object.keys(state.calls[index] ?? {}).sort()).toEqual(kept);
      });
    }
  });

  test("a result clears what the call waited for", () => {
    given(
      ...twoCalls,
      started("c4_1", "send", { effect: "write" }),
      core("action_unknown", { callId: "c4_1", reason: "crashed" }),
      finished("c4_1", "done", { settledBy: "attestation" }),
    ).then((state) => {
      const settled = state.calls[1];
      expect(settled?.phase).toBe("finished");
      expect(settled).not.toHaveProperty("unknownAt");
      expect(settled).not.toHaveProperty("unknownReason");
    });
  });
});

describe("the queue", () => {
  test("a Say while a call is open joins after the results", () => {
    given(...twoCalls, taken(say("and b?")), finished("c4_0"))
      .when(finished("c4_1"))
      .then((state) => {
        expect(conversation(state)).toEqual([
          "user hi",
          "assistant c4_0:look | c4_1:send",
          "tool c4_0=ok c4_1=ok",
          "user and b?",
        ]);
        expect(state.queue).toEqual([]);
      });
    given(...twoCalls, taken(say("and b?")), finished("c4_0")).then((state) => {
      expect(state.queue).toHaveLength(1);
    });
  });

  test("a Say while the model is called joins after the reply, and the turn goes on", () => {
    given(...asked, taken(say("and b?")), replied("yes")).then((state) => {
      expect(conversation(state)).toEqual(["user hi", "assistant yes", "user and b?"]);
      expect(state.turn?.answer).toBeUndefined();
    });
  });

  test("a request that is sent again has the same messages, although a Say was taken in between", () => {
    let before: unknown;
    given(...asked).then((state) => (before = structuredClone(state.messages)));
    given(...asked, taken(say("and b?")), called({ attempt: 2 })).then((state) => {
      expect(state.messages).toEqual(before);
      expect(state.queue).toHaveLength(1);
    });
  });

  test("a failed attempt lets what waits join before the next", () => {
    const failed = core("model_failed", { class: "network", purpose: "turn", attempt: 1, durationMs: 1 });
    given(...asked, taken(say("and b?")), failed).then((state) => {
      expect(conversation(state)).toEqual(["user hi", "user and b?"]);
    });
  });

  test("a plugin's words wait like a person's", () => {
    given(...twoCalls, recorded("notes", "reminder", {}, { words: "mind" })).then((state) => {
      expect(state.queue).toHaveLength(1);
    });
    given(recorded("notes", "reminder", {}, { words: "mind" }), taken(say("hi"))).then((state) => {
      expect(conversation(state)).toEqual(["user mind", "user hi"]);
    });
  });

  test("words after the answer begin another leg", () => {
    given(...asked, replied("yes"), recorded("plan", "leg", {}, { words: "goals are open" })).then((state) => {
      expect(state.turn).toMatchObject({ legs: 2, steps: 1, legSteps: 1 });
      expect(state.turn?.answer).toBeUndefined();
      expect(conversation(state).at(-1)).toBe("user goals are open");
    });
    given(...asked, replied("yes"), recorded("plan", "leg")).then((state) => {
      expect(state.turn).toMatchObject({ legs: 1, answer: "yes" });
    });
  });

  test("blank words add no message", () => {
    given(...asked, replied("yes"), recorded("plan", "leg", {}, { words: " \n" }), taken(say("  "))).then((state) => {
      expect(state.turn?.answer).toBe("yes");
      expect(conversation(state)).toEqual(["user hi", "assistant yes"]);
    });
  });
});

describe("the objective", () => {
  const objective = "Read a.txt, word for word.";
  const begun = created({ objective });

  test("stands in the conversation once, as the Say that says it", () => {
    given(begun, taken(say(objective))).then((state) => {
      expect(conversation(state)).toEqual([`user ${objective}`]);
      expect(state.objectiveSeq).toBe(2);
    });
  });

  test("stands ahead of a Say that differs from it", () => {
    given(begun, taken(say("please do")), called(), replied("yes"), taken(say("more"))).then((state) => {
      expect(conversation(state)).toEqual([`user ${objective}`, "user please do", "assistant yes", "user more"]);
      expect(state.objectiveSeq).toBe(1);
    });
  });

  test("survives every compaction, word for word", () => {
    given(begun, taken(say(objective)), called(), replied("yes"), taken(say("more")))
      .when(compacted(5, "first"), called(), replied("ok"), taken(say("again")), compacted(9, "second"))
      .then((state) => {
        expect(conversation(state)).toEqual([
          `user ${objective}`,
          "user [Summary of the conversation up to here]\nsecond",
        ]);
      });
  });

  test("stands once, also where a compaction covers nothing", () => {
    given(begun, taken(say(objective)), compacted(1, "nothing yet")).then((state) => {
      expect(conversation(state)).toEqual([
        `user ${objective}`,
        "user [Summary of the conversation up to here]\nnothing yet",
      ]);
    });
  });

  test("leaves when the words that said it are erased, and stays out", () => {
    given(begun, taken(say(objective)), core("erased", { seqs: [2], reason: "blocked" }))
      .when(taken(say("something else")))
      .then((state) => {
        expect(conversation(state)).toEqual(["user something else"]);
        expect(state.objectiveErased).toBe(true);
        expect(state.objectiveSeq).toBeUndefined();
      });
  });

  test("stays when other words are erased", () => {
    given(begun, taken(say("bad words")), core("erased", { seqs: [2], reason: "blocked" }))
      .when(taken(say("good words")))
      .then((state) => {
        expect(conversation(state)).toEqual([`user ${objective}`, "user good words"]);
        expect(state.objectiveErased).toBeUndefined();
      });
  });

  test("an empty one is no message", () => {
    for (const objective of ["", " \n"]) {
      given(created({ objective }), taken(say("hi"))).then((state) => {
        expect(conversation(state)).toEqual(["user hi"]);
      });
    }
  });
});

describe("Compacted", () => {
  const long = [
    ...asked,
    replied([call("look")]),
    finished("c4_0"),
    called(),
    replied("one"),
    taken(say("two")),
  ] as const;

  test("puts a summary in place of what it covers, and starts the request's chain anew", () => {
    const usage = { tokens: { input: 5, output: 2 }, durationMs: 1 };
    given(...asked, replied("one", { usage })).then((state) => {
      expect(state.contextTokens).toBe(7);
    });
    given(...asked, replied("one", { usage }), compacted(4, "s")).then((state) => {
      expect(state.contextTokens).toBeUndefined();
    });
    given(...long, compacted(7, "all so far")).then((state) => {
      expect(conversation(state)).toEqual(["user [Summary of the conversation up to here]\nall so far", "user two"]);
      expect(state.compactions).toBe(1);
      expect(state.chain).toBeUndefined();
    });
  });

  test("never splits results from their calls, wherever it cuts", () => {
    for (let through = 1; through <= 8; through += 1) {
      for (const kept of [[], [4], [5], [2, 4]]) {
        given(...long, compacted(through, "s", kept)).then((state) => {
          state.messages.forEach((message, index) => {
            const calls = message.role === "assistant" && message.parts.some((part) => part.type === "call");
            expect(state.messages[index + 1]?.role === "tool").toBe(calls);
          });
        });
      }
    }
  });

  test("keeps what is pinned, with its results", () => {
    given(...long, compacted(7, "s", [4])).then((state) => {
      expect(conversation(state)).toEqual([
        "user [Summary of the conversation up to here]\ns",
        "assistant c4_0:look",
        "tool c4_0=ok",
        "user two",
      ]);
    });
  });

  test("takes the place of an earlier summary, also where the tail is older than that summary", () => {
    given(...long, compacted(2, "first"), compacted(5, "second")).then((state) => {
      expect(conversation(state)).toEqual([
        "user [Summary of the conversation up to here]\nsecond",
        "assistant one",
        "user two",
      ]);
    });
  });
});

describe("Waiting and TaskEnded", () => {
  test("a wait with an outcome stops the turn", () => {
    given(...asked, replied("yes"), waiting("input", { outcome: "completed" })).then((state) => {
      expect(state.turn).toMatchObject({ outcome: "completed", answer: "yes" });
      expect(state.waiting).toEqual({ on: "input", outcome: "completed", waits: [] });
    });
  });

  test("a wait without one leaves the turn running", () => {
    const waits = [{ on: "approval" as const, callId: "c4_1", ref: "q" }];
    given(...twoCalls, waiting("approval", { reason: "r", detail: { waits } })).then((state) => {
      expect(state.turn).not.toHaveProperty("outcome");
      expect(state.waiting).toEqual({ on: "approval", reason: "r", waits });
    });
  });

  test("anything that moves the task on ends the wait", () => {
    const paused = [...twoCalls, waiting("approval")] as const;
    for (const next of [taken(say("x")), started("c4_0", "look"), finished("c4_0")]) {
      given(...paused, next).then((state) => {
        expect(state.waiting).toBeUndefined();
      });
    }
    given(...paused, recorded("notes", "seen")).then((state) => {
      expect(state.waiting).toBeDefined();
    });
    given(...paused, core("turn_failed", { reason: "error" })).then((state) => {
      expect(state.waiting).toBeUndefined();
      expect(state.turn?.failed).toBe("error");
    });
    given(...asked, replied("x"), waiting("input"), called()).then((state) => {
      expect(state.waiting).toBeUndefined();
    });
  });

  test("the pause after an interruption is recorded with it", () => {
    given(...asked, core("interrupted", { reason: "crashed" })).then((state) => {
      expect(state.interrupted).toBe("crashed");
    });
    given(...asked, core("interrupted", { reason: "crashed" }), waiting("resume", { outcome: "paused" })).then(
      (state) => {
        expect(state.interrupted).toBeUndefined();
      },
    );
  });

  test("the end forgets timers", () => {
    given(core("timer_set", { id: "t", dueAt: 5 }), ended()).then((state) => {
      expect(state.timers).toEqual({});
    });
  });
});

describe("plugins", () => {
  const seen: PluginRecord[] = [];
  const list: Reducer = {
    initial: () => [],
    reduce: (state, record) => {
      seen.push(record);
      return [...(state as unknown[]), `${record.extension}/${record.kind}`];
    },
  };
  const run = givenWith({ notes: list, plan: { ...list, folds: ["notes"] } });

  test("each folds its own records, those it declares, and erasures; no other kernel kind", () => {
    run(
      created(),
      recorded("notes", "kept", { a: 1 }),
      recorded("plan", "step"),
      recorded("other", "thing"),
      core("handoff", { origin: { frontEnd: "", place: "", conversation: "", private: true }, by: "" }),
      core("erased", { seqs: [9], reason: "blocked" }),
    ).then((state) => {
      expect(state.plugins).toEqual({
        notes: ["notes/kept", "core/erased"],
        plan: ["notes/kept", "plan/step", "core/erased"],
      });
    });
  });

  test("a reducer is told what it folds, and that only a skeleton is left", () => {
    seen.length = 0;
    const secret = recorded("notes", "kept", { a: 1, b: 2 }, { skeleton: ["a"] });
    run(created(), secret).then(() => {
      expect(seen[0]).toMatchObject({ data: { a: 1, b: 2 }, redacted: false });
    });
    seen.length = 0;
    run(created(), skeletonOf(secret)).then(() => {
      expect(seen[0]).toEqual({ extension: "notes", kind: "kept", v: 1, data: { a: 1 }, seq: 2, redacted: true });
    });
  });

  test("a record of a plugin that is not here is passed over", () => {
    given(recorded("gone", "thing", { any: "thing" })).then((state) => {
      expect(state.plugins).toEqual({});
    });
  });
});

describe("redacted events", () => {
  const gap = { type: "text", text: GAP };

  test("leave gaps in place of words, and calls and results paired", () => {
    const events = [
      created(),
      taken(say("secret")),
      called(),
      replied([{ type: "reasoning", text: "secret" }, text("secret"), call("look", { secret: 1 })]),
      finished("c4_2", "secret"),
      recorded("notes", "reminder", {}, { words: "secret" }),
      called(),
      replied("secret"),
    ];
    given(...events.map((event, index) => (index === 0 ? event : skeletonOf(event)))).then((state) => {
      expect(conversation(state)).toEqual([
        `user ${GAP}`,
        `assistant ${GAP} | c4_2:look`,
        "tool c4_2=ok",
        `user ${GAP}`,
        `assistant ${GAP}`,
      ]);
      expect(state.messages[2]).toMatchObject({ results: [{ content: [gap] }] });
      expect(state.turn?.answer).toBe(GAP);
    });
  });

  test("a summary without its words says so", () => {
    given(...asked, replied("yes"), skeletonOf(compacted(4, "secret"))).then((state) => {
      expect(conversation(state)).toEqual([`user [Summary of the conversation up to here]\n${GAP}`]);
    });
  });

  test("a call whose input is gone is marked, until it is announced with one", () => {
    const reply = skeletonOf(replied([call("send", { secret: 1 })]));
    given(...asked, reply).then((state) => {
      expect(state.calls[0]?.redacted).toBe(true);
    });
    given(...asked, reply, started("c4_0", "send")).then((state) => {
      expect(state.calls[0]).not.toHaveProperty("redacted");
    });
    given(...asked, replied([call("send")]), skeletonOf(started("c4_0", "send"))).then((state) => {
      expect(state.calls[0]?.redacted).toBe(true);
    });
  });
});

describe("times that are not known yet", () => {
  test("become those of the commit", () => {
    given(...twoCalls).then((state) => {
      const next = (seq: number, event: ReturnType<typeof started>) =>
        apply(state, { seq, at: PROVISIONAL, event }, {});
      next(5, started("c4_0", "look"));
      next(6, started("c4_1", "send", { effect: "write" }));
      next(7, core("action_unknown", { callId: "c4_1", reason: "crashed" }));
      confirmTime(state, 77);
      expect(state.at).toBe(77);
      expect(state.calls.map((each) => [each.startedAt, each.unknownAt])).toEqual([
        [77, undefined],
        [77, 77],
      ]);
      next(8, started("c4_0", "look", { attempt: 2 }));
      confirmTime(state, 99);
      expect(state.calls[0]?.startedAt).toBe(77);
    });
  });
});

test("a branch takes events without changing what it came from", () => {
  given(...twoCalls, core("timer_set", { id: "t", dueAt: 5 })).then((state) => {
    const before = structuredClone(state);
    let branch = branchOf(state);
    expect(branch).toEqual(before);
    const events = [
      taken(say("later")),
      started("c4_0", "look"),
      finished("c4_0"),
      finished("c4_1"),
      core("timer_cancelled", { id: "t" }),
      core("approval_settled", { requestId: "q", callId: "c4_1", decision: "cancelled", by: "core" }),
      core("interrupted", { reason: "crashed" }),
      waiting("input", { outcome: "paused" }),
    ];
    for (const event of events) branch = apply(branch, { seq: branch.seq + 1, at: 0, event }, {});
    expect(branch.turn?.outcome).toBe("paused");
    expect(state).toEqual(before);
  });
});

test("the kernel records what a task runs as, and a later record replaces it", () => {
  given(
    core("prompts", { identity: "I", system: "S", parts: [{ plugin: "p", text: "t" }] }),
    toolsKnown({ name: "a", definition: "d", plugin: "p", effect: "read" }),
    core("plugins", { pins: [{ name: "p", version: "2", source: "s" }], tools: [] }),
  ).then((state) => {
    expect(state.prompts).toEqual({ identity: "I", system: "S", parts: [{ plugin: "p", text: "t" }] });
    expect(state.pins).toEqual([{ name: "p", version: "2", source: "s" }]);
    expect(state.tools).toEqual([]);
  });
});
