// What holds for every log that perdure writes, whatever the world does.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCourse, follow } from "../testing/arbitraries.ts";
import {
  TASK,
  call,
  called,
  compacted,
  core,
  created,
  facts,
  finished,
  logOf,
  replied,
  say,
  started,
  taken,
  toolsKnown,
  waiting,
  type Step as Entry,
} from "../testing/given.ts";
import { pureMac } from "../testing/pure-hasher.ts";
import { choicesOf } from "../testing/pure-run/choices.ts";
import { beginRun, settleDown, wake } from "../testing/pure-run/runner.ts";
import { worldDefinitions } from "../testing/pure-run/world.ts";
import { requestFaults } from "../testing/request-faults.ts";
import { decide, type Facts, type Step } from "./decide.ts";
import { MAX_DISPATCHES } from "./recovery.ts";
import { isEqualJson } from "./equal.ts";
import type { Recorded } from "./events.ts";
import { apply, createState, fold } from "./fold.ts";
import { textOf } from "./messages.ts";
import { buildPrefix, hashPrefix, hashRequest } from "./request.ts";
import type { Reducers, TaskState } from "./state.ts";

/** Enough to meet each kind of trouble many times, in a few seconds for all laws together. */
const RUNS = 100;
const OBJECTIVE = "the objective";

/** Keeps a list, changed in place, as plugins may. */
const reducers: Reducers = {
  notes: {
    initial: () => ({ kinds: [] }),
    reduce: (state, record) => {
      (state as { kinds: string[] }).kinds.push(record.kind);
      return state;
    },
  },
};

const isOpenCall = (state: TaskState, id: string): boolean =>
  state.calls.some((each) => each.id === id && each.phase !== "finished");

const stepFaults = (state: TaskState, known: Facts, step: Step): string[] => {
  const faults: string[] = [];
  if (known.untaken !== (step.do === "TakeInput") && state.ended === undefined)
    faults.push("input waits, or there is none");
  const settle = "settle" in step ? step.settle.map(({ callId }) => callId) : [];
  const start = step.do === "RunCalls" ? step.start : [];
  const recover = step.do === "RecoverCalls" ? step.orders.map(({ callId }) => callId) : [];
  const named = [...settle, ...start, ...recover];
  if (new Set(named).size !== named.length) faults.push("a call is named twice");
  for (const id of named) if (!isOpenCall(state, id)) faults.push(`${id} is not open`);
  const phaseOf = new Map(state.calls.map(({ id, phase }) => [id, phase]));
  for (const id of settle) if (phaseOf.get(id) === "unknown") faults.push(`${id} is unknown and nobody settled it`);
  for (const id of start) {
    if (phaseOf.get(id) !== "waiting" && !known.announced.has(id)) faults.push(`${id} was started before`);
  }
  const writes = start.filter((id) => {
    const entry = state.tools.find(({ name }) => name === state.calls.find((each) => each.id === id)?.name);
    return entry?.effect === "write" || entry?.effect === "destructive";
  });
  if (writes.length > 0 && start.length > 1) faults.push("a write runs beside another call");
  if (step.do === "RunCalls" && named.length === 0) faults.push("nothing to do");
  if (step.do === "RecoverCalls" && named.length === 0) faults.push("nothing to recover");
  if (step.do !== "CallModel") return faults;
  if (state.calls.length > 0) faults.push("the model is called while a call is open");
  if (state.turn?.outcome !== undefined || state.stopping !== undefined) faults.push("the model is called at rest");
  return [...faults, ...requestFaults(state)];
};

describe("decide", () => {
  test("never calls the model with a call open, never runs a call twice, never asks for what a provider refuses", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        follow(course, {
          onStep: (state, known, step) => {
            expect(stepFaults(state, known, step)).toEqual([]);
          },
        });
      }),
      { numRuns: RUNS },
    );
  });

  const anyFacts = (state: TaskState): fc.Arbitrary<Facts> => {
    const ids = state.calls.map(({ id }) => id);
    const some = fc.subarray(ids).map((chosen) => new Set(chosen));
    return fc.record({
      untaken: fc.boolean(),
      announced: some,
      unverified: some,
      stoppedMidTurn: fc.constantFrom(null, "crashed", "stopped", "restored"),
      now: fc.nat({ max: 10_000_000 }),
      context: fc.constantFrom("fits", "over", "full"),
      goals: fc.option(fc.record({ open: fc.nat({ max: 2 }), blocked: fc.nat({ max: 2 }), progress: fc.boolean() })),
    });
  };

  test("has a step for any state and any facts, the same one each time, and changes neither", () => {
    fc.assert(
      fc.property(anyCourse, fc.nat(), fc.gen(), (course, cut, gen) => {
        const { log } = follow(course);
        const state = fold(TASK, log.slice(0, 1 + (cut % log.length)), {});
        const known = gen(() => anyFacts(state));
        const before = JSON.stringify(state);
        const step = decide(state, known);
        expect(decide(state, known)).toEqual(step);
        expect(JSON.stringify(state)).toBe(before);
        if (step.do === "CallModel") expect(state.calls).toEqual([]);
        if (step.do === "RunCalls" || step.do === "RecoverCalls") expect(state.calls.length).toBeGreaterThan(0);
      }),
      { numRuns: RUNS },
    );
  });

  test("comes to rest from any place where a worker may have died, and repeats no effect on the way", () => {
    fc.assert(
      fc.property(anyCourse, fc.nat(), (course, cut) => {
        const log = follow(course).log;
        const run = beginRun({ choices: choicesOf([]), log: log.slice(0, 1 + (cut % log.length)) });
        if (run.state.ended === undefined) settleDown(run);
        expect(logFaults(run.log)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  test("leaves no wait that nothing outside can end: what the log says is awaited takes the task on", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        const run = follow(course);
        const isDone = (): boolean => run.state.ended !== undefined || run.state.turn?.outcome === "completed";
        for (let waits = 0; !isDone(); waits += 1) {
          expect(waits, `still waits on ${String(run.state.waiting?.on)}`).toBeLessThan(40);
          wake(run);
          settleDown(run);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

/** What must hold of calls over a whole log. */
const logFaults = (log: readonly Recorded[]): string[] => {
  const faults: string[] = [];
  const dispatches = new Map<
    string,
    { effect: string; idempotent: boolean; invocations: Set<string>; count: number }
  >();
  const finishedCalls = new Set<string>();
  for (const { event } of log) {
    if (event.type === "ToolFinished") {
      if (finishedCalls.has(event.callId)) faults.push(`${event.callId} has two results`);
      finishedCalls.add(event.callId);
    }
    if (event.type !== "ToolStarted") continue;
    if (finishedCalls.has(event.callId)) faults.push(`${event.callId} ran after its result`);
    const { effect, idempotent, callId, invocationId } = event;
    const seen = dispatches.get(callId) ?? {
      effect,
      idempotent: idempotent !== undefined,
      invocations: new Set(),
      count: 0,
    };
    seen.invocations.add(invocationId);
    seen.count += 1;
    dispatches.set(callId, seen);
  }
  for (const [callId, { effect, idempotent, invocations, count }] of dispatches) {
    if (effect === "read" || effect === "internal") continue;
    if (count > (idempotent ? MAX_DISPATCHES : 1)) faults.push(`${callId} was dispatched ${String(count)} times`);
    if (invocations.size > 1) faults.push(`${callId} ran under two invocation ids`);
  }
  return faults;
};

describe("the log", () => {
  test("gives each call one result, and a write one dispatch unless it is idempotent", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        expect(logFaults(follow(course).log)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});

describe("the fold", () => {
  test("of a prefix, then of the rest, is that of the whole, at every cut and through a snapshot's text", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        const { log, state: live } = follow(course, { reducers });
        const whole = fold(TASK, log, reducers);
        expect(isEqualJson(live, whole)).toBe(true);
        const rolling = createState(TASK, log[0] as Recorded);
        for (let cut = 1; cut < log.length; cut += Math.ceil(log.length / 12)) {
          for (const each of log.slice(rolling.seq, cut)) apply(rolling, each, reducers);
          const text = JSON.stringify(rolling);
          const snapshot = JSON.parse(text) as TaskState;
          expect(isEqualJson(snapshot, rolling)).toBe(true);
          for (const each of log.slice(cut)) apply(snapshot, each, reducers);
          expect(isEqualJson(snapshot, whole)).toBe(true);
          expect(JSON.stringify(rolling)).toBe(text);
        }
      }),
      { numRuns: RUNS / 2 },
    );
  });

  test("leaves the events as they were", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        const { log } = follow(course);
        const before = JSON.stringify(log);
        fold(TASK, log, {});
        expect(JSON.stringify(log)).toBe(before);
      }),
      { numRuns: RUNS / 4 },
    );
  });

  test("keeps nothing that grows with a task's age but the conversation", () => {
    const sizeOf = (turns: number): { whole: number; beside: number } => {
      const state = createState(TASK, logOf(created({ objective: OBJECTIVE }), taken())[0] as Recorded);
      const add = (...events: readonly Entry[]): void => {
        for (const { event } of logOf(...events)) apply(state, { seq: state.seq + 1, at: 1_000, event }, {});
      };
      add(toolsKnown());
      for (let turn = 0; turn < turns; turn += 1) {
        const id = (index: number): string => `c${String(state.seq)}_${String(index)}`;
        add(taken(say(OBJECTIVE)), called(), replied([call("look"), call("send")]));
        const [first, second] = [id(0), id(1)];
        add(started(first, "look"), started(second, "send", { effect: "write" }), finished(second));
        add(
          core("timer_set", { id: `t${String(turn)}`, dueAt: 1 }),
          core("timer_cancelled", { id: `t${String(turn)}` }),
        );
        add(
          core("approval_requested", {
            requestId: `q${String(turn)}`,
            callId: first,
            inputHash: "h",
            definition: "d",
            decides: "o",
          }),
        );
        add(core("approval_settled", { requestId: `q${String(turn)}`, callId: first, decision: "denied", by: "o" }));
        add(finished(first), called(), replied("yes"), waiting("input", { outcome: "completed" }));
        add(compacted(state.seq, "all so far"));
      }
      const { messages, ...beside } = state;
      return { whole: JSON.stringify(messages).length, beside: JSON.stringify(beside).length };
    };
    const [young, old] = [sizeOf(20), sizeOf(400)];
    // Numbers get longer, nothing else.
    expect(old.beside - young.beside).toBeLessThan(40);
    expect(old.whole - young.whole).toBeLessThan(20);
  });

  test("of any run is small beside its conversation and its tools", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        const { messages: _, queue: __, tools: ___, ...rest } = follow(course).state;
        expect(JSON.stringify(rest).length).toBeLessThan(4_000);
      }),
      { numRuns: RUNS / 2 },
    );
  });
});

describe("the request", () => {
  const hashOf = (state: TaskState, chain?: TaskState["chain"]) =>
    hashRequest(state.messages, hashPrefix(buildPrefix(state, worldDefinitions), pureMac), pureMac, chain);

  test("has the same hash from the start as from where the last one ended", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        follow(course, {
          onStep: (state, _, step) => {
            if (step.do === "CallModel") expect(hashOf(state, state.chain)).toEqual(hashOf(state));
          },
        });
      }),
      { numRuns: RUNS },
    );
  });

  test("that is made again after a crash is the same, whatever was taken in between", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        follow(course, {
          onStep: (state, _, step) => {
            const { open } = state.model;
            if (step.do !== "CallModel" || open === undefined) return;
            const again = hashOf(state);
            // New settings are a new request; nothing else is.
            if (again.prefixHash === open.prefixHash) expect(again.hash).toBe(open.requestHash);
          },
        });
      }),
      { numRuns: RUNS },
    );
  });

  test("says the objective word for word, unless its words were erased", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        follow(course, {
          onStep: (state, _, step) => {
            if (step.do !== "CallModel" || state.objectiveErased === true) return;
            const says = state.messages.some(
              (message) => message.role === "user" && textOf(message.content) === OBJECTIVE,
            );
            expect(says).toBe(true);
          },
        });
      }),
      { numRuns: RUNS },
    );
  });
});

test("without anything out of the ordinary, a task answers and rests", () => {
  const { log, state } = follow({ mode: "conversation", onInterrupt: "continue", numbers: [] });
  expect(log.map(({ event }) => event.type)).toEqual([
    "TaskCreated",
    "ExtensionRecorded",
    "ExtensionRecorded",
    "InputTaken",
    "ModelCalled",
    "ModelReplied",
    "Waiting",
  ]);
  expect(state.waiting).toMatchObject({ on: "input", outcome: "completed" });
  expect(decide(state, facts())).toMatchObject({ do: "Wait", record: false });
});
