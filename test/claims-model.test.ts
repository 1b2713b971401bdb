// Claims, model-checked: every state of 3 workers and 2 tasks is visited, and the stores answer what the model answers.
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { openSqliteStore } from "../src/store/sqlite/sqlite-store.ts";
import { createMemoryStore } from "../src/store/memory/store.ts";
import type { Store } from "../src/store/store.ts";
import { begin, opsOf, rules, step, type Model, type Op } from "./claims-model/model.ts";
import { realOver, tickingClock, type Real } from "./claims-model/real.ts";
import { search } from "./claims-model/search.ts";
import { temporaryFolder } from "./sqlite/log-writer.ts";

const WORKERS = 3;
const TASKS = 2;
const LONG_SEQUENCES = 150;

const words = (op: Op): string => {
  if (op.do === "tick") return "tick";
  const task = `task ${String(op.task)}`;
  return op.do === "post" ? `post to ${task}` : `worker ${String(op.worker)}: ${op.do} ${task}`;
};

describe("the model of claims", () => {
  test("holds in every state that 3 workers and 2 tasks can reach", () => {
    const { states, steps, fault } = search(WORKERS, TASKS);
    console.log(`claims model: ${String(states)} states visited over ${String(steps)} steps`);
    expect(fault).toBeNull();
    expect(states).toBeGreaterThan(10_000);
  });

  test.each<[string, Partial<typeof rules>, string]>([
    ["a claim keeps the fence", { claimRaisesFence: false }, "a claim did not raise the fence"],
    ["a claim does not wait for the lease", { claimWaitsForLease: false }, "a task was claimed while its lease ran"],
    ["a lapsed lease keeps others out", { claimAfterLapse: false }, "a task with work waits forever"],
    ["a renewal does not look at the fence", { renewChecksFence: false }, "an old fence was accepted: renew"],
    ["an append does not look at the fence", { appendChecksFence: false }, "two workers may append to one task"],
    ["a release does not look at the fence", { releaseChecksFence: false }, "an old fence was accepted: park"],
    [
      "a release leaves the claim",
      { releaseEndsClaim: false },
      "an append was accepted after the claim was given back",
    ],
    ["a wait does not look at the inbox", { waitSeesInbox: false }, "a task waits over an untaken item"],
    ["a hold never ends", { holdEnds: false }, "a task with work waits forever"],
  ])("is found to be wrong where %s", (_, broken, what) => {
    const { fault } = search(WORKERS, TASKS, { ...rules, ...broken });
    expect(fault?.what).toBe(what);
    expect(fault?.path.length).toBeLessThanOrEqual(6);
  });
});

/** Every sequence of so many operations, with what the model answers. */
function* sequences(model: Model, depth: number): Generator<[Op, string][]> {
  if (depth === 0) {
    yield [];
    return;
  }
  for (const op of opsOf(model)) {
    const [next, answer] = step(model, op);
    for (const rest of sequences(next, depth - 1)) yield [[op, answer], ...rest];
  }
}

const folder = temporaryFolder();
const openStores = async (): Promise<[string, Store, ReturnType<typeof tickingClock>][]> => {
  const [memoryClock, fileClock] = [tickingClock(), tickingClock()];
  return [
    ["memory", createMemoryStore({ clock: memoryClock }), memoryClock],
    ["SQLite", await openSqliteStore({ path: folder.path("claims.db"), clock: fileClock }), fileClock],
  ];
};
const stores = await openStores();

afterAll(async () => {
  for (const [, store] of stores) await store.close();
  folder[Symbol.dispose]();
});

describe("the stores", () => {
  test.each([
    ["memory", 4],
    ["SQLite", 3],
  ])(
    "answer as the model does to every sequence of operations of 2 workers on one task: %s, %i deep",
    async (name, depth) => {
      const [, store, clock] = stores.find(([other]) => other === name) ?? [];
      if (store === undefined || clock === undefined) throw new Error(`there is no store ${name}`);
      for (const sequence of sequences(begin(2, 1), depth)) {
        const real = await realOver(store, clock, 1);
        const told: string[] = [];
        for (const [op] of sequence) told.push(`${words(op)}: ${await real.perform(op)}`);
        expect(told).toEqual(sequence.map(([op, answer]) => `${words(op)}: ${answer}`));
      }
    },
  );

  /** One operation, or (null) a claim of whatever is next, on both stores and on the model. */
  const follow = async (
    reals: readonly Real[],
    model: Model,
    op: Op | null,
    worker: number,
  ): Promise<[Model, string[]]> => {
    if (op !== null) {
      const [next, answer] = step(model, op);
      const told = await Promise.all(reals.map((real) => real.perform(op)));
      return [next, [answer, ...told].map((one) => `${words(op)}: ${one}`)];
    }
    const claims = await Promise.all(reals.map((real) => real.claimAny(worker)));
    const task = claims[0]?.task ?? null;
    // Which of several the stores choose, the model leaves to them; that they choose, and alike, it does not.
    const possible = model.flatMap((_, index) => {
      const [next, answer] = step(model, { do: "claim", worker, task: index });
      return answer === "null" ? [] : [{ task: index, answer, next }];
    });
    const chosen = task === null ? undefined : possible.find((each) => each.task === task);
    const wanted = chosen ?? { task: null, answer: possible.length === 0 ? "null" : "some task", next: model };
    const show = (each: { task: number | null; answer: string }): string =>
      `worker ${String(worker)}: claim whatever is next: ${String(each.task)} ${each.answer}`;
    return [wanted.next, [wanted, ...claims].map(show)];
  };

  test("answer alike, and as the model does, to long sequences of 3 workers on 2 tasks", async () => {
    const picks = fc.array(fc.nat({ max: 10_000 }), { minLength: 20, maxLength: 100 });
    await fc.assert(
      fc.asyncProperty(picks, async (chosen) => {
        const reals: Real[] = [];
        for (const [, store, clock] of stores) reals.push(await realOver(store, clock, TASKS));
        let model = begin(WORKERS, TASKS);
        const [wanted, memory, file]: [string[], string[], string[]] = [[], [], []];
        for (const pick of chosen) {
          const ops = opsOf(model);
          const op = pick % 5 === 0 ? null : (ops[pick % ops.length] ?? null);
          const [next, [byModel = "", byMemory = "", byFile = ""]] = await follow(reals, model, op, pick % WORKERS);
          model = next;
          wanted.push(byModel);
          memory.push(byMemory);
          file.push(byFile);
        }
        expect(memory).toEqual(wanted);
        expect(file).toEqual(wanted);
      }),
      { numRuns: LONG_SEQUENCES },
    );
  });
});
