// A whole worker whose connections to Postgres break and stall at statements that the test names: nothing is lost, nothing
// is done twice, and an append whose answer was lost is recognised by its digests.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { Store } from "../../src/store/store.ts";
import { readEffects } from "../kills/counting-agent.ts";
import { Program, type ProgramOptions } from "../kills/in-process.ts";
import { createDatabase } from "./database.ts";
import { startProxy, type Fault, type Proxy } from "./proxy.ts";
import { appending, claimTask, createTask, creation, endOf, told } from "./tasks.ts";

/** Of both forms of the append: what a steady loop sends, and the function. */
const APPEND = /SET last_seq = \$4|\.append\(\$1/;
/** A claim that lasts: what is under test is not a takeover. */
const LONG = { leaseMs: 60_000 };

let effects: string;
let proxy: Proxy;
/** By way of the proxy, and past it. */
let store: Store;
let direct: Store;

beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-network-"));
  effects = join(folder, "effects");
  const database = await createDatabase();
  const made = await startProxy(database.url);
  proxy = made;
  const [its, other] = [
    await openPostgresStore({ url: proxy.url, timeoutMs: 1_500, pollMs: 100 }),
    await openPostgresStore({ url: database.url }),
  ];
  [store, direct] = [its, other];
  onTestFinished(async () => {
    await Promise.all([its.close(), other.close()]);
    await made[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
});

const program = async (options: Partial<ProgramOptions> = {}): Promise<Program> => {
  const made = new Program({ store, effects, limits: LONG, ...options });
  await made.start();
  onTestFinished(() => made.stop());
  return made;
};

/** Once through, undisturbed: how many appends a task takes. */
const appendsOf = async (running: Program): Promise<number> => {
  await running.rest(await running.create(), direct);
  return proxy.count(APPEND);
};

const codes = (running: Program): string[] => running.refusals.splice(0).map((told) => told.split(":")[0] ?? "");

const faults: readonly (readonly [Fault, string, readonly (readonly string[])[]])[] = [
  ["unsent", "is sent again", [["unavailable"]]],
  ["unanswered", "is recognised by its digests", [["unavailable", "conflict"]]],
  ["cut", "is sent again, or recognised", [["unavailable"], ["unavailable", "conflict"]]],
];

test.each(faults)(
  "each append of a task, %s: it %s, and the task goes on under its claim",
  async (fault, _, allowed) => {
    const running = await program();
    const appends = await appendsOf(running);
    expect(appends).toBeGreaterThan(8);
    for (let nth = 1; nth <= appends; nth += 1) {
      const met = proxy.fail(APPEND, fault, nth);
      const taskId = await running.create();
      await met;
      const row = await running.rest(taskId, direct);
      expect(row, `append ${String(nth)}`).toMatchObject({ outcome: "completed", waitingOn: "input", fence: 1 });
      expect(allowed, `append ${String(nth)}`).toContainEqual(codes(running));
    }
    expect(await running.faults(direct)).toEqual([]);
    expect(readEffects(effects).filter(({ tool }) => tool === "send")).toHaveLength(2 * (appends + 1));
  },
);

test("an answer that stalls is given up for another connection, and its append recognised", async () => {
  const running = await program();
  const met = proxy.fail(APPEND, "answer held", 4);
  const taskId = await running.create();
  await met;
  expect(await running.rest(taskId, direct)).toMatchObject({ outcome: "completed", fence: 1 });
  expect(codes(running)).toEqual(["unavailable", "conflict"]);
  await proxy.release();
  expect(await running.faults(direct)).toEqual([]);
});

test("an append that arrives long after it was repeated changes nothing", async () => {
  const running = await program();
  const met = proxy.fail(APPEND, "held", 4);
  const taskId = await running.create();
  await met;
  expect(await running.rest(taskId, direct)).toMatchObject({ outcome: "completed", fence: 1 });
  expect(codes(running)).toEqual(["unavailable"]);
  const [log, row] = [await direct.read({ taskId }), await direct.getTask({ taskId })];
  await proxy.release();
  expect(await direct.read({ taskId })).toEqual(log);
  expect(await direct.getTask({ taskId })).toEqual(row);
  expect(await running.faults(direct)).toEqual([]);
});

test("a claim whose answer is lost costs a lease", async () => {
  const running = new Program({ store, effects, limits: { leaseMs: 600 } });
  const taskId = await running.create();
  const met = proxy.fail(/\.claim_some\(\$1/, "unanswered");
  await running.start();
  onTestFinished(() => running.stop());
  await met;
  // Nobody knew of the first.
  expect(await running.rest(taskId, direct)).toMatchObject({ outcome: "completed", fence: 2 });
  expect(await running.faults(direct)).toEqual([]);
});

test.each([
  ["release", /\.release\(\$1/],
  ["renewal", /\.renew\(\$1/],
] as const)("a %s whose answer is lost costs nothing", async (what, at) => {
  const running = await program({ limits: { leaseMs: 600 } });
  const gate = running.hold("look");
  const met = proxy.fail(at, "unanswered");
  const taskId = await running.create();
  await gate.reached;
  // It comes while a tool takes its time.
  if (what === "renewal") await met;
  gate.open();
  await met;
  expect(await running.rest(taskId, direct)).toMatchObject({ outcome: "completed", fence: 1 });
  expect(await running.faults(direct)).toEqual([]);
});

test("a COMMIT that was forwarded and not answered: all of it is there, child included, and its repetition is told so", async () => {
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  const child = creation("default");
  const params = appending(claim, endOf(claim), [told("a")], { children: [child] });
  const met = proxy.fail(/^COMMIT$/, "unanswered");
  await expect(store.append(params)).rejects.toMatchObject({ code: "unavailable" });
  await met;
  await expect(store.append(params)).rejects.toMatchObject({ code: "conflict" });
  const log = await store.read({ taskId, after: 1 });
  expect(log.map(({ digest }) => digest)).toEqual(params.drafts.map(({ digest }) => digest));
  expect(await store.getTask({ taskId: child.task.taskId })).toMatchObject({ lastSeq: 1 });
  expect(await store.check()).toEqual([]);
});

test("a post and a creation whose answers are lost are there once, and their repetitions are told so", async () => {
  const key = "made once";
  const made = creation("default");
  const params = { ...made, task: { ...made.task, key } };
  void proxy.fail(/\.create_task\(\$1/, "unanswered");
  await expect(store.createTask(params)).rejects.toMatchObject({ code: "unavailable" });
  const { taskId, duplicate } = await store.createTask(params);
  expect({ taskId, duplicate }).toEqual({ taskId: made.task.taskId, duplicate: true });
  const item = { taskId, by: "a:b", key: "k", item: { type: "Say", text: "a" } } as const;
  void proxy.fail(/\.post/, "unanswered");
  await expect(store.post(item)).rejects.toMatchObject({ code: "unavailable" });
  expect(await store.post(item)).toMatchObject({ seq: 1, duplicate: true });
  expect(await store.getTask({ taskId })).toMatchObject({ inboxSeq: 1 });
});

test("eight tasks whose connections are all reset again and again, in the middle of anything, come to their ends", async () => {
  const running = await program({ limits: { leaseMs: 1_000 } });
  const ids = [];
  for (let made = 0; made < 8; made += 1) ids.push(await running.create());
  const done = Promise.all(ids.map((taskId) => running.rest(taskId, direct)));
  for (let resets = 0; resets < 12; resets += 1) {
    await proxy.fail(APPEND, resets % 2 === 0 ? "cut" : "unanswered", 3);
    proxy.reset();
  }
  for (const row of await done) expect(["completed", "paused"]).toContain(row.outcome);
  expect(await running.faults(direct)).toEqual([]);
});

test("a process that falls silent in the middle of a transaction keeps its task from others for a bounded time", async () => {
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  const params = appending(claim, endOf(claim), [told("a")], { children: [creation("default")] });
  // The server does not hear that its client has given up: it waits, with the task's row locked.
  const met = proxy.fail(/^COMMIT$/, "held");
  const appended = store.append(params).catch((error: unknown) => error);
  await met;
  const item = { type: "Say", text: "a" } as const;
  expect(await direct.post({ taskId, by: "a:b", key: "k", item })).toMatchObject({ seq: 1 });
  expect(await appended).toMatchObject({ code: "unavailable" });
  expect(await direct.getTask({ taskId })).toMatchObject({ lastSeq: 1 });
  // Sent again, it is done, and once.
  expect(await store.append(params)).toMatchObject({ lastSeq: 2 });
  expect(await direct.check()).toEqual([]);
});
