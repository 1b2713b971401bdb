import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCourse, follow } from "../testing/arbitraries.ts";
import {
  OWNER,
  TASK,
  call,
  called,
  core,
  created,
  ended,
  finished,
  item,
  logOf,
  recorded,
  replied,
  say,
  started,
  taken,
  toolsKnown,
  waiting,
  type Step,
} from "../testing/given.ts";
import type { Event, Recorded } from "./events.ts";
import { createState } from "./fold.ts";
import { applyAndProject, asStored, changedColumns, columnsOf, mergeRows, projections, type Row } from "./project.ts";
import { skeletonOf } from "./redact.ts";
import type { TaskState } from "./state.ts";

const projected = (log: readonly Recorded[]): { state: TaskState; rows: Row[] } => {
  const [first, ...rest] = log;
  const state = createState(TASK, first as Recorded);
  return { state, rows: rest.flatMap((each) => applyAndProject(state, each, {})) };
};
const rowsOf = (...steps: readonly Step[]): Row[] => projected(logOf(created(), ...steps)).rows;
const columnsAfter = (...steps: readonly Step[]) => columnsOf(projected(logOf(...steps)).state);

const asked = [taken(say("hi")), called()] as const;
/** A look and a send, with the ids c4_0 and c4_1. */
const calls = [...asked, replied([call("look"), call("send")])] as const;
const write = started("c4_1", "send", { effect: "write" });
const sources = [{ id: "s", version: "2", cursor: "c" }, { id: "t" }];

describe("rows", () => {
  test("of a write: announced, unknown, settled, finished; reads leave none", () => {
    const log = [
      ...calls,
      started("c4_0", "look"),
      write,
      core("action_unknown", { callId: "c4_1", reason: "crashed" }),
      core("action_settled", { callId: "c4_1", how: "verification", outcome: "unknown", by: OWNER }),
      core("action_settled", { callId: "c4_1", how: "attestation", outcome: "done", by: OWNER }),
      finished("c4_1", "done", { settledBy: "attestation" }),
      finished("c4_0"),
    ];
    expect(rowsOf(...log).filter((row) => row.table === "actions")).toEqual([
      {
        table: "actions",
        key: "c4_1",
        set: {
          name: "send",
          effect: "write",
          status: "started",
          invocationId: "invocation of c4_1",
          attempt: 1,
          startedSeq: 6,
        },
      },
      { table: "actions", key: "c4_1", set: { status: "unknown", unknownSeq: 7 } },
      { table: "actions", key: "c4_1", set: { settledSeq: 9 } },
      { table: "actions", key: "c4_1", set: { status: "ok", finishedSeq: 10 } },
    ]);
  });

  test("of a write that was skipped before it was announced: none", () => {
    expect(
      rowsOf(...calls, finished("c4_1", "skipped", { status: "skipped" })).filter((row) => row.table === "actions"),
    ).toEqual([]);
  });

  test("of an approval", () => {
    const asks = { requestId: "q", callId: "c4_1", inputHash: "h", definition: "d", decides: "owner" };
    expect(
      rowsOf(
        ...calls,
        core("approval_requested", asks),
        core("approval_settled", { requestId: "q", callId: "c4_1", decision: "denied", by: OWNER }),
        core("approval_requested", { ...asks, requestId: "r", expiresAt: 5 }),
      ).filter((row) => row.table === "approvals"),
    ).toEqual([
      {
        table: "approvals",
        key: "q",
        set: {
          callId: "c4_1",
          status: "pending",
          decides: "owner",
          inputHash: "h",
          definition: "d",
          expiresAt: null,
          requestedSeq: 5,
        },
      },
      { table: "approvals", key: "q", set: { status: "denied", settledSeq: 6 } },
      expect.objectContaining({ key: "r", set: expect.objectContaining({ expiresAt: 5 }) as unknown }),
    ]);
  });

  test("of usage: replies, failed attempts and nested work, each under its purpose and model", () => {
    const failed = core("model_failed", { class: "network", purpose: "turn", attempt: 1, durationMs: 1 });
    const nested = core("usage", {
      purpose: "title",
      model: "small",
      tokens: "unknown",
      durationMs: 2,
      priceEstimate: 0.5,
    });
    const rows = rowsOf(...asked, failed, called(), replied("yes"), nested);
    expect(rows.map(({ key, set }) => [key, set?.["calls"], set?.["failed"], set?.["priceEstimate"]])).toEqual([
      ["turn m", 1, 1, null],
      ["turn m", 2, 1, null],
      ["title small", 1, 0, 0.5],
    ]);
    expect(rowsOf(...asked, called({ purpose: "title", model: "n" }), replied("x")).at(-1)?.key).toBe("title n");
  });

  test("of usage for two purposes and of two models: each its own", () => {
    const used = (purpose: string, model: string, input: number): Event =>
      core("usage", { purpose, model, tokens: { input, output: 0 }, durationMs: 1 });
    const rows = rowsOf(used("a", "m", 1), used("b", "m", 2), used("b", "n", 4), used("b", "m", 8), used("a", "n", 16));
    expect(asStored(rows).map(({ key, set }) => [key, set?.["input"]])).toEqual([
      ["a m", 1],
      ["a n", 16],
      ["b m", 10],
      ["b n", 4],
    ]);
  });

  test("of sources: every event that carries them; of evidence: results alone", () => {
    const rows = rowsOf(...calls, finished("c4_0", "x", { sources }), recorded("notes", "kept", {}, { sources }));
    expect(rows.filter((row) => row.table !== "usage")).toEqual([
      { table: "sources", key: "s", set: { version: "2", cursor: "c", seq: 5 } },
      { table: "sources", key: "t", set: { version: null, cursor: null, seq: 5 } },
      { table: "evidence", key: "5 s", set: { callId: "c4_0", source: "s", version: "2", seq: 5 } },
      { table: "evidence", key: "5 t", set: { callId: "c4_0", source: "t", version: null, seq: 5 } },
      { table: "sources", key: "s", set: { version: "2", cursor: "c", seq: 6 } },
      { table: "sources", key: "t", set: { version: null, cursor: null, seq: 6 } },
    ]);
  });

  test("of timers: set, fired, cancelled, and gone with the task", () => {
    const set = (id: string) => core("timer_set", { id, dueAt: 5, ...(id === "a" ? { callId: "c4_0" } : {}) });
    const fired = item("TimerFired", { timerId: "a", dueAt: 5 });
    const rows = rowsOf(set("a"), set("b"), set("c"), taken(fired), core("timer_cancelled", { id: "b" }), ended());
    expect(rows).toEqual([
      { table: "timers", key: "a", set: { dueAt: 5, callId: "c4_0", seq: 2 } },
      { table: "timers", key: "b", set: { dueAt: 5, callId: null, seq: 3 } },
      { table: "timers", key: "c", set: { dueAt: 5, callId: null, seq: 4 } },
      { table: "timers", key: "a", set: null },
      { table: "timers", key: "b", set: null },
      { table: "timers", key: "c", set: null },
    ]);
  });

  test("of a timer that was set anew: it stays when the old time comes", () => {
    const stale = taken(item("TimerFired", { timerId: "a", dueAt: 5 }));
    const rows = rowsOf(core("timer_set", { id: "a", dueAt: 5 }), core("timer_set", { id: "a", dueAt: 9 }), stale);
    expect(rows).toHaveLength(2);
  });

  test("of a plan, goals and notes: the newest record of each, also where the words are gone", () => {
    const record = (kind: string, data: object, skeleton: readonly string[]): Event => ({
      type: "ExtensionRecorded",
      extension: "plan",
      kind,
      v: 1,
      data,
      skeleton: [...skeleton],
    });
    const steps = [
      record("plan", { version: 1, steps: [], texts: [] }, ["version", "steps"]),
      record("goal", { id: "g1", status: "open", text: "x" }, ["id", "status"]),
      record("note", { id: "n1", text: "x" }, ["id"]),
      record("note", { id: "n2", text: "x" }, ["id"]),
      record("plan", { version: 2, steps: [], texts: [] }, ["version", "steps"]),
      record("goal", { id: "g1", status: "done", text: "x" }, ["id", "status"]),
      record("note_deleted", { id: "n2" }, ["id"]),
    ];
    const wanted = [
      { table: "goals", key: "g1", set: { status: "done", seq: 7 } },
      { table: "notes", key: "n1", set: { seq: 4 } },
      { table: "plans", key: "plan", set: { version: 2, seq: 6 } },
    ];
    expect(asStored(rowsOf(...steps))).toEqual(wanted);
    expect(asStored(rowsOf(...steps.map(skeletonOf)))).toEqual(wanted);
  });

  test("of records that only bear the plan's name: none", () => {
    const record = (kind: string, data: unknown): Event => ({
      type: "ExtensionRecorded",
      extension: "plan",
      kind,
      v: 9,
      data,
    });
    const odd = [null, 7, [], {}, { id: 1, status: "open" }, { id: "g" }, { version: "two" }, { version: 0.5 }];
    expect(odd.flatMap((data) => rowsOf(record("plan", data), record("goal", data), record("other", data)))).toEqual(
      [],
    );
    expect(rowsOf({ type: "ExtensionRecorded", extension: "mine", kind: "note", v: 1, data: { id: "n1" } })).toEqual(
      [],
    );
  });

  test("of collaborators", () => {
    const change = (what: "add" | "remove") => core("collaborator", { principal: "a:1", change: what, by: OWNER });
    expect(rowsOf(change("add"), change("remove"))).toEqual([
      { table: "collaborators", key: "a:1", set: { seq: 2, by: OWNER } },
      { table: "collaborators", key: "a:1", set: null },
    ]);
  });

  test("hold the columns that their table declares, of its types", () => {
    fc.assert(
      fc.property(anyCourse, (course) => {
        for (const { table, set } of follow(course).rows) {
          const columns: Readonly<Record<string, string>> = projections[table];
          for (const [name, value] of Object.entries(set ?? {})) {
            const wanted = columns[name] === "text" ? "string" : "number";
            expect([wanted, "object"], `${table}.${name}`).toContain(typeof value);
            expect(columns[name], `${table}.${name}`).toBeDefined();
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("columns", () => {
  test("of a new task", () => {
    const origin = { frontEnd: "cli", place: "here", conversation: "one", private: true };
    expect(columnsAfter(created())).toEqual({
      agent: "demo",
      owner: OWNER,
      origin,
      parent: null,
      root: TASK,
      mode: "conversation",
      historyFrom: null,
      status: "ready",
      waitingOn: null,
      outcome: null,
      reason: null,
      requires: ["agent:demo"],
      queue: "default",
      priority: 0,
    });
  });

  test("what a worker must offer: the agent, the plugins, the workspace's host; sorted", () => {
    const workspace = { host: "h1", path: "/w" };
    const pins = ["web", "fs"].map((name) => ({ name, version: "1", source: "s" }));
    const first = created({
      settings: { workspace, queue: "slow", priority: 3 },
      parent: { taskId: "p", callId: "c" },
    });
    expect(columnsAfter(first, core("plugins", { pins, tools: [] }))).toMatchObject({
      requires: ["agent:demo", "host:h1", "plugin:fs", "plugin:web"],
      queue: "slow",
      priority: 3,
      parent: "p",
    });
  });

  test("the status: running from the first input to the next wait, also where only an item is to be served", () => {
    expect(columnsAfter(created(), toolsKnown())).toMatchObject({ status: "ready" });
    expect(columnsAfter(created(), ...asked)).toMatchObject({ status: "running", waitingOn: null });
    const over = [created(), ...asked, replied("yes"), waiting("input", { outcome: "completed", reason: "r" })];
    expect(columnsAfter(...over)).toMatchObject({
      status: "waiting",
      waitingOn: "input",
      outcome: "completed",
      reason: "r",
    });
    expect(columnsAfter(...over, taken(item("Close", {})))).toMatchObject({
      status: "running",
      waitingOn: null,
      outcome: null,
    });
    expect(columnsAfter(created(), taken(item("Signal", { name: "n" })))).toMatchObject({ status: "running" });
    expect(columnsAfter(...over, ended({ outcome: "failed", reason: "why" }))).toMatchObject({
      status: "ended",
      waitingOn: null,
      outcome: "failed",
      reason: "why",
    });
  });
});

test("columns that are as they were are not written again", () => {
  const before = columnsAfter(created());
  const after = columnsAfter(created(), taken(say("hi")));
  expect(changedColumns(undefined, after)).toEqual(after);
  expect(changedColumns(before, before)).toEqual({});
  expect(changedColumns(before, after)).toEqual({ status: "running" });
});

describe("merged rows", () => {
  const row = (set: Row["set"], key = "k"): Row => ({ table: "actions", key, set });

  test("later values win, earlier columns stay, in the order of first appearance", () => {
    expect(mergeRows([row({ a: 1, b: 1 }), row({ x: 1 }, "other"), row({ b: 2, c: 2 })])).toEqual([
      row({ a: 1, b: 2, c: 2 }),
      row({ x: 1 }, "other"),
    ]);
  });

  test("a removal removes all, and what follows it begins anew", () => {
    expect(mergeRows([row({ a: 1 }), row(null)])).toEqual([row(null)]);
    expect(mergeRows([row({ a: 1 }), row(null), row({ b: 2 })])).toEqual([row({ b: 2 })]);
  });

  test("come back by table and key, whole, without those that are gone", () => {
    const goal = (key: string): Row => ({ table: "goals", key, set: { status: "open", seq: 1 } });
    const note = (key: string): Row => ({ table: "notes", key, set: { seq: 1 } });
    const gone: Row = { ...goal("c"), set: null };
    expect(asStored([note("a"), goal("b"), note("b"), goal("c"), goal("a"), gone])).toEqual([
      goal("a"),
      goal("b"),
      note("a"),
      note("b"),
    ]);
  });

  test("rows of one key in two tables are two rows", () => {
    expect(mergeRows([row({ a: 1 }), { table: "timers", key: "k", set: null }])).toHaveLength(2);
  });
});

test("rows written in any batches are those made again from the log", () => {
  /** A table as a store keeps it: absent columns stay as they are. */
  const written = (batches: readonly (readonly Row[])[]): Map<string, Row["set"]> => {
    const stored = new Map<string, Row["set"]>();
    for (const batch of batches) {
      for (const { table, key, set } of mergeRows(batch)) {
        const name = `${table} ${key}`;
        if (set === null) stored.delete(name);
        else stored.set(name, { ...stored.get(name), ...set });
      }
    }
    return stored;
  };
  fc.assert(
    fc.property(anyCourse, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (course, sizes) => {
      const { log, rows, state } = follow(course);
      const batches: Row[][] = [];
      for (let from = 0; from < rows.length; from += batches.at(-1)?.length ?? 1) {
        batches.push(rows.slice(from, from + (sizes[batches.length % sizes.length] ?? 1)));
      }
      const again = projected(log);
      expect(written(batches)).toEqual(written([again.rows]));
      expect(columnsOf(again.state)).toEqual(columnsOf(state));
    }),
    { numRuns: 100 },
  );
});
