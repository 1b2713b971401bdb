import { describe, expect, it } from "vitest";
import { FIRST_CHAIN, chainOf, digestOf } from "../core/envelope.ts";
import { nodeHasher } from "../store/node-hasher.ts";
import { StoreError, type Store } from "../store/store.ts";
import { openText, sealText } from "../store/seal.ts";
import type { StoredTask } from "../store/memory/state.ts";
import { call } from "../testing/given.ts";
import { TASK, createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";

const storedOf = (harness: Harness): StoredTask => {
  const task = harness.state.tasks.get(TASK);
  if (task === undefined) throw new Error("the store has no such task");
  return task;
};

/** Rewrites the stored body of the event at `seq`; its digest stays. */
const damage = (harness: Harness, seq: number, change: (body: string) => string): void => {
  const event = storedOf(harness).events[seq - 1];
  if (event === undefined) throw new Error(`the log has no event ${String(seq)}`);
  event.content = sealText(harness.state.seal, TASK, change(openText(harness.state.seal, TASK, event.content)));
};

/** Appends an event as another version would have, with envelope and all. */
const append = (harness: Harness, type: string, fields: object): void => {
  const { events } = storedOf(harness);
  const last = events.at(-1);
  if (last === undefined) throw new Error("the log is empty");
  const body = JSON.stringify(fields);
  const [seq, salt] = [last.seq + 1, new Uint8Array(16)];
  const digest = digestOf(nodeHasher, salt, body);
  const chain = chainOf(nodeHasher, last.chain, seq, type, digest);
  events.push({ seq, at: last.at, type, content: sealText(harness.state.seal, TASK, body), salt, digest, chain });
};

/** Makes digests and chain of the events from `seq` on those of the bytes that are there, as a faulty writer would have. */
const sealAnew = (harness: Harness, seq: number): void => {
  const { events } = storedOf(harness);
  events.slice(seq - 1).forEach((event, index) => {
    const before = events[seq - 2 + index]?.chain ?? FIRST_CHAIN;
    const digest = digestOf(
      nodeHasher,
      event.salt ?? new Uint8Array(),
      openText(harness.state.seal, TASK, event.content),
    );
    events[seq - 1 + index] = { ...event, digest, chain: chainOf(nodeHasher, before, event.seq, event.type, digest) };
  });
};

/** A task that has answered once, with no process; its checks are the test's own. */
const answered = async (more: Partial<HarnessOptions> = {}): Promise<Harness> => {
  const harness = await createHarness({ script: ["Hello.", "Hello again."], checks: false, ...more });
  const { worker } = harness.start();
  await harness.rest();
  void worker.stop();
  await harness.pass(100);
  harness.ends.length = 0;
  return harness;
};

describe("a log that a newer version wrote", () => {
  it.each<[string, string, object]>([
    ["an event type", "TaskPostponed", { until: 7 }],
    ["a core record", "ExtensionRecorded", { extension: "core", kind: "postponed", v: 1, data: {} }],
    [
      "a version of a core record",
      "ExtensionRecorded",
      { extension: "core", kind: "timer_cancelled", v: 2, data: { id: "t" } },
    ],
    ["a field", "Waiting", { on: "input", detail: {}, until: 7 }],
    ["a value", "Waiting", { on: "weather", detail: {} }],
  ])("with %s that is not known is left alone: nothing is written, the lease lapses", async (_, type, fields) => {
    const harness = await answered();
    append(harness, type, fields);
    await harness.post({ type: "Say", text: "again" });
    const { length } = storedOf(harness).events;
    harness.start();
    await harness.until(() => harness.ends.length === 3);
    expect(harness.ends).toEqual(["newer", "newer", "newer"]);
    expect(storedOf(harness).events).toHaveLength(length);
    expect((await harness.row()).held).toBeNull();
    expect(storedOf(harness).inboxTaken).toBe(1);
  });

  it("is never taken for one that kills its workers", async () => {
    const harness = await answered({ worker: { maxAttempts: 2 } });
    append(harness, "TaskPostponed", {});
    await harness.post({ type: "Say", text: "again" });
    harness.start();
    await harness.until(() => harness.ends.length === 6);
    expect(new Set(harness.ends)).toEqual(new Set(["newer"]));
  });

  it("is not held by a worker that comes after many who left it alone", async () => {
    const harness = await answered({ worker: { maxAttempts: 2 } });
    append(harness, "TaskPostponed", {});
    await harness.post({ type: "Say", text: "again" });
    for (let worker = 1; worker <= 5; worker += 1) {
      const started = harness.start();
      await harness.until(() => harness.ends.length === worker);
      void started.worker.stop();
    }
    expect(new Set(harness.ends)).toEqual(new Set(["newer"]));
    expect((await harness.row()).held).toBeNull();
  });

  it("with an item that is not known is left alone, with the item", async () => {
    const harness = await answered();
    await harness.post({ type: "Say", text: "again" });
    const item = storedOf(harness).items.get("post 1");
    if (item !== undefined) item.content = sealText(harness.state.seal, TASK, JSON.stringify({ type: "Postpone" }));
    harness.start();
    await harness.until(() => harness.ends.length === 2);
    expect(harness.ends).toEqual(["newer", "newer"]);
    expect(storedOf(harness).inboxTaken).toBe(1);
    expect(item?.content).not.toBeNull();
  });
});

/** Changes the places of two events, which keep all but their seqs. */
const swap = (events: StoredTask["events"], a: number, b: number): void => {
  const [first, second] = [events[a], events[b]];
  if (first === undefined || second === undefined) throw new Error("the log is too short");
  events[a] = { ...second, seq: first.seq };
  events[b] = { ...first, seq: second.seq };
};

describe("a log whose bytes are damaged", () => {
  const broken = (body: string): string => body.replace('"text":', '"text');

  it("is held twice; the third claim ends the task from its row", async () => {
    const harness = await answered();
    damage(harness, 4, broken);
    await harness.post({ type: "Say", text: "again" });
    harness.start();
    await harness.until(() => harness.ends.length === 3);
    expect(harness.ends).toEqual(["damaged", "damaged", "ended"]);
    const last = storedOf(harness).events.at(-1);
    expect([last?.type, openText(harness.state.seal, TASK, last?.content ?? new Uint8Array())]).toEqual([
      "TaskEnded",
      '{"outcome":"failed","reason":"unreadable_log"}',
    ]);
    expect(await harness.row()).toMatchObject({ status: "ended", outcome: "failed", reason: "unreadable_log" });
    await expect(harness.post({ type: "Say", text: "hello?" })).rejects.toMatchObject({ code: "ended" });
  });

  it.each([
    ["lacks an event", (events: StoredTask["events"]) => events.splice(4, 1), 5],
    ["holds two events in each other's place", (events: StoredTask["events"]) => swap(events, 4, 5), 5],
  ])("that %s is damaged, not merely held", async (_, change, seq) => {
    const harness = await answered();
    damage(harness, 6, broken);
    sealAnew(harness, 6);
    change(storedOf(harness).events);
    await harness.post({ type: "Say", text: "again" });
    harness.start();
    await harness.until(() => harness.ends.length === 1);
    expect((await harness.row()).held?.reason).toContain(`the event at seq ${String(seq)} is damaged`);
    await harness.until(() => harness.ends.length === 3);
    expect(harness.ends).toEqual(["damaged", "damaged", "ended"]);
  });

  it("is found where the store makes digests from what it holds", async () => {
    const harness = await answered();
    damage(harness, 4, broken);
    await harness.post({ type: "Say", text: "again" });
    const read: Store["read"] = async (params) =>
      (await harness.store.read(params)).map((entry) => ({
        ...entry,
        digest: digestOf(nodeHasher, entry.salt ?? new Uint8Array(), entry.body),
      }));
    harness.start({ ports: { store: { ...harness.store, read } } });
    await harness.until(() => harness.ends.length === 3);
    expect(harness.ends).toEqual(["damaged", "damaged", "ended"]);
  });

  it("is held in between, with the reason, and counted by worker", async () => {
    const harness = await answered();
    damage(harness, 4, broken);
    await harness.post({ type: "Say", text: "again" });
    const first = harness.start();
    await harness.until(() => harness.ends.length === 2);
    expect((await harness.row()).held).toMatchObject({ count: 2, build: "simulation" });
    expect((await harness.row()).held?.reason).toMatch(/^the event at seq 4 is damaged/);
    void first.worker.stop();
    harness.start();
    await harness.until(() => harness.ends.length === 4);
    expect(harness.ends).toEqual(["damaged", "damaged", "damaged", "damaged"]);
  });

  it("does not count holds for other reasons", async () => {
    const harness = await answered();
    damage(harness, 4, broken);
    const written = storedOf(harness).events.slice();
    // Whole, but not of any known form.
    sealAnew(harness, 4);
    await harness.post({ type: "Say", text: "again" });
    harness.start();
    await harness.until(() => harness.ends.length === 2);
    storedOf(harness).events.forEach((event, index, events) => {
      events[index] = { ...event, digest: written[index]?.digest ?? event.digest };
    });
    await harness.until(() => harness.ends.length === 5);
    expect(harness.ends).toEqual(["held", "held", "damaged", "damaged", "ended"]);
  });

  it("tells the parent, and cancels the children, all of them", async () => {
    const child = "task.c6_0.1";
    const harness = await answered();
    const parent = storedOf(harness);
    const relate = (taskId: string, parentId: string | null): StoredTask => {
      const task: StoredTask = {
        ...structuredClone({ ...parent, rows: new Map(), holds: new Map(), snapshots: new Map(), files: new Map() }),
        taskId,
        columns: { ...parent.columns, parent: parentId },
      };
      harness.state.tasks.set(taskId, task);
      return task;
    };
    const damagedChild = relate(child, "task");
    damagedChild.events[3] = {
      ...(damagedChild.events[3] as StoredTask["events"][number]),
      content: new Uint8Array([1]),
    };
    for (let index = 0; index < 1_200; index += 1) relate(`${child}.c9_0.${String(index)}`, child);
    await harness.store.post({ taskId: child, by: "person:ada", key: "k", item: { type: "Say", text: "again" } });
    harness.start({ worker: { taskId: child } });
    await harness.until(() => harness.ends.includes("ended"));
    const bodies = (taskId: string): string[] =>
      [...(harness.state.tasks.get(taskId)?.items.values() ?? [])].flatMap(({ content }) =>
        content === null ? [] : [openText(harness.state.seal, taskId, content)],
      );
    expect(bodies("task")).toEqual([
      `{"type":"ChildEnded","childId":"${child}","callId":"c6_0","outcome":"failed","reason":"unreadable_log"}`,
    ]);
    const grandchildren = [...harness.state.tasks.keys()].filter((taskId) => taskId.startsWith(`${child}.`));
    const cancelled = grandchildren.filter((taskId) => bodies(taskId).join().includes('"Cancel"'));
    expect(cancelled).toHaveLength(1_200);
  });
});

describe("a log that is whole but cannot be folded", () => {
  it("is held, tried again later and later, and goes on when it folds again", async () => {
    let broken = true;
    const reducing = {
      name: "reducing",
      version: "1",
      records: { noted: { v: 1 } },
      reducer: {
        initial: () => 0,
        reduce: () => {
          if (broken) throw new Error("cannot reduce");
          return 1;
        },
      },
      hooks: {
        turnStart: (view: { record(record: { kind: string; data: unknown }): void }) =>
          view.record({ kind: "noted", data: {} }),
      },
    };
    broken = false;
    const harness = await answered({ plugins: [reducing], checks: true });
    broken = true;
    await harness.post({ type: "Say", text: "again" });
    harness.start();
    const times: number[] = [];
    for (let holds = 1; holds <= 5; holds += 1) {
      await harness.until(() => harness.ends.length === holds);
      times.push(harness.now);
    }
    expect(harness.ends).toEqual(["held", "held", "held", "held", "held"]);
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    pauses.forEach((pause, index) => expect(pause).toBeGreaterThanOrEqual(1_000 * 2 ** index));
    expect((await harness.row()).held).toMatchObject({ count: 5 });
    broken = false;
    await harness.rest();
    expect((await harness.row()).held).toBeNull();
    expect((await harness.row()).outcome).toBe("completed");
  });

  it("is another build's at once, and goes on at once when an operator lets it go", async () => {
    const harness = await answered();
    damage(harness, 6, () => "{}");
    sealAnew(harness, 6);
    await harness.post({ type: "Say", text: "again" });
    harness.start();
    await harness.until(() => harness.ends.length === 4);
    const [heldAt, claims] = [harness.now, harness.claims.length];
    await harness.store.letGo({ taskId: TASK });
    await harness.until(() => harness.ends.length === 5);
    expect(harness.claims).toHaveLength(claims + 1);
    expect(harness.now - heldAt).toBeLessThanOrEqual(1_000);
    const before = harness.now;
    harness.start({ ports: { build: "another" } });
    await harness.until(() => harness.claims.length === claims + 2);
    expect(harness.now).toBe(before);
  });
});

describe("an item that cannot be read", () => {
  const spoil = (harness: Harness, key: string): void => {
    const item = storedOf(harness).items.get(key);
    if (item !== undefined) item.content = sealText(harness.state.seal, TASK, '{"type":"Say"}');
  };

  it("holds the task and stays in the inbox", async () => {
    const harness = await answered();
    await harness.post({ type: "Say", text: "again" });
    spoil(harness, "post 1");
    harness.start();
    await harness.until(() => harness.ends.length === 1);
    expect(harness.ends).toEqual(["held"]);
    expect((await harness.row()).held?.reason).toBe("task task: inbox item 2 cannot be read");
    expect(storedOf(harness).inboxTaken).toBe(1);
  });

  it("in the middle of a turn costs nothing of what happened before", async () => {
    const send = toolOf("send", "write", {
      execute: async () => {
        await harness.post({ type: "Say", text: "wait" });
        spoil(harness, "post 1");
        return "sent";
      },
    });
    const harness: Harness = await createHarness({
      tools: [send],
      script: [[call("send")], "It is done."],
      checks: false,
    });
    harness.start();
    await harness.until(() => harness.ends.length === 1);
    expect(harness.ends).toEqual(["held"]);
    expect(await harness.log(7)).toBe(
      lines(`
        8 ToolFinished c6_0 "sent"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
      `),
    );
  });
});

describe("a store that is busy while a claim is loaded", () => {
  it("is no reason to hold the task", async () => {
    const harness = await runHarness({ script: ["Hello.", "Hello again."], limits: { snapshotEvery: 1 } });
    const { length: seq } = await harness.events();
    const bytes = new TextEncoder().encode("garbage");
    await harness.store.putSnapshot({ taskId: TASK, snapshot: { seq, version: "simulation", revision: 1, bytes } });
    void harness.processes[0]?.worker.stop();
    let tries = 0;
    const { read } = harness.store;
    const busy: Store["read"] = (params) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new StoreError("unavailable", "busy")) : read(params);
    };
    harness.start({ ports: { store: { ...harness.store, read: busy } } });
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect(harness.ends).toEqual(["parked", "lost", "parked"]);
  });
});
