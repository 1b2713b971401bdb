// What front ends do, on a memory store with a real worker: create, post, read, list, show, check.
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { openAccess } from "../access/local/local.ts";
import type { EventOf } from "../core/events.ts";
import { FIRST_CHAIN, sealEvents } from "../core/envelope.ts";
import { createState } from "../core/fold.ts";
import { columnsOf, type Row } from "../core/project.ts";
import { createLocalExec } from "../exec/local/local.ts";
import { createScriptedModel } from "../model/scripted/scripted.ts";
import { defineTool } from "../plugins/define.ts";
import { prepareAgent } from "../plugins/prepare.ts";
import { createRunnerPorts, systemRandom } from "../runtime.ts";
import { createMemoryStore } from "../store/memory/store.ts";
import { mac, nodeHasher } from "../store/node-hasher.ts";
import { systemClock } from "../store/system-clock.ts";
import type { Envelope, Store, TaskRow } from "../store/store.ts";
import { defaultWorkerOptions, startWorker } from "../worker/worker.ts";
import { checkTask } from "./check-task.ts";
import type { Client } from "./client.ts";
import { createTask, type TaskRequest } from "./create-task.ts";
import { findTask } from "./find-task.ts";
import { listTasks } from "./list-tasks.ts";
import { post } from "./post.ts";
import { followLog, readLog } from "./read-log.ts";
import { showRequest } from "./show-request.ts";
import { showTask } from "./show-task.ts";
import { loadStats } from "./stats.ts";

const clientOf = (store: Store, principal = "local:alice", place = "here"): Client => ({
  store,
  access: openAccess,
  hasher: nodeHasher,
  mac: (secret) => (text) => mac(secret, text),
  random: { ...systemRandom(), secret: () => new Uint8Array(randomBytes(32)) },
  principal,
  frontEnd: "test",
  place,
});

const request: TaskRequest = {
  agent: "sender",
  settings: { model: "scripted" },
  objective: "send it",
  mode: "conversation",
  onInterrupt: "continue",
};

/** A write whose outcome nobody knows, for it throws; with or without a check of its own. */
const send = (name: string, verdict?: "done" | "absent" | "unknown") =>
  defineTool({
    name,
    description: name,
    effect: "write",
    inputSchema: { type: "object" },
    execute: () => {
      throw new Error("the other side hung up");
    },
    ...(verdict === undefined ? {} : { verify: () => Promise.resolve(verdict) }),
  });

const replies = [
  { calls: [{ name: "Send", input: {} }], usage: { input: 10, output: 2 } },
  { text: "Sent.", usage: { input: 20, output: 3 } },
  { text: "Again." },
];

/** A store with two principals, and a way to have its tasks worked until nothing is left to do. A lease passes after that, by
 * the store's clock: a settlement waits for one. */
const createWorld = () => {
  let passedMs = 0;
  const system = systemClock();
  const store = createMemoryStore({
    clock: { ...system, wall: () => system.wall() + passedMs, monotonic: () => system.monotonic() + passedMs },
  });
  const work = async (): Promise<void> => {
    const agent = await prepareAgent(
      {
        name: "sender",
        identity: "You send.",
        system: "",
        settings: { model: "scripted" },
        mode: "conversation",
        onInterrupt: "continue",
        plugins: [{ name: "post", version: "1", tools: [send("Send"), send("Mail", "unknown")] }],
      },
      { build: "b" },
    );
    const ports = createRunnerPorts({
      store,
      agents: new Map([["sender", agent]]),
      model: () => createScriptedModel({ name: "scripted", lines: replies }),
      exec: () => Promise.resolve(createLocalExec({ root: import.meta.dirname })),
    });
    const worker = startWorker(ports, { ...defaultWorkerOptions, name: "w", host: "h" });
    await worker.idle();
    await worker.stop();
    passedMs += ports.limits.leaseMs;
  };
  onTestFinished(() => store.close());
  return { store, work, alice: clientOf(store), bob: clientOf(store, "local:bob") };
};

const refused = async (work: Promise<unknown>, code: string, says: string): Promise<void> => {
  await expect(work).rejects.toMatchObject({ code, message: expect.stringContaining(says) });
};

test("a task is created with its objective as the first thing said", async () => {
  const { store, alice } = createWorld();
  const { taskId } = await createTask(alice, { ...request, taskId: "t1" });
  expect(await store.getTask({ taskId })).toMatchObject({ taskId: "t1", status: "ready", inboxSeq: 1, inboxTaken: 0 });
  const [created] = await readLog(alice, "t1");
  expect(created?.event).toMatchObject({
    type: "TaskCreated",
    owner: "local:alice",
    objective: "send it",
    root: "t1",
    origin: { frontEnd: "test", place: "here", conversation: "t1", private: false },
  });
});

test("a key creates one task per principal; with another objective it is a conflict", async () => {
  const { alice, bob } = createWorld();
  const first = await createTask(alice, { ...request, key: "k" });
  expect(await createTask(alice, { ...request, key: "k" })).toMatchObject({ taskId: first.taskId, duplicate: true });
  expect((await createTask(bob, { ...request, key: "k" })).taskId).not.toBe(first.taskId);
  await refused(createTask(alice, { ...request, key: "k", objective: "other" }), "conflict", "");
});

test("files that come with words are kept before the words are posted, and named by them", async () => {
  const { store, alice, work } = createWorld();
  const files = [
    { name: "../a.png", mediaType: "image/png", bytes: Uint8Array.of(1, 2, 3) },
    { name: "..", mediaType: "text/plain", bytes: Uint8Array.of(4) },
  ];
  const inboxes: unknown[] = [];
  const watched: Store = {
    ...store,
    putFile: async (params) => {
      // A worker that comes now finds nothing said, and waits.
      await work();
      inboxes.push((await store.getTask({ taskId: params.taskId }))?.inboxSeq);
      await store.putFile(params);
    },
  };
  const client = { ...alice, store: watched };
  const { taskId } = await createTask(client, { ...request, key: "k", files });
  expect(inboxes).toEqual([0, 0]);
  await work();
  const events = (await readLog(alice, taskId)).map(({ event }) => event);
  const taken = events.find((event) => event.type === "InputTaken");
  expect(taken?.items).toMatchObject([
    {
      type: "Say",
      text: "send it",
      files: [
        { type: "file", name: "attached/objective/1/a.png", mediaType: "image/png", size: 3 },
        { type: "file", name: "attached/objective/2/file", mediaType: "text/plain", size: 1 },
      ],
    },
  ]);
  expect(events.filter(({ type }) => type === "ModelCalled").length).toBeGreaterThan(0);
  const kept = await store.getFile({ taskId, name: "attached/objective/1/a.png" });
  expect(kept).toMatchObject({ bytes: Uint8Array.of(1, 2, 3) });

  expect(await createTask(client, { ...request, key: "k", files })).toMatchObject({ taskId, duplicate: true });
  const said = { taskId, item: { type: "Say", text: "and this" } as const, key: "s", files: files.slice(0, 1) };
  const receipt = await post(alice, said);
  expect(await post(alice, said)).toMatchObject({ seq: receipt.seq, duplicate: true });
  expect((await store.listFiles({ taskId })).map(({ name }) => name)).toEqual([
    "attached/objective/1/a.png",
    "attached/objective/2/file",
    "attached/s/1/a.png",
  ]);
});

test("every read and every post is for the owner in the task's place alone", async () => {
  const { store, alice, bob } = createWorld();
  const { taskId } = await createTask(alice, request);
  const elsewhere = clientOf(store, "local:alice", "elsewhere");
  for (const other of [bob, elsewhere]) {
    await refused(findTask(other, taskId), "not_found", `has no task ${taskId}`);
    await refused(readLog(other, taskId), "not_found", taskId);
    await refused(showTask(other, taskId), "not_found", taskId);
    await refused(showRequest(other, taskId, 1), "not_found", taskId);
    await refused(post(other, { taskId, item: { type: "Cancel" } }), "not_found", taskId);
    const following = followLog(other, { taskId, after: 0, signal: new AbortController().signal });
    await refused(following.next(), "not_found", taskId);
    expect(await listTasks(other)).toEqual([]);
  }
});

test("the beginning of an id is enough where it fits one root", async () => {
  const { alice, bob } = createWorld();
  for (const taskId of ["abcone", "abctwo"]) await createTask(alice, { ...request, taskId });
  await createTask(bob, { ...request, taskId: "abone" });
  expect((await findTask(alice, "abco")).taskId).toBe("abcone");
  expect((await findTask(bob, "ab")).taskId).toBe("abone");
  await refused(findTask(alice, "abc"), "ambiguous", "2 tasks have an id that begins with abc");
  await refused(findTask(alice, ""), "not_found", "");
});

test("the beginning of a task's id does not mean its children, whose ids begin so too", async () => {
  const { store, alice } = createWorld();
  const { taskId: parent } = await createTask(alice, { ...request, taskId: "abc" });
  const [created] = await readLog(alice, parent);
  const taskId = "abc.c6_0.1";
  const event = { ...(created?.event as EventOf<"TaskCreated">), parent: { taskId: parent, callId: "c6_0" } };
  await store.createTask({
    task: {
      taskId,
      secret: alice.random.secret(),
      columns: columnsOf(createState(taskId, { seq: 1, at: 0, event })),
      rows: [],
    },
    drafts: sealEvents(nodeHasher, { seq: 0, chain: FIRST_CHAIN }, [event], () => alice.random.salt()),
    items: [],
  });
  expect((await findTask(alice, "ab")).taskId).toBe(parent);
  expect((await findTask(alice, "abc.c6")).taskId).toBe(taskId);
});

test("an action that is unknown is shown, blocks a resume, and is settled under its name alone", async () => {
  const { alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  await work();
  const view = await showTask(alice, taskId);
  expect(view).toMatchObject({
    status: "waiting",
    waitingOn: "resolution",
    outcome: "paused",
    answer: null,
    unknown: [{ action: "c6_0", name: "Send", reason: "threw", verifiable: false }],
    actions: [{ action: "c6_0", status: "unknown", startedSeq: 7 }],
    usage: { calls: 1, input: 10, output: 2 },
  });
  const say = (item: Parameters<typeof post>[1]["item"]) => post(alice, { taskId, item });
  await refused(
    say({ type: "Resume" }),
    "refused",
    `task ${taskId} cannot be resumed while an action is unknown: c6_0`,
  );
  await refused(say({ type: "Close" }), "refused", "cannot be closed while an action is unknown");
  await refused(say({ type: "Verify", callId: "c6_0" }), "refused", "has no check of its own");
  const resolve = { type: "Resolve", outcome: "done", verification: "seen" } as const;
  await refused(say({ ...resolve, callId: "c9_0" }), "refused", "has no unknown action c9_0; unknown: c6_0 (Send)");
  await say({ ...resolve, callId: "c6_0" });
  await work();
  expect(await showTask(alice, taskId)).toMatchObject({ waitingOn: "resume", unknown: [] });
  await say({ type: "Resume" });
  await work();
  expect(await showTask(alice, taskId)).toMatchObject({ outcome: "completed", answer: "Sent.", usage: { calls: 2 } });
});

test("a task at rest has nothing to interrupt or cancel; an ended one takes nothing", async () => {
  const { alice, work } = createWorld();
  const { taskId } = await createTask(alice, { ...request, mode: "oneShot" });
  await refused(post(alice, { taskId, item: { type: "Resume" } }), "refused", "it has not begun");
  await work();
  await post(alice, { taskId, item: { type: "Resolve", callId: "c6_0", outcome: "absent", verification: "seen" } });
  await work();
  await refused(post(alice, { taskId, item: { type: "Interrupt" } }), "refused", "has no turn to interrupt");
  await post(alice, { taskId, item: { type: "Resume" } });
  await work();
  expect(await showTask(alice, taskId)).toMatchObject({ status: "ended", outcome: "done", answer: "Sent." });
  await refused(post(alice, { taskId, item: { type: "Say", text: "hi" } }), "refused", "has ended (done)");
});

test("a completed turn cannot be cancelled; what was posted twice under a key counts once", async () => {
  const { alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  await work();
  await post(alice, { taskId, item: { type: "Cancel" } });
  await post(alice, { taskId, item: { type: "Resolve", callId: "c6_0", outcome: "done", verification: "seen" } });
  await work();
  expect(await showTask(alice, taskId)).toMatchObject({ outcome: "cancelled", waitingOn: "input" });
  await refused(post(alice, { taskId, item: { type: "Cancel" } }), "refused", "its last one is cancelled");
  const first = await post(alice, { taskId, item: { type: "Say", text: "again" }, key: "k" });
  expect(await post(alice, { taskId, item: { type: "Say", text: "again" }, key: "k" })).toEqual({
    ...first,
    duplicate: true,
  });
});

test("a request is built again from the log, also after the turn went on", async () => {
  const { alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  await work();
  expect(await showRequest(alice, taskId, 5)).toMatchObject({
    same: true,
    why: null,
    request: { system: ["You send."], tools: [{ name: "Mail" }, { name: "Send" }], messages: [{ role: "user" }] },
  });
  await refused(showRequest(alice, taskId, 6), "refused", "is no model request of a turn; they are at 5");
  await refused(showRequest(alice, taskId, 60), "refused", "has no event 60");
});

test("a request that is not what was announced says where; after a redaction it says why it cannot tell", async () => {
  const { store, alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  await work();
  const reads = { ...store, read: async (params: Parameters<Store["read"]>[0]) => changed(await store.read(params)) };
  const view = await showRequest(clientOf(reads), taskId, 5);
  expect(view).toMatchObject({ same: false, why: "it differs in a message" });
  await store.redact({ taskId, seqs: [4], secret: new Uint8Array(32) });
  const redacted = await showRequest(alice, taskId, 5);
  expect(redacted).toMatchObject({ same: null, rebuiltHash: null, why: expect.stringContaining("a redaction") });
});

/** The same log with other words in it. */
const changed = (entries: readonly Envelope[]): readonly Envelope[] =>
  entries.map((entry) => ({ ...entry, body: entry.body.replaceAll('"send it"', '"send that"') }));

test("list gives the asker's newest, with their objectives", async () => {
  const { alice } = createWorld();
  for (const objective of ["one", "two", "three"]) await createTask(alice, { ...request, objective });
  const listed = await listTasks(alice, { limit: 2 });
  expect(listed.map(({ objective }) => objective)).toEqual(["three", "two"]);
});

test("list gives ten unless told, and nobody else's", async () => {
  const { alice, bob } = createWorld();
  for (let n = 0; n < 12; n += 1) await createTask(n === 11 ? bob : alice, { ...request, taskId: `t${String(n)}` });
  expect((await listTasks(alice)).map(({ row }) => row.taskId)).toEqual(
    [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((n) => `t${String(n)}`),
  );
});

test("follow gives events as they come, and ends with the task", async () => {
  const { alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  const seen: string[] = [];
  const following = (async () => {
    for await (const { event } of followLog(alice, { taskId, after: 0, signal: new AbortController().signal })) {
      seen.push(event.type);
    }
  })();
  await work();
  await post(alice, { taskId, item: { type: "Resolve", callId: "c6_0", outcome: "done", verification: "seen" } });
  await work();
  await post(alice, { taskId, item: { type: "Close" } });
  await work();
  await following;
  expect(seen[0]).toBe("TaskCreated");
  expect(seen.at(-1)).toBe("TaskEnded");
});

test("stats add up the usage of all tasks, by model", async () => {
  const { store, alice, bob, work } = createWorld();
  await createTask(alice, request);
  await createTask(bob, request);
  await work();
  expect(await loadStats(store)).toMatchObject({
    tasks: 2,
    statuses: { waiting: 2, ready: 0, running: 0, ended: 0 },
    usage: [{ purpose: "turn", model: "scripted", usage: { calls: 2, input: 20, output: 4 } }],
  });
});

/** A store that gives other rows than it holds. */
const lying = (store: Store, lies: Partial<Store>): Store => ({ ...store, ...lies });

test("check finds a whole task well, and every way in which row and projections may lie", async () => {
  const { store, alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  await work();
  const check = async (lies: Partial<Store>): Promise<string[]> =>
    (await checkTask({ store: lying(store, lies), hasher: nodeHasher }, { taskId })).map(({ what }) => what);
  expect(await check({})).toEqual([]);
  const getTask = async (params: { taskId: string }): Promise<TaskRow | null> => {
    const row = await store.getTask(params);
    return row === null ? null : { ...row, waitingOn: "input" };
  };
  expect(await check({ getTask })).toEqual(["its row's waitingOn is not as the log says"]);
  const withRows = (change: (rows: readonly Row[]) => readonly Row[]): Partial<Store> => ({
    readRows: async (params) => change(await store.readRows(params)),
  });
  const isAction = ({ table }: Row): boolean => table === "actions";
  expect(await check(withRows((rows) => rows.filter((row) => !isAction(row))))).toEqual([
    "its projection row actions c6_0 is missing",
  ]);
  expect(await check(withRows((rows) => [...rows, { table: "actions", key: "c1_1", set: { name: "X" } }]))).toEqual([
    "its projection row actions c1_1 is not in the log",
  ]);
  const settled = (row: Row): Row => (isAction(row) ? { ...row, set: { ...row.set, status: "ok" } } : row);
  expect(await check(withRows((rows) => rows.map(settled)))).toEqual([
    "its projection row actions c6_0 is not as the log says",
  ]);
});

test("check names the event that was changed, and a head that the log never had", async () => {
  const { store, alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  await work();
  const read = async (params: Parameters<Store["read"]>[0]): Promise<readonly Envelope[]> =>
    changed(await store.read(params));
  const findings = await checkTask({ store: lying(store, { read }), hasher: nodeHasher }, { taskId });
  expect(findings.map(({ seq }) => seq)).toContain(4);
  const [{ what } = { what: "" }] = await checkTask({ store, hasher: nodeHasher }, { taskId, expect: "ab".repeat(32) });
  expect(what).toContain("no event has the head abab");
});

test("an event that cannot be read is named", async () => {
  const { store, alice } = createWorld();
  const { taskId } = await createTask(alice, request);
  const read = async (params: Parameters<Store["read"]>[0]): Promise<readonly Envelope[]> =>
    (await store.read(params)).map((entry) => ({ ...entry, type: "TaskDreamt" }));
  const client = clientOf(lying(store, { read }));
  await refused(
    readLog(client, taskId),
    "unreadable",
    `event 1 of task ${taskId} cannot be read: event type TaskDreamt`,
  );
});

test("a turn that failed shows what the model said went wrong", async () => {
  const { alice, work } = createWorld();
  const { taskId } = await createTask(alice, request);
  await work();
  await post(alice, { taskId, item: { type: "Resolve", callId: "c6_0", outcome: "done", verification: "seen" } });
  await work();
  for (const words of ["and", "and", "and"]) {
    await post(alice, { taskId, item: { type: "Say", text: words } });
    await work();
  }
  const failure = (await readLog(alice, taskId)).findLast(({ event }) => event.type === "ExtensionRecorded");
  const { message } = (failure?.event as EventOf<"ExtensionRecorded">).data as { message: string };
  expect(await showTask(alice, taskId)).toMatchObject({ outcome: "failed", problem: message, answer: null });
});
