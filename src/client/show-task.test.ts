// What a task's owner sees of its model work, and of words that wait.
import { expect, onTestFinished, test } from "vitest";
import { usageLines } from "../cli/commands/show.ts";
import { createMemoryStore } from "../store/memory/store.ts";
import type { Store } from "../store/store.ts";
import { call, called, core, created, replied, say, started, taken, waiting } from "../testing/given.ts";
import { clientOf, keepTask } from "../testing/kept-task.ts";
import { showTask } from "./show-task.ts";

const openStore = (): Store => {
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  return store;
};

const used = (tokens: { input: number; output: number } | "unknown", priceEstimate?: number) => ({
  usage: { tokens, durationMs: 5, ...(priceEstimate === undefined ? {} : { priceEstimate }) },
});
const rests = waiting("input", { outcome: "completed" });
const child = (taskId: string, parent: string) =>
  created({ root: "task", parent: { taskId: parent, callId: "c4_0" }, objective: taskId });

test("usage is shown by purpose and model, child tasks' under the task that made them, and in sum", async () => {
  const store = openStore();
  const titles = core("usage", { purpose: "title", model: "small", tokens: "unknown", durationMs: 1 });
  await keepTask(store, [
    taken(say("go")),
    called(),
    replied("a", used({ input: 10, output: 1 }, 0.25)),
    titles,
    rests,
  ]);
  await keepTask(store, [child("one", "task"), called(), replied("b", used({ input: 20, output: 2 }, 0.5)), rests], {
    taskId: "task.c4_0.1",
  });
  await keepTask(store, [child("two", "task.c4_0.1"), called(), replied("c", used("unknown")), rests], {
    taskId: "task.c4_0.1.c4_0.1",
  });
  const { usage, usageTree } = await showTask(clientOf(store), "task");
  expect(usage).toMatchObject({ calls: 2, unknown: 1, input: 10, priceEstimate: 0.25 });
  expect(usageTree).toMatchObject({
    taskId: "task",
    by: [
      { purpose: "title", model: "small", usage: { calls: 1, unknown: 1, input: null, output: null, cacheRead: null } },
      { purpose: "turn", model: "m", usage: { calls: 1, unknown: 0, input: 10, output: 1 } },
    ],
    children: [
      {
        taskId: "task.c4_0.1",
        usage: { calls: 1, input: 20 },
        children: [{ taskId: "task.c4_0.1.c4_0.1", usage: { calls: 1, unknown: 1, input: null }, children: [] }],
      },
    ],
    withChildren: { calls: 4, unknown: 2, input: 30, output: 3, priceEstimate: 0.75 },
  });
  expect(usageLines(usageTree)).toEqual([
    "2 calls, 10 tokens in, 1 out, not reported for 1, estimated price 0.2500",
    "  title, small: 1 call, tokens not reported",
    "  turn, m: 1 call, 10 tokens in, 1 out, estimated price 0.2500",
    "  child task task.c4_0.1",
    "    1 call, 20 tokens in, 2 out, estimated price 0.5000",
    "      turn, m: 1 call, 20 tokens in, 2 out, estimated price 0.5000",
    "      child task task.c4_0.1.c4_0.1",
    "        1 call, tokens not reported",
    "          turn, m: 1 call, tokens not reported",
    "    with child tasks: 2 calls, 20 tokens in, 2 out, not reported for 1, estimated price 0.5000",
    "with child tasks: 4 calls, 30 tokens in, 3 out, not reported for 2, estimated price 0.7500",
  ]);
});

test("a task without model calls has used nothing, which is known", async () => {
  const store = openStore();
  await keepTask(store, [created()]);
  expect((await showTask(clientOf(store), "task")).usage).toMatchObject({ calls: 0, input: 0, priceEstimate: null });
});

test("what is said while a call waits for a decision is shown as queued", async () => {
  const store = openStore();
  const asked = { requestId: "q", callId: "c4_0", inputHash: "h", definition: "d", decides: "local:root" };
  const waits = waiting("approval", { detail: { waits: [{ on: "approval", callId: "c4_0", ref: "q" }] } });
  const asking = [taken(say("go")), called(), replied([call("Send")]), core("approval_requested", asked), waits];
  await keepTask(store, [...asking, taken(say("and hurry")), waits]);
  expect((await showTask(clientOf(store), "task")).queued).toEqual([{ seq: 7, text: "and hurry" }]);
  await keepTask(store, [taken(say("go")), called(), replied([call("Look")]), started("c4_0", "Look"), rests], {
    taskId: "other",
  });
  expect((await showTask(clientOf(store), "other")).queued).toEqual([]);
});
