import { expect, test } from "vitest";
import { defaultSlots, ModelQueue, type SlotLimits } from "./queue.ts";

const never = new AbortController().signal;

/** A queue, and who has a slot, in the order in which they got it. */
const createWorld = (limits: Partial<SlotLimits> = {}) => {
  const queue = new ModelQueue({ concurrency: 1, perPrincipal: 1, ...limits });
  const got: string[] = [];
  const slots = new Map<string, () => void>();
  const ask = (name: string, { principal = name, background = false, signal = never } = {}): Promise<void> =>
    queue.acquire({ principal, taskId: name, background }, signal).then((slot) => {
      got.push(name);
      slots.set(name, slot);
    });
  /** Gives the slot back, and lets whoever gets it next say so. */
  const done = async (name: string): Promise<void> => {
    slots.get(name)?.();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { queue, got, ask, done };
};

test("four calls run at once, one of each principal, where nothing else is set", () => {
  expect(defaultSlots).toEqual({ concurrency: 4, perPrincipal: 1 });
  const queue = new ModelQueue(defaultSlots);
  const take = (principal: string) => queue.tryAcquire({ principal, taskId: "t", background: false });
  expect(["a", "a", "b", "c", "d", "e"].map((principal) => take(principal) !== null)).toEqual([
    ...[true, false, true, true, true, false],
  ]);
  expect(queue.load()).toMatchObject({ limit: 4, taken: 4 });
});

test("slots go in the order in which they were asked for, past principals that have theirs", async () => {
  const { queue, got, ask, done } = createWorld({ concurrency: 2 });
  await Promise.all([ask("a"), ask("b")]);
  void ask("a2", { principal: "a" });
  void ask("c");
  void ask("d");
  expect(queue.load()).toEqual({ limit: 2, taken: 2, waiting: 3, waited: 3, waitingTasks: ["a2", "c", "d"] });
  await done("b");
  expect(got).toEqual(["a", "b", "c"]);
  await done("a");
  await done("c");
  expect(got).toEqual(["a", "b", "c", "a2", "d"]);
});

test("what waits in the foreground goes before what waits in the background", async () => {
  const { got, ask, done } = createWorld();
  await ask("a");
  void ask("learns", { background: true });
  void ask("talks");
  await done("a");
  await done("talks");
  expect(got).toEqual(["a", "talks", "learns"]);
});

test("a call that is given up leaves the queue, and the slot goes to the next", async () => {
  const { queue, got, ask, done } = createWorld();
  await ask("a");
  const cancel = new AbortController();
  const given = ask("b", { signal: cancel.signal });
  void ask("c");
  cancel.abort(new Error("cancelled"));
  await expect(given).rejects.toThrow("cancelled");
  expect(queue.load()).toMatchObject({ waiting: 1, waitingTasks: ["c"] });
  await done("a");
  expect(got).toEqual(["a", "c"]);
  await expect(ask("d", { signal: cancel.signal })).rejects.toThrow("cancelled");
});

test("less capacity applies as calls are done, more at once", async () => {
  const { queue, got, ask, done } = createWorld({ concurrency: 3 });
  await Promise.all([ask("a"), ask("b"), ask("c")]);
  void ask("d");
  void ask("e");
  queue.setLimits({ concurrency: 1, perPrincipal: 1 });
  expect(queue.load()).toMatchObject({ limit: 1, taken: 3 });
  await done("a");
  await done("b");
  expect(got).toEqual(["a", "b", "c"]);
  await done("c");
  expect(got).toEqual(["a", "b", "c", "d"]);
  queue.setLimits({ concurrency: 2, perPrincipal: 1 });
  await done("nobody");
  expect(got).toEqual(["a", "b", "c", "d", "e"]);
});

test("more for each principal lets its next call in at once", async () => {
  const { queue, got, ask, done } = createWorld({ concurrency: 3 });
  await ask("a");
  void ask("a2", { principal: "a" });
  void ask("a3", { principal: "a" });
  queue.setLimits({ concurrency: 3, perPrincipal: 2 });
  await done("nobody");
  expect(got).toEqual(["a", "a2"]);
  expect(queue.load()).toMatchObject({ taken: 2, waitingTasks: ["a3"] });
});

test("a slot that is given back twice is given back once", async () => {
  const queue = new ModelQueue({ concurrency: 2, perPrincipal: 2 });
  const request = { principal: "a", taskId: "t", background: false };
  const slot = await queue.acquire(request, never);
  await queue.acquire(request, never);
  slot();
  slot();
  expect(queue.load().taken).toBe(1);
});
