import { describe, expect, test } from "vitest";
import {
  OWNER,
  call,
  called,
  core,
  created,
  finished,
  given,
  item,
  logOf,
  recorded,
  replied,
  say,
  started,
  steer,
  taken,
  waiting,
  type Step,
} from "../testing/given.ts";
import { mayClose, mayResume } from "./apply-input.ts";
import type { EventOf, Mode } from "./events.ts";
import { apply, fold } from "./fold.ts";
import { itemTypes, type Item } from "./items.ts";
import { GAP, textOf } from "./messages.ts";
import { itemSkeleton, skeletonOf } from "./redact.ts";
import { isRunning, type TaskState } from "./state.ts";

const modes: readonly Mode[] = ["conversation", "run", "oneShot"];
const FRIEND = "local:friend";

const interrupt = (seq = 0): Item => item("Interrupt", {}, { seq });
const cancel = (seq = 0): Item => item("Cancel", {}, { seq });
const close = (): Item => item("Close", {});
const resume = (words?: string): Item => item("Resume", words === undefined ? {} : { text: words });
const resolve = (callId: string): Item => item("Resolve", { callId, outcome: "absent", verification: "looked" });

const asked = (mode: Mode = "conversation"): Step[] => [created({ mode }), taken(say("hi")), called()];
const answered = (mode?: Mode): Step[] => [...asked(mode), replied("yes")];
const stopped = (outcome: EventOf<"Waiting">["outcome"], mode?: Mode): Step[] => [
  ...answered(mode),
  waiting("input", { ...(outcome === undefined ? {} : { outcome }), reason: "why" }),
];
/** A look and a send, the send started: events 5 and on. */
const busy = (mode?: Mode): Step[] => [
  ...asked(mode),
  replied([call("look"), call("send")]),
  started("c4_1", "send", { effect: "write" }),
];
const unknown = (mode?: Mode): Step[] => [
  ...busy(mode),
  finished("c4_0"),
  core("action_unknown", { callId: "c4_1", reason: "crashed" }),
];
const pausedUnknown = (mode?: Mode): Step[] => [...unknown(mode), waiting("resolution", { outcome: "paused" })];

const users = (state: TaskState): string[] =>
  state.messages.flatMap((message) => (message.role === "user" ? [textOf(message.content)] : []));
const queued = (state: TaskState): string[] =>
  state.queue.flatMap((message) => (message.role === "user" ? [textOf(message.content)] : []));
const superseded = (state: TaskState): string[] =>
  state.calls.flatMap((each) => (each.superseded === true ? [each.id] : []));

test("what was taken is known by its last inbox seq", () => {
  given(created(), taken(say("a"), say("b")), taken(interrupt())).then((state) => {
    expect(state.inboxTaken).toBe(3);
  });
});

describe("Say", () => {
  test("opens the first turn in every mode", () => {
    for (const mode of modes) {
      given(created({ mode }), taken(say("hi"))).then((state) => {
        expect(state.turn).toEqual({ seq: 2, legs: 1, steps: 0, legSteps: 0 });
        expect(users(state)).toEqual(["hi"]);
      });
    }
  });

  test("opens a new turn where one rests, but in a run is queued until a resume", () => {
    for (const outcome of ["completed", "paused", "cancelled", "failed"] as const) {
      for (const mode of ["conversation", "oneShot"] as const) {
        given(...stopped(outcome, mode), taken(say("more"))).then((state) => {
          expect(state.turn).toEqual({ seq: 6, legs: 1, steps: 0, legSteps: 0 });
          expect(users(state)).toEqual(["hi", "more"]);
        });
      }
      given(...stopped(outcome, "run"), taken(say("more"))).then((state) => {
        expect(state.turn?.outcome).toBe(outcome);
        expect(queued(state)).toEqual(["more"]);
      });
    }
  });

  test("gives the new turn all attempts at the model anew", () => {
    const failed = core("model_failed", {
      class: "network",
      purpose: "turn",
      attempt: 1,
      durationMs: 1,
      retryAt: 9_000,
    });
    given(...asked(), failed, waiting("resume", { outcome: "paused" }), taken(say("more"))).then((state) => {
      expect(state.model).toEqual({ attempts: 0, failures: 0 });
    });
  });

  test("joins a running turn, and takes back an answer that nobody has been given yet", () => {
    given(...answered(), taken(say("more"))).then((state) => {
      expect(state.turn).toEqual({ seq: 2, legs: 2, steps: 1, legSteps: 1 });
    });
  });

  test("waits while an action is unknown", () => {
    given(...pausedUnknown(), taken(say("more"))).then((state) => {
      expect(isRunning(state)).toBe(false);
      expect(queued(state)).toEqual(["more"]);
    });
  });

  test("calls off what the earlier turn left open", () => {
    given(...asked(), replied([call("look")]), waiting("resume", { outcome: "paused" }), taken(say("more"))).then(
      (state) => {
        expect(superseded(state)).toEqual(["c4_0"]);
        expect(queued(state)).toEqual(["more"]);
      },
    );
  });

  test("brings its files after its words, and files alone", () => {
    const files = [{ type: "file" as const, name: "a.png", mediaType: "image/png", size: 1 }];
    given(created(), taken(item("Say", { text: "look", files }), item("Say", { text: "", files }))).then((state) => {
      expect(state.messages.map((message) => (message.role === "user" ? message.content : []))).toEqual([
        [{ type: "text", text: "look" }, ...files],
        files,
      ]);
    });
  });

  test("of which only the skeleton is left shows a gap", () => {
    given(created(), taken(itemSkeleton(say("secret")))).then((state) => {
      expect(users(state)).toEqual([GAP]);
    });
  });
});

describe("Steer", () => {
  test("calls off the calls of a running turn and joins after their results", () => {
    given(...busy(), taken(steer("rather so"))).then((state) => {
      expect(superseded(state)).toEqual(["c4_0", "c4_1"]);
      expect(queued(state)).toEqual(["rather so"]);
    });
  });

  test("calls off nothing of a run that is paused: it waits there with other words", () => {
    const paused = [...busy("run"), finished("c4_1"), waiting("resume", { outcome: "paused" })];
    given(...paused, taken(steer("so"))).then((state) => {
      expect(superseded(state)).toEqual([]);
      expect(queued(state)).toEqual(["so"]);
    });
  });

  test("leaves an unknown action and a finished call alone", () => {
    given(...unknown(), taken(steer("rather so"))).then((state) => {
      expect(superseded(state)).toEqual([]);
    });
  });

  test("takes the ordinary path once work has finished", () => {
    given(...stopped("completed"), taken(steer("more"))).then((state) => {
      expect(isRunning(state)).toBe(true);
    });
    given(...stopped("completed", "run"), taken(steer("more"))).then((state) => {
      expect(isRunning(state)).toBe(false);
    });
  });
});

describe("Interrupt", () => {
  test("stops a running turn and calls off its calls, in every mode", () => {
    for (const mode of modes) {
      given(...busy(mode), taken(item("Interrupt", {}))).then((state) => {
        expect(state.stopping).toEqual({ kind: "interrupt", by: OWNER, seq: 2 });
        expect(superseded(state)).toEqual(["c4_0", "c4_1"]);
      });
    }
  });

  test("has no effect where nothing runs", () => {
    for (const log of [[created()], stopped("completed"), stopped("paused")]) {
      given(...log, taken(interrupt())).then((state) => {
        expect(state.stopping).toBeUndefined();
      });
    }
  });

  test("is done once the turn has an outcome", () => {
    given(...busy(), taken(interrupt()), waiting("resume", { outcome: "paused" })).then((state) => {
      expect(state.stopping).toBeUndefined();
    });
    given(...busy(), taken(interrupt()), waiting("resolution")).then((state) => {
      expect(state.stopping?.kind).toBe("interrupt");
    });
  });
});

describe("Cancel", () => {
  test("stops a running turn, and one that paused or failed", () => {
    for (const log of [busy(), stopped("paused"), stopped("failed")]) {
      given(...log, taken(cancel())).then((state) => {
        expect(state.stopping?.kind).toBe("cancel");
        expect(isRunning(state)).toBe(true);
        expect(state.turn).not.toHaveProperty("reason");
      });
    }
  });

  test("has no effect on a turn that is over, or before the first, but ends a one-shot", () => {
    for (const mode of ["conversation", "run"] as const) {
      for (const log of [[created({ mode })], stopped("completed", mode), stopped("cancelled", mode)]) {
        given(...log, taken(cancel())).then((state) => {
          expect(state.stopping).toBeUndefined();
        });
      }
    }
    given(created({ mode: "oneShot" }), taken(cancel())).then((state) => {
      expect(state.stopping?.kind).toBe("cancel");
    });
  });

  test("goes before an interrupt, whichever came first", () => {
    for (const items of [
      [interrupt(), cancel()],
      [cancel(), interrupt()],
    ]) {
      given(...busy(), taken(...items)).then((state) => {
        expect(state.stopping?.kind).toBe("cancel");
      });
    }
    given(...busy(), taken(cancel()), taken(interrupt())).then((state) => {
      expect(state.stopping?.kind).toBe("cancel");
    });
    given(...busy(), taken(interrupt()), taken(cancel())).then((state) => {
      expect(state.stopping?.kind).toBe("cancel");
    });
  });
});

describe("words around a stop", () => {
  test("after it they open the conversation's next turn at once: they are not lost with the stopped one", () => {
    for (const stop of [interrupt(), cancel()]) {
      given(...busy(), taken(stop, say("instead"))).then((state) => {
        expect(state.stopping).toBeUndefined();
        expect(state.turn?.seq).toBe(6);
        expect(superseded(state)).toEqual(["c4_0", "c4_1"]);
        expect(queued(state)).toEqual(["instead"]);
      });
      given(...busy(), taken(stop), taken(say("instead"))).then((state) => {
        expect(state.turn?.seq).toBe(7);
      });
    }
  });

  test("before it they belong to the stopped turn, although control items are served first", () => {
    given(...busy(), taken(say("and b"), interrupt())).then((state) => {
      expect(state.stopping?.kind).toBe("interrupt");
      expect(state.turn?.seq).toBe(2);
    });
  });

  test("a run and a one-shot stop all the same", () => {
    for (const mode of ["run", "oneShot"] as const) {
      given(...busy(mode), taken(cancel(), say("instead"))).then((state) => {
        expect(state.stopping?.kind).toBe("cancel");
      });
    }
  });

  test("while an action is unknown they wait for its settlement", () => {
    given(...unknown(), taken(interrupt(), say("instead"))).then((state) => {
      expect(state.stopping?.kind).toBe("interrupt");
      expect(queued(state)).toEqual(["instead"]);
    });
  });

  test("after a close they keep the task open", () => {
    given(...stopped("completed"), taken(close(), say("one more thing"))).then((state) => {
      expect(state.stopping).toBeUndefined();
      expect(isRunning(state)).toBe(true);
    });
  });
});

describe("Close", () => {
  test("ends a task that has nothing open", () => {
    for (const mode of modes) {
      for (const log of [
        [created({ mode })],
        stopped("completed", mode),
        stopped("paused", mode),
        stopped("failed", mode),
        [...busy(mode), finished("c4_1"), waiting("resume", { outcome: "paused" })],
      ]) {
        given(...log, taken(close())).then((state) => {
          expect(state.stopping?.kind).toBe("close");
        });
      }
    }
  });

  test("has no effect while a turn runs, an action is unknown, or somebody is asked", () => {
    const parked = (on: "answer" | "children") => [
      ...busy(),
      finished("c4_1"),
      started("c4_0", "look"),
      core("call_parked", { callId: "c4_0", on }),
      waiting("resume", { outcome: "paused" }),
    ];
    const job = [
      ...busy(),
      finished("c4_0"),
      core("detached", { callId: "c4_1", job: "j" }),
      waiting("signal", { outcome: "paused" }),
    ];
    for (const log of [busy(), pausedUnknown(), parked("answer"), parked("children"), job]) {
      given(...log, taken(close())).then((state) => {
        expect(state.stopping).toBeUndefined();
        expect(mayClose(state)).toBe(false);
      });
    }
  });
});

describe("Resume", () => {
  test("lets a paused, failed or cancelled turn go on, with fresh bounds", () => {
    for (const outcome of ["paused", "failed", "cancelled"] as const) {
      for (const mode of modes) {
        const failed = core("turn_failed", { reason: "error" });
        given(...answered(mode), failed, waiting("resume", { outcome, reason: "why" }), taken(resume())).then(
          (state) => {
            expect(state.turn).toEqual({ seq: 2, legs: 1, steps: 0, legSteps: 0 });
            expect(users(state)).toEqual(["hi", "[The task was resumed. Go on.]"]);
          },
        );
      }
    }
  });

  test("counts legs anew", () => {
    const leg = recorded("plan", "leg", {}, { words: "goals are open" });
    given(...answered(), leg, called(), replied("still"), waiting("resume", { outcome: "paused" })).then((state) => {
      expect(state.turn?.legs).toBe(2);
    });
    given(
      ...answered(),
      leg,
      called(),
      replied("still"),
      waiting("resume", { outcome: "paused" }),
      taken(resume()),
    ).then((state) => {
      expect(state.turn).toMatchObject({ legs: 1, legSteps: 0 });
    });
  });

  test("opens a new turn where one completed", () => {
    given(...stopped("completed", "run"), taken(resume("once more"))).then((state) => {
      expect(state.turn).toEqual({ seq: 6, legs: 1, steps: 0, legSteps: 0 });
      expect(users(state)).toEqual(["hi", "once more"]);
    });
  });

  test("brings its words, and those that were queued, in place of the kernel's", () => {
    given(...stopped("completed", "run"), taken(say("queued")), taken(resume())).then((state) => {
      expect(users(state)).toEqual(["hi", "queued"]);
    });
    given(...stopped("paused", "run"), taken(say("queued")), taken(resume("and go"))).then((state) => {
      expect(users(state)).toEqual(["hi", "queued", "and go"]);
    });
    given(...stopped("paused", "run"), taken(itemSkeleton(resume("secret")))).then((state) => {
      expect(users(state)).toEqual(["hi", GAP]);
    });
  });

  test("says nothing where results or a person's words await a reply", () => {
    given(
      ...busy(),
      finished("c4_0"),
      finished("c4_1"),
      waiting("resume", { outcome: "paused" }),
      taken(resume()),
    ).then((state) => {
      expect(users(state)).toEqual(["hi"]);
    });
    const failed = core("model_failed", {
      class: "network",
      purpose: "turn",
      attempt: 1,
      durationMs: 1,
      retryAt: 9_000,
    });
    given(...asked(), failed, waiting("resume", { outcome: "paused" }), taken(resume())).then((state) => {
      expect(users(state)).toEqual(["hi"]);
      expect(state.model).toMatchObject({ attempts: 1, failures: 0 });
      expect(state.model.retryAt).toBeUndefined();
    });
  });

  test("says nothing where calls are still to run", () => {
    given(...busy(), finished("c4_1"), waiting("resume", { outcome: "paused" }), taken(resume())).then((state) => {
      expect(state.queue).toEqual([]);
    });
  });

  test("has something to answer also where all words were erased", () => {
    const erased = core("erased", { seqs: [2], reason: "blocked" });
    given(created({ objective: "hi" }), taken(say("hi")), erased, waiting("resume", { outcome: "paused" }))
      .when(taken(resume()))
      .then((state) => {
        expect(users(state)).toEqual(["[The task was resumed. Go on.]"]);
      });
  });

  test("joins its words before an attempt that was under way when the turn stopped is made again", () => {
    given(...asked(), taken(interrupt()), waiting("resume", { outcome: "paused" }), taken(resume("but shorter"))).then(
      (state) => {
        expect(users(state)).toEqual(["hi", "but shorter"]);
        expect(state.model).toMatchObject({ attempts: 1, failures: 0 });
        expect(state.model.open).toBeUndefined();
      },
    );
  });

  test("is void where no turn has stopped: before the first, in the middle of one, right before the crash is seen", () => {
    for (const log of [[created()], busy(), answered()]) {
      given(...log, taken(resume("go"))).then((state, events) => {
        const before = fold(state.taskId, events.slice(0, -1), {});
        expect(state).toEqual({ ...before, seq: state.seq, at: state.at, inboxTaken: state.inboxTaken });
      });
    }
  });

  test("may not be asked for before the first turn", () => {
    given(created()).then((state) => {
      expect(mayResume(state)).toBe(false);
    });
  });

  test("is void while an action is unknown or an approval is pending", () => {
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c4_0",
      inputHash: "h",
      definition: "d",
      decides: "owner",
    });
    const pending = [...busy(), finished("c4_1"), asks, waiting("resume", { outcome: "paused" })];
    for (const log of [pausedUnknown(), pending]) {
      given(...log, taken(resume("go"))).then((state) => {
        expect(mayResume(state)).toBe(false);
        expect(state.turn?.outcome).toBe("paused");
      });
    }
  });

  test("counts when it comes with the settlement, in either order", () => {
    for (const items of [
      [resolve("c4_1"), resume()],
      [resume(), resolve("c4_1")],
    ]) {
      given(...pausedUnknown(), taken(...items)).then((state) => {
        expect(isRunning(state)).toBe(true);
        expect(state.calls[1]?.phase).toBe("unknown");
      });
    }
  });

  test("voids approvals of calls that have not started", () => {
    const asks = core("approval_requested", {
      requestId: "q",
      callId: "c4_0",
      inputHash: "h",
      definition: "d",
      decides: "owner",
    });
    const yes = core("approval_settled", { requestId: "q", callId: "c4_0", decision: "approved", by: OWNER });
    const paused = [...busy(), finished("c4_1"), asks, yes, waiting("resume", { outcome: "paused" })];
    given(...paused).then((state) => {
      expect(state.calls[0]?.approval?.approved).toBe(true);
    });
    given(...paused, taken(resume())).then((state) => {
      expect(state.calls[0]?.approval).toBeUndefined();
    });
  });
});

describe("Resolve and Verify", () => {
  test("are for an unknown action; the first resolution counts", () => {
    const second = item("Resolve", { callId: "c4_1", outcome: "done", verification: "no" });
    given(...pausedUnknown(), taken(item("Verify", { callId: "c4_1" })), taken(resolve("c4_1")), taken(second)).then(
      (state) => {
        expect(state.calls[1]).toMatchObject({
          phase: "unknown",
          verifyAskedBy: OWNER,
          resolution: { outcome: "absent", by: OWNER, verification: "looked" },
        });
      },
    );
  });

  test("have no effect on any other call, or none", () => {
    for (const callId of ["c4_0", "c4_1", "c9_9", "__proto__"]) {
      given(...busy(), taken(resolve(callId), item("Verify", { callId }))).then((state) => {
        expect(state.calls.some((each) => each.resolution !== undefined || each.verifyAskedBy !== undefined)).toBe(
          false,
        );
      });
    }
  });
});

describe("what a parked call waits for", () => {
  const parked = (on: "answer" | "children" | "timer" | "signal", ref: string): Step[] => [
    ...busy(),
    finished("c4_1"),
    started("c4_0", "look"),
    ...(on === "timer" ? [core("timer_set", { id: ref, dueAt: 5_000, callId: "c4_0" })] : []),
    core("call_parked", { callId: "c4_0", on, ref }),
  ];
  const arrivalOf = (state: TaskState) => state.calls[0]?.arrival;

  test("an answer is for the call that asked", () => {
    given(...parked("answer", "which?"), taken(item("Answer", { question: "c4_0", text: "42" }))).then((state) => {
      expect(arrivalOf(state)).toEqual({ status: "ok", content: [{ type: "text", text: "42" }] });
    });
    given(...parked("answer", "which?"), taken(item("Answer", { question: "c4_1", text: "42" }))).then((state) => {
      expect(arrivalOf(state)).toBeUndefined();
    });
  });

  test("an answer whose words were redacted is a gap", () => {
    const answer = skeletonOf(taken(item("Answer", { question: "c4_0", text: "42" })));
    given(...parked("answer", "which?"), answer).then((state) => {
      expect(arrivalOf(state)?.content).toEqual([{ type: "text", text: GAP }]);
    });
  });

  test("the first answer counts", () => {
    const answer = (words: string): Item => item("Answer", { question: "c4_0", text: words });
    given(...parked("answer", "which?"), taken(answer("first"), answer("second"))).then((state) => {
      expect(arrivalOf(state)?.content).toEqual([{ type: "text", text: "first" }]);
    });
  });

  test("nothing arrives at a call that waits for something else", () => {
    given(...parked("signal", "bell"), taken(item("Answer", { question: "c4_0", text: "42" }))).then((state) => {
      expect(arrivalOf(state)).toBeUndefined();
    });
  });

  test("a signal is for what waits for a signal, not for what waits for something of that name", () => {
    given(...parked("children", "bell"), taken(item("Signal", { name: "bell" }))).then((state) => {
      expect(arrivalOf(state)).toBeUndefined();
    });
  });

  test("a child that has ended lives no more, and lets its parent close", () => {
    given(...stopped("completed")).then((state, log) => {
      const child = { callId: "c4_0" };
      state.children = { x: child, y: child };
      expect(mayClose(state)).toBe(false);
      const end = item("ChildEnded", { childId: "x", callId: "c4_0", outcome: "done" });
      apply(state, { seq: log.length + 1, at: 0, event: taken(end) }, {});
      expect(state.children).toEqual({ y: child });
      expect(mayClose({ ...state, children: {} })).toBe(true);
    });
  });

  test("a child's end is an error unless it is done", () => {
    const end = (outcome: "done" | "failed", words: object): Item =>
      item("ChildEnded", { childId: "x", callId: "c4_0", outcome, ...words });
    given(...parked("children", "x"), taken(end("done", { answer: "found" }))).then((state) => {
      expect(arrivalOf(state)).toEqual({ status: "ok", content: [{ type: "text", text: "found" }] });
    });
    given(...parked("children", "x"), taken(end("failed", { reason: "broke" }))).then((state) => {
      expect(arrivalOf(state)).toEqual({ status: "error", content: [{ type: "text", text: "broke" }] });
    });
    given(...parked("children", "x"), taken(end("failed", {}))).then((state) => {
      expect(arrivalOf(state)?.content).toEqual([{ type: "text", text: "failed" }]);
    });
  });

  test("a timer fires once, for the time it was set to", () => {
    const fired = (dueAt: number): Item => item("TimerFired", { timerId: "t", dueAt });
    given(...parked("timer", "t"), taken(fired(5_000))).then((state) => {
      expect(arrivalOf(state)).toEqual({ status: "ok", content: [{ type: "text", text: "The time has come." }] });
      expect(state.timers).toEqual({});
    });
    given(
      ...parked("timer", "t"),
      core("timer_set", { id: "t", dueAt: 9_000, callId: "c4_0" }),
      taken(fired(5_000)),
    ).then((state) => {
      expect(arrivalOf(state)).toBeUndefined();
      expect(state.timers["t"]?.dueAt).toBe(9_000);
    });
    given(
      core("timer_set", { id: "t", dueAt: 5_000 }),
      taken(fired(5_000), item("TimerFired", { timerId: "toString", dueAt: 1 })),
    ).then((state) => {
      expect(state.timers).toEqual({});
    });
  });

  test("a signal goes to the first call that waits for its name", () => {
    const two = [
      ...asked(),
      replied([call("hear"), call("hear")]),
      started("c4_0", "hear"),
      core("call_parked", { callId: "c4_0", on: "signal", ref: "bell" }),
      started("c4_1", "hear"),
      core("call_parked", { callId: "c4_1", on: "signal", ref: "bell" }),
    ];
    given(...two, taken(item("Signal", { name: "gong" }), item("Signal", { name: "bell", data: { n: 1 } }))).then(
      (state) => {
        expect(state.calls.map((each) => each.arrival?.content)).toEqual([
          [{ type: "text", text: '{"n":1}' }],
          undefined,
        ]);
      },
    );
    given(...two, taken(item("Signal", { name: "bell" }), item("Signal", { name: "bell" }))).then((state) => {
      expect(state.calls.every((each) => each.arrival !== undefined)).toBe(true);
    });
  });
});

test("Reconfigure changes the settings that it names", () => {
  given(
    created({ settings: { maxSteps: 5 } }),
    taken(item("Reconfigure", { settings: { model: "n", temperature: 1 } })),
  ).then((state) => {
    expect(state.settings).toEqual({ model: "n", maxSteps: 5, temperature: 1 });
  });
});

test("Reconfigure by anyone but the owner changes nothing", () => {
  given(created(), taken(item("Reconfigure", { settings: { model: "n" } }, { by: FRIEND }))).then((state) => {
    expect(state.settings).toEqual({ model: "m" });
  });
});

test("Decide, SourceChanged, Handoff and Collaborate change nothing by themselves: their records do", () => {
  const items: Item[] = [
    item("Decide", { requestId: "q", inputHash: "h", showing: 1, decision: "approve" }),
    item("SourceChanged", { source: "s", deleted: true }),
    item("Handoff", { origin: { frontEnd: "x", place: "y", conversation: "z", private: true } }),
    item("Collaborate", { principal: FRIEND, change: "add" }),
  ];
  given(...busy(), taken(...items)).then((state, log) => {
    const before = fold(state.taskId, log.slice(0, -1), {});
    expect(state).toEqual({ ...before, seq: state.seq, at: state.at, inboxTaken: state.inboxTaken });
  });
});

test("every type of item can be taken in every state", () => {
  const bodies = {
    Say: { text: "x" },
    Steer: { text: "x" },
    Decide: { requestId: "q", inputHash: "h", showing: 1, decision: "approve" },
    Answer: { question: "c4_0", text: "x" },
    Signal: { name: "n" },
    ChildEnded: { childId: "c", callId: "c4_0", outcome: "done" },
    TimerFired: { timerId: "t", dueAt: 1 },
    Interrupt: {},
    Cancel: {},
    Close: {},
    Resume: {},
    Resolve: { callId: "c4_1", outcome: "done", verification: "v" },
    Verify: { callId: "c4_1" },
    SourceChanged: { source: "s", deleted: false },
    Handoff: { origin: { frontEnd: "x", place: "y", conversation: "z", private: true } },
    Collaborate: { principal: "p", change: "add" },
    Reconfigure: { settings: {} },
  } as const;
  for (const mode of modes) {
    for (const log of [[created({ mode })], busy(mode), pausedUnknown(mode), stopped("completed", mode)]) {
      for (const type of itemTypes) {
        const events = logOf(...log, taken(item(type, bodies[type] as never)));
        expect(fold("t", events, {}).inboxTaken).toBe(log.length > 1 ? 2 : 1);
      }
    }
  }
});
