// A runtime as a program has it: tasks that answer, stream, wait, and belong to someone.
import { Type } from "typebox";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLocalAccess } from "../access/local/local.ts";
import { defineAgent } from "../config/config.ts";
import { createScriptedModel } from "../model/scripted/scripted.ts";
import { defineTool } from "../plugins/define.ts";
import { createMemoryStore } from "../store/memory/store.ts";
import type { Store } from "../store/store.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "./create-runtime.ts";

let store: Store;
let runtimes: Runtime[];
beforeEach(() => {
  store = createMemoryStore();
  runtimes = [];
});
afterEach(async () => {
  for (const runtime of runtimes) await runtime.close();
  await store.close();
});

const echo = defineTool({
  name: "Echo",
  description: "Says it again.",
  inputSchema: Type.Object({ text: Type.String() }),
  effect: "read",
  execute: ({ text }) => text.toUpperCase(),
});

const lines = [
  { reasoning: "It wants an echo.", calls: [{ name: "Echo", input: { text: "hello" } }] },
  { text: "It says HELLO." },
  { text: "You are welcome." },
];

const start = async (options: Partial<RuntimeOptions> = {}): Promise<Runtime> => {
  const runtime = await createRuntime({
    store,
    agents: [defineAgent({ name: "echo", model: "lines", tools: [echo] })],
    models: { lines: createScriptedModel({ name: "lines", lines }) },
    ...options,
  });
  runtimes.push(runtime);
  return runtime;
};

const collect = async <T>(parts: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const part of parts) all.push(part);
  return all;
};

describe("a task", () => {
  test("is worked to its answer, with tools that need no workspace", async () => {
    const task = await (await start()).create("Echo hello.");
    expect(await task.untilRest()).toMatchObject({ outcome: "completed", answer: "It says HELLO." });
    const finished = (await task.events()).flatMap(({ event }) =>
      event.type === "ToolFinished" ? [event.content] : [],
    );
    expect(finished).toEqual([[{ type: "text", text: "HELLO" }]]);
  });

  test("asks before it changes something, and goes on as it is decided", async () => {
    const drop = { ...echo, effect: "destructive" as const };
    const agents = [defineAgent({ name: "echo", model: "lines", tools: [drop] })] as const;
    const runtime = await start({ agents: [...agents], approvals: { effects: { destructive: "ask" } } });
    const task = await runtime.create("Echo hello.");
    expect(await task.untilRest()).toMatchObject({ waitingOn: "approval", autoApprove: false });
    const [request] = await task.approvals();
    expect(request).toMatchObject({ name: "Echo", input: { text: "hello" }, showing: 0 });
    const id = request?.request ?? "";
    const showing = await task.showApproval(id);
    const { inputHash = "" } = request ?? {};
    const receipt = await task.approve(id, { input: { text: "bye" }, showing, inputHash, key: "k" });
    expect(receipt).toMatchObject({ counts: true, decision: "approve" });
    expect(await task.deny(id, { reason: "late" })).toMatchObject({ counts: false, decision: "approve" });
    await task.untilRest();
    const results = (await task.events()).flatMap(({ event }) =>
      event.type === "ToolFinished" ? [event.content] : [],
    );
    expect(results).toEqual([[{ type: "text", text: "BYE" }]]);
    await task.autoApprove(true);
    expect(await task.untilRest()).toMatchObject({ outcome: "completed", autoApprove: true });
  });

  test("streams pieces of replies and events until it rests, each event once", async () => {
    const task = await (await start()).create("Echo hello.");
    const all = await collect(task.stream());
    const events = all.flatMap((part) => ("event" in part ? [part.event.event.type] : []));
    expect(events).toEqual((await task.events()).map(({ event }) => event.type));
    expect(events.at(-1)).toBe("Waiting");
    const said = all.map((part) => ("delta" in part && part.delta.type === "text" ? part.delta.delta : ""));
    expect(said.join("")).toBe("It says HELLO.");
  });

  test("goes on when something is said, and a follower sees it all without a gap", async () => {
    const task = await (await start()).create("Echo hello.");
    const first = await task.untilRest();
    const receipt = await task.say("Thank you.", { key: "thanks" });
    expect(await task.say("Thank you.", { key: "thanks" })).toEqual({ ...receipt, duplicate: true });
    expect(await task.untilRest()).toMatchObject({ answer: "You are welcome." });
    const done = new AbortController();
    const seqs: number[] = [];
    const last = (await task.show()).lastSeq;
    for await (const { seq } of task.follow({ after: first.lastSeq, signal: done.signal })) {
      seqs.push(seq);
      if (seq === last) done.abort();
    }
    expect(seqs).toEqual(Array.from({ length: last - first.lastSeq }, (_, index) => first.lastSeq + 1 + index));
  });

  test("ends a follower with the task, and refuses what comes after", async () => {
    const task = await (await start()).create("Echo hello.");
    await task.untilRest();
    const following = collect(task.follow());
    await task.close();
    expect((await following).at(-1)?.event.type).toBe("TaskEnded");
    await expect(task.say("more")).rejects.toThrow(`task ${task.id} has ended`);
  });

  test("that was left in the middle is taken up by the next runtime", async () => {
    const posts = await start({ worker: false });
    const task = await posts.create("Echo hello.");
    expect((await task.show()).status).toBe("ready");
    await start();
    expect(await task.untilRest()).toMatchObject({ answer: "It says HELLO." });
  });

  test("whose model this process does not have pauses, and goes on with another", async () => {
    const posts = await start({ worker: false });
    const task = await posts.create("Echo hello.", { model: "retired" });
    await start();
    const failed = await task.untilRest();
    expect(failed).toMatchObject({ outcome: "paused", reason: "model_missing", waitingOn: "resume" });
    expect(failed.problem).toContain('there is no model "retired"');
    await task.reconfigure({ model: "lines" });
    await task.resume();
    expect(await task.untilRest()).toMatchObject({ answer: "It says HELLO.", model: "lines" });
  });
});

describe("a runtime", () => {
  test("shows a principal its own tasks alone", async () => {
    const runtime = await start();
    const [ann, bob] = [runtime.as("user:ann"), runtime.as("user:bob")];
    const task = await ann.create("Echo hello.");
    expect((await ann.list()).map(({ row }) => row.taskId)).toEqual([task.id]);
    expect(await bob.list()).toEqual([]);
    await expect(bob.task(task.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(runtime.as("user:ann", "elsewhere").task(task.id)).rejects.toMatchObject({ code: "not_found" });
    expect((await ann.task(task.id.slice(0, 4))).id).toBe(task.id);
  });

  test("lets a collaborator steer and do nothing else, and finds a moved task in its new place alone", async () => {
    const held = Promise.withResolvers<void>();
    const slow = { ...echo, execute: () => held.promise.then(() => "HELLO") };
    const places = { library: ["user:ann", "user:bob"], office: ["user:ann"] };
    const access = createLocalAccess({ places });
    const runtime = await start({ agents: [defineAgent({ name: "echo", model: "lines", tools: [slow] })], access });
    const [ann, bob] = [runtime.as("user:ann"), runtime.as("user:bob")];
    const task = await ann.create("Echo hello.");
    for await (const { event } of task.follow()) if (event.type === "ToolStarted") break;
    await expect(task.collaborator("add", "user:eve")).rejects.toMatchObject({ code: "refused" });
    await expect(bob.steer(task.id, "louder")).rejects.toMatchObject({ code: "not_found" });
    await task.collaborator("add", "user:bob");
    held.resolve();
    await task.untilRest();
    await expect(bob.steer(task.id, "louder")).rejects.toMatchObject({ code: "refused" });
    await expect(bob.task(task.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(runtime.create("Echo.")).rejects.toMatchObject({ code: "refused" });
    expect(await task.show()).toMatchObject({ collaborators: ["user:bob"], origin: { private: false } });
    const following = collect(task.follow());
    await task.handoff({ place: "office" });
    expect(JSON.stringify((await following).at(-1)?.event)).toContain('"kind":"handoff"');
    await expect(task.show()).rejects.toMatchObject({ code: "not_found" });
    const there = await runtime.as("user:ann", "office").task(task.id);
    expect(await there.show()).toMatchObject({ collaborators: [], origin: { place: "office", private: true } });
  });

  test("creates one task for a key", async () => {
    const runtime = await start();
    const [once, again] = [await runtime.create("Echo.", { key: "k" }), await runtime.create("Echo.", { key: "k" })];
    expect(again.id).toBe(once.id);
  });

  test("does not begin with agents or models that are not there", async () => {
    const agent = defineAgent({ name: "echo", model: "lines", tools: [echo] });
    await expect(start({ agents: [agent, agent] })).rejects.toThrow("two agents are named echo");
    await expect(start({ models: {} })).rejects.toThrow('there is no model "lines"');
    const runtime = await start();
    await expect(runtime.create("x", { agent: "other" })).rejects.toThrow('there is no agent "other"; known are echo');
    await expect(runtime.create("x", { model: "other" })).rejects.toThrow('there is no model "other"');
  });

  test("tells a tool without a workspace that it has none", async () => {
    const look = defineTool({
      ...{ name: "Echo", description: "Looks.", effect: "read" },
      inputSchema: Type.Object({ text: Type.String() }),
      execute: async (_, { exec }) => String((await exec.stat("a.txt")).size),
    });
    const task = await (await start({ agents: [{ name: "echo", model: "lines", tools: [look] }] })).create("Look.");
    await task.untilRest();
    const results = (await task.events()).flatMap(({ event }) => (event.type === "ToolFinished" ? [event] : []));
    expect(results).toMatchObject([
      { status: "error", content: [{ text: expect.stringContaining("no workspace") as string }] },
    ]);
  });
});
