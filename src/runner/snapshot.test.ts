import { describe, expect, it } from "vitest";
import { fold } from "../core/fold.ts";
import type { Plugin } from "../plugins/plugin.ts";
import type { TaskState } from "../core/state.ts";
import { call } from "../testing/given.ts";
import type { Store } from "../store/store.ts";
import { createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { encodeState, isSnapshotDue } from "./snapshot.ts";

const VERSION = "simulation";

/** A turn of `cycles` calls and an answer, then the wait: 4 events a cycle. */
const turnOf = (cycles: number) => [...Array.from({ length: cycles }, () => [call("look")]), "Hello."];

const looking = (more: Partial<HarnessOptions> = {}): Promise<Harness> =>
  runHarness({
    tools: [toolOf("look", "read")],
    script: [...turnOf(30), ...turnOf(30), ...turnOf(30)],
    limits: { snapshotEvery: 100 },
    ...more,
  });

const snapshotOf = (harness: Harness, version = VERSION) => harness.store.getSnapshot({ taskId: "task", version });

const stateOf = (bytes: Uint8Array): TaskState => JSON.parse(new TextDecoder().decode(bytes)) as TaskState;

describe("a snapshot", () => {
  it("is what a fold of the stored log gives", async () => {
    const harness = await looking();
    const snapshot = await snapshotOf(harness);
    const log = await harness.events();
    expect(snapshot?.seq).toBeGreaterThanOrEqual(100);
    expect(stateOf(snapshot?.bytes ?? new Uint8Array())).toEqual(fold("task", log.slice(0, snapshot?.seq), {}));
  });

  it("is written in the background: the log is the same without any", async () => {
    const [without, fast] = [
      await looking({ limits: { snapshotEvery: 0 } }),
      await looking({ limits: { snapshotEvery: 2 } }),
    ];
    expect(await without.log()).toBe(await fast.log());
    expect(await snapshotOf(without)).toBeNull();
    expect(await snapshotOf(fast)).not.toBeNull();
  });

  it("serves the next claim, which loads only what came after it", async () => {
    const harness = await looking();
    const before = (await harness.events()).length;
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    const claim = harness.claims.at(-1);
    expect(claim?.snapshot?.seq).toBeGreaterThanOrEqual(100);
    expect(claim?.entries).toHaveLength(before - (claim?.snapshot?.seq ?? 0));
    const whole = await looking({ limits: { snapshotEvery: 0 } });
    await whole.post({ type: "Say", text: "again" });
    await whole.rest();
    expect(await harness.log()).toBe(await whole.log());
  });

  it.each<[string, number, (seq: number) => string]>([
    ["bytes of another kind", 0, () => "\u0000\u0001"],
    ["another seq", 0, (seq) => JSON.stringify({ seq: seq + 1, taskId: "task" })],
    ["another task's state", 0, (seq) => JSON.stringify({ seq, taskId: "other" })],
    ["a state that does not fold", 2, (seq) => JSON.stringify({ seq, taskId: "task" })],
  ])("that holds %s is ignored", async (_, fromEnd, bytesOf) => {
    const harness = await looking({ limits: { snapshotEvery: 0 } });
    const { length } = await harness.events();
    const seq = length - fromEnd;
    const bytes = new TextEncoder().encode(bytesOf(seq));
    await harness.store.putSnapshot({ taskId: "task", snapshot: { seq, version: VERSION, revision: 1, bytes } });
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect(harness.claims.at(-1)?.snapshot?.seq).toBe(seq);
    expect((await harness.row()).outcome).toBe("completed");
    expect(await harness.log(length)).toMatch(/^\d+ InputTaken/);
  });

  it("of another version is not used", async () => {
    const harness = await looking();
    harness.processes[0]?.worker.stop().catch(() => undefined);
    harness.start({ ports: { snapshotVersion: () => "newer" } });
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    expect(harness.claims.at(-1)?.snapshot).toBeNull();
    expect((await snapshotOf(harness, "newer"))?.seq).toBeGreaterThan(100);
  });

  it("is not written by a process that does not know its code's version", async () => {
    const harness = await looking({ ports: { snapshotVersion: () => null } });
    expect(await snapshotOf(harness)).toBeNull();
  });

  it("goes with a redaction, and is written anew of what is left", async () => {
    const harness = await looking();
    await harness.post({ type: "Say", text: "my name is Ada" });
    await harness.rest();
    const said = (await harness.events()).findLast(({ event }) => event.type === "InputTaken")?.seq ?? 0;
    await harness.store.redact({ taskId: "task", seqs: [said], secret: new Uint8Array(32) });
    expect(await snapshotOf(harness)).toBeNull();
    await harness.post({ type: "Say", text: "again" });
    await harness.rest();
    const snapshot = await snapshotOf(harness);
    expect(snapshot?.revision).toBe(2);
    expect(new TextDecoder().decode(snapshot?.bytes).includes("Ada")).toBe(false);
  });

  it("that was folded before a redaction is refused, and written anew of what is left", async () => {
    const harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: turnOf(30),
      limits: { snapshotEvery: 100 },
    });
    const kept: boolean[] = [];
    const { putSnapshot, redact } = harness.store;
    const overtaken: Store["putSnapshot"] = async (params) => {
      if (kept.length === 0) await redact({ taskId: "task", seqs: [8], secret: new Uint8Array(32) });
      kept.push(await putSnapshot(params));
      return kept.at(-1) === true;
    };
    harness.start({ ports: { store: { ...harness.store, putSnapshot: overtaken } } });
    await harness.rest();
    expect(kept).toEqual([false, true]);
    const snapshot = await snapshotOf(harness);
    expect(snapshot?.revision).toBe(2);
    expect((await harness.row()).outcome).toBe("completed");
  });

  it("is not written of a state that does not decode back equal", async () => {
    const dates: Plugin = {
      name: "dates",
      version: "1",
      records: { noted: { v: 1 } },
      reducer: { initial: () => null, reduce: () => new Date(0) },
      hooks: { turnStart: (view) => view.record({ kind: "noted", data: {} }) },
    };
    const harness = await looking({ plugins: [dates], checks: false });
    expect(await snapshotOf(harness)).toBeNull();
    expect((await harness.row()).outcome).toBe("completed");
  });

  it("goes with the end of its task", async () => {
    const harness = await looking({ mode: "oneShot", limits: { snapshotEvery: 20 } });
    expect((await harness.row()).status).toBe("ended");
    expect(await snapshotOf(harness)).toBeNull();
  });

  it("that fails changes nothing, and the operator is told", async () => {
    const harness = await looking({ ports: { compress: () => Promise.reject(new Error("out of memory")) } });
    expect(await snapshotOf(harness)).toBeNull();
    expect((await harness.row()).outcome).toBe("completed");
    expect(harness.system.notes.join()).toContain("no snapshot was written: Error: out of memory");
  });
});

describe("a snapshot is due", () => {
  it("after as many events as asked, if their bytes are a tenth of its size", () => {
    const due = (events: number, bytesAfter: number, size: number, every = 100): boolean =>
      isSnapshotDue({ seq: 50, size, bytesAfter }, 50 + events, every);
    expect(due(100, 1_000, 10_000)).toBe(true);
    expect(due(99, 1_000, 10_000)).toBe(false);
    expect(due(100, 999, 10_000)).toBe(false);
    expect(due(100, 0, 0)).toBe(true);
    expect(due(10_000, 1_000_000, 0, 0)).toBe(false);
  });

  it("so seldom, as a task grows, that all of them together stay in proportion to its log", async () => {
    const harness = await createHarness({
      tools: [toolOf("look", "read")],
      script: turnOf(100),
      limits: { snapshotEvery: 10 },
    });
    let [bytes, count] = [0, 0];
    const { putSnapshot } = harness.store;
    harness.start({
      ports: {
        store: {
          ...harness.store,
          putSnapshot: (params) => {
            bytes += params.snapshot.bytes.length;
            count += 1;
            return putSnapshot(params);
          },
        },
      },
    });
    await harness.rest();
    const log = (await harness.store.read({ taskId: "task" })).reduce((sum, { body }) => sum + body.length, 0);
    expect(count).toBeGreaterThan(5);
    expect(bytes / log).toBeLessThan(11);
  });
});

describe("a state as text", () => {
  it("is null where the text would not give it back", async () => {
    const state = fold("task", await (await runHarness({ script: ["Hello."] })).events(), {});
    expect(JSON.parse(encodeState(state) ?? "")).toEqual(state);
    for (const value of [new Date(0), undefined, Number.NaN, -0, new Map()]) {
      expect(encodeState({ ...state, plugins: { odd: { value } } })).toBeNull();
    }
  });
});
