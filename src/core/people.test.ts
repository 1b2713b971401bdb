// Who may ask what: the owner everything, a collaborator a correction, anybody else nothing.
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
  replied,
  say,
  started,
  steer,
} from "../testing/given.ts";
import { taken, waiting, type Step } from "../testing/given.ts";
import { decodeEvent, encodeEvent } from "./codec.ts";
import { fold } from "./fold.ts";
import { itemTypes, type Item } from "./items.ts";
import { refusalFor } from "./people.ts";
import { skeletonOf } from "./redact.ts";
import type { TaskState } from "./state.ts";

const FRIEND = "local:friend";
const STRANGER = "local:stranger";
const place = { frontEnd: "cli", place: "here", conversation: "one" };

const begun = (isPrivate = false): Step[] => [
  created({ origin: { ...place, private: isPrivate } }),
  taken(say("go")),
  core("collaborator", { principal: FRIEND, change: "add", by: OWNER }),
];
/** A reply whose calls have not begun, but the first, which is under way. */
const working = (isPrivate = false): Step[] => [
  ...begun(isPrivate),
  called(),
  replied([call("send"), call("look")]),
  started("c5_0", "send", { effect: "write" }),
];

/** Without what each event moves on. */
const bare = ({ seq: _seq, at: _at, inboxTaken: _taken, ...state }: TaskState) => state;

/** Whether what was taken last changed anything. */
const changes = (log: readonly Step[], ...items: readonly Item[]): boolean => {
  const events = logOf(...log, taken(...items));
  const before = fold("t", events.slice(0, -1), {});
  // A wait is over with whatever is taken.
  delete before.waiting;
  try {
    expect(bare(fold("t", events, {}))).toEqual(bare(before));
    return false;
  } catch {
    return true;
  }
};

const bodies = {
  Say: { text: "x" },
  Answer: { question: "c5_0", text: "x" },
  Interrupt: {},
  Cancel: {},
  Close: {},
  Resume: { text: "x" },
  Resolve: { callId: "c5_0", outcome: "done", verification: "v" },
  Verify: { callId: "c5_0" },
  Reconfigure: { settings: { model: "n" } },
} as const;

const unknown = (): Step[] => [...working(), core("action_unknown", { callId: "c5_0", reason: "crashed" })];
const asking = (): Step[] => [...working(), finished("c5_0"), core("call_parked", { callId: "c5_1", on: "answer" })];
const paused = (): Step[] => [...begun(), waiting("resume", { outcome: "paused" })];
const completed = (): Step[] => [...begun(), called(), replied("done"), waiting("input", { outcome: "completed" })];

/** A log in which an item of the type, of the owner, changes something. */
const where: { readonly [K in keyof typeof bodies]: () => Step[] } = {
  Say: begun,
  Answer: asking,
  Interrupt: begun,
  Cancel: begun,
  Close: completed,
  Resume: paused,
  Resolve: unknown,
  Verify: unknown,
  Reconfigure: begun,
};

describe("what only the owner may ask", () => {
  test.each(Object.keys(bodies) as (keyof typeof bodies)[])(
    "%s is refused to another, and then passed over",
    (type) => {
      const body = type === "Answer" ? { question: "c5_1", text: "x" } : bodies[type];
      const log = where[type]();
      const asked = item(type, body as never);
      const state = fold("t", logOf(...log), {});
      expect(refusalFor(state, asked)).toBeNull();
      expect(changes(log, asked)).toBe(true);
      for (const by of [FRIEND, STRANGER]) {
        expect(refusalFor(state, { ...asked, by }), by).toBe("not_owner");
        expect(changes(log, { ...asked, by, refused: "not_owner" }), by).toBe(false);
      }
    },
  );

  test("is asked by the kernel's policies too", () => {
    const state = fold("t", logOf(...completed()), {});
    for (const by of ["core", "core:core"]) expect(refusalFor(state, item("Close", {}, { by }))).toBeNull();
    expect(refusalFor(state, item("Close", {}, { by: "corex:core" }))).toBe("not_owner");
  });

  test("are Handoff and Collaborate too, whose records the runner writes for nobody else", () => {
    const state = fold("t", logOf(...begun()), {});
    const move = item("Handoff", { origin: { ...place, place: "there", private: true } });
    const add = item("Collaborate", { principal: STRANGER, change: "add" });
    for (const asked of [move, add]) {
      expect(refusalFor(state, asked)).toBeNull();
      for (const by of [FRIEND, STRANGER]) expect(refusalFor(state, { ...asked, by })).toBe("not_owner");
    }
  });

  test("is judged for each type of item there is", () => {
    const free = ["Steer", "Decide", "Signal", "ChildEnded", "TimerFired", "SourceChanged"];
    const state = fold("t", logOf(...begun()), {});
    const refused = itemTypes.filter(
      (type) => refusalFor(state, item(type, {} as never, { by: STRANGER })) === "not_owner",
    );
    expect([...free, ...refused].sort()).toEqual([...itemTypes].sort());
  });
});

describe("a correction", () => {
  const refusal = (log: readonly Step[], by: string) =>
    refusalFor(fold("t", logOf(...log), {}), steer("rather so", by));

  test("of a collaborator calls off, joins, and is remembered for good", () => {
    given(...working(), taken(steer("rather so", FRIEND))).then((state) => {
      expect(state.calls.map((each) => each.superseded)).toEqual([true, true]);
      expect(state.queue).toMatchObject([{ content: [{ type: "text", text: "rather so" }] }]);
      expect(state.steeredByOther).toBe(true);
    });
    const later = [taken(item("Collaborate", { principal: FRIEND, change: "remove" }))];
    const gone = core("collaborator", { principal: FRIEND, change: "remove", by: OWNER });
    const resumed = [waiting("resume", { outcome: "paused" }), taken(item("Resume", {}))];
    given(...begun(), taken(steer("so", FRIEND)), ...later, gone, ...resumed).then((state) => {
      expect(state.steeredByOther).toBe(true);
    });
  });

  test("of the owner is not, and is refused nowhere", () => {
    given(...working(), taken(steer("rather so"))).then((state) => {
      expect(state.steeredByOther).toBeUndefined();
    });
    for (const log of [working(), working(true), completed(), paused()]) expect(refusal(log, OWNER)).toBeNull();
  });

  test("of anybody else is refused, also of one who was a collaborator", () => {
    expect(refusal(working(), FRIEND)).toBeNull();
    expect(refusal(working(), STRANGER)).toBe("not_collaborator");
    const dismissed = core("collaborator", { principal: FRIEND, change: "remove", by: OWNER });
    expect(refusal([...begun(), dismissed], FRIEND)).toBe("not_collaborator");
  });

  test("of a collaborator is refused in a private task, and where nothing runs", () => {
    expect(refusal(working(true), FRIEND)).toBe("private");
    expect(refusal(completed(), FRIEND)).toBe("at_rest");
    expect(refusal(paused(), FRIEND)).toBe("at_rest");
  });

  test("that was refused when it was taken adds nothing, whoever posted it", () => {
    for (const by of [OWNER, FRIEND]) {
      expect(changes(working(), { ...steer("rather so", by), refused: "no_access" })).toBe(false);
    }
  });
});

describe("a move", () => {
  const move = item("Handoff", { origin: { ...place, place: "there", private: true } });
  const refusal = (...log: readonly Step[]) => refusalFor(fold("t", logOf(...log), {}), move);

  test("is refused while an action is unknown, an approval pending, or a child lives", () => {
    const asks = { requestId: "q", callId: "c5_0", inputHash: "h", definition: "d", decides: OWNER } as const;
    expect(refusal(...working())).toBeNull();
    expect(refusal(...completed())).toBeNull();
    expect(refusal(...unknown())).toBe("unknown_action");
    expect(refusal(...begun(), called(), replied([call("send")]), core("approval_requested", asks))).toBe(
      "approval_pending",
    );
    const asksNobody = core("call_parked", { callId: "c5_0", on: "signal", ref: "bell" });
    expect(refusal(...begun(), called(), replied([call("send")]), asksNobody)).toBeNull();
    const parent = { taskId: "p", callId: "c1_0" };
    expect(refusal(created({ parent, origin: { ...place, private: false } }))).toBe("family");
    const state = fold("t", logOf(...begun()), {});
    state.children["t.c5_0.1"] = { callId: "c5_0" };
    expect(refusalFor(state, move)).toBe("family");
  });

  test("takes the task elsewhere, and what was approved and has not begun asks anew", () => {
    const approved = [
      core("approval_requested", { requestId: "q", callId: "c5_0", inputHash: "h", definition: "d", decides: OWNER }),
      core("approval_settled", { requestId: "q", callId: "c5_0", decision: "approved", by: OWNER }),
    ];
    const log = [...begun(), called(), replied([call("send")]), ...approved];
    given(...log).then((state) => {
      expect(state.calls[0]?.approval?.approved).toBe(true);
    });
    given(...log, taken(move), core("handoff", { origin: move.origin, by: OWNER })).then((state) => {
      expect(state.origin.place).toBe("there");
      expect(state.calls[0]?.approval).toBeUndefined();
    });
  });
});

test("a private task takes no collaborator, and lets go of one", () => {
  const state = fold("t", logOf(...begun(true)), {});
  expect(refusalFor(state, item("Collaborate", { principal: STRANGER, change: "add" }))).toBe("private");
  expect(refusalFor(state, item("Collaborate", { principal: FRIEND, change: "remove" }))).toBeNull();
});

test("the reason that an item does nothing is written, read back, and stays when its words are redacted", () => {
  const [, event] = logOf(created(), taken({ ...steer("so", FRIEND), refused: "no_access" }));
  if (event?.event.type !== "InputTaken") throw new Error("no InputTaken");
  expect(decodeEvent("InputTaken", encodeEvent(event.event))).toEqual(event.event);
  expect(skeletonOf(event.event)).toMatchObject({ items: [{ type: "Steer", text: "", refused: "no_access" }] });
});
