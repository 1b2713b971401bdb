// A worker that meets a fault of its SQLite file in the middle of a task: nothing of what was acknowledged is lost, who
// asks is told so with a code, and the task goes on when the fault is over.
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createTask } from "../../src/client/create-task.ts";
import { openConnection } from "../../src/store/sqlite/open-connection.ts";
import { openSqliteStore, storeOver, type SqliteOptions } from "../../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";
import { randomSecret } from "../sqlite/log-writer.ts";
import { AGENT, MODEL, readEffects } from "./counting-agent.ts";
import { Program, type ProgramOptions } from "./in-process.ts";
import { clientOf } from "./person.ts";
import { WorkerHandle } from "./worker-handle.ts";

const PAGE = 8_192;
/** A claim that lasts: what is under test is not a takeover. */
const LONG = { leaseMs: 60_000 };
const say = { type: "Say", text: "And once more." } as const;

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-faults-"));
  path = join(folder, "tasks.db");
  const gone = folder;
  // What a test registers later is done earlier.
  onTestFinished(() => rmSync(gone, { recursive: true, force: true }));
});

const open = async (options: Partial<SqliteOptions> = {}): Promise<Store> => {
  const store = await openSqliteStore({ path, ...options });
  onTestFinished(() => store.close());
  return store;
};

const program = async (options: Omit<ProgramOptions, "effects">): Promise<Program> => {
  const made = new Program({ effects: join(folder, "effects"), ...options });
  await made.start();
  // The worker stops before its store closes: what was begun last is finished first.
  onTestFinished(() => made.stop());
  return made;
};

/** Another process, which has what it holds until it is let go of. Gives whether it read the same to its end. */
const another = async (how: "write" | "read"): Promise<{ letGo(): Promise<boolean> }> => {
  const child = fork(fileURLToPath(new URL("./lock-process.ts", import.meta.url)), [path, how]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  return {
    letGo: async () => {
      const [answered, exited] = [once(child, "message"), once(child, "exit")];
      child.send("let go");
      const [{ same }] = (await answered) as [{ same: boolean }];
      await exited;
      return same;
    },
  };
};

const unavailable = (message: RegExp): unknown =>
  expect.objectContaining({ code: "unavailable", message: expect.stringMatching(message) });

/** A front end's post and creation are refused, and leave nothing. */
const expectRefused = async (store: Store, taskId: string, told: RegExp): Promise<void> => {
  const client = clientOf(store);
  const item = { type: "Say", text: "x".repeat(100_000) } as const;
  await expect(store.post({ taskId, by: client.principal, key: "refused", item })).rejects.toEqual(unavailable(told));
  const request = { agent: AGENT, settings: { model: MODEL }, objective: "x".repeat(100_000) };
  const more = { mode: "conversation", onInterrupt: "continue", taskId: "refused" } as const;
  await expect(createTask(client, { ...request, ...more })).rejects.toEqual(unavailable(told));
};

/** The task came to its end under its one claim, and nothing is wrong anywhere. */
const expectWhole = async (running: Program, store: Store, taskId: string, fence = 1): Promise<void> => {
  expect(await running.rest(taskId)).toMatchObject({ outcome: "completed", waitingOn: "input", fence });
  expect(await running.faults()).toEqual([]);
  expect(await store.getTask({ taskId: "refused" })).toBeNull();
  expect(readEffects(join(folder, "effects")).filter(({ tool }) => tool === "send")).toHaveLength(2);
};

describe("a file that another process keeps locked", () => {
  it("holds a result up, bounds who posts, and lets the task go on where it was", async () => {
    const store = await open({ busyMs: 100 });
    const running = await program({ store, limits: LONG });
    const gate = running.hold("send");
    const taskId = await running.create();
    await gate.reached;
    const other = await another("write");
    gate.open();
    await running.refused(/^unavailable: .*another process has had it locked for 100 ms/);
    await expectRefused(store, taskId, /another process has had it locked for 100 ms/);
    await other.letGo();
    await expectWhole(running, store, taskId);
  });

  it("for longer than a worker waits: the write is unknown, and a person settles it", async () => {
    const store = await open({ busyMs: 50 });
    const running = await program({ store, limits: { leaseMs: 500, storeRetryMs: 200 } });
    const gate = running.hold("send");
    const taskId = await running.create();
    await gate.reached;
    const other = await another("write");
    gate.open();
    // It gives the task up, and says why.
    await running.noted(/another process has had it locked/);
    await other.letGo();
    const row = await running.rest(taskId);
    expect(row).toMatchObject({ waitingOn: "resolution", outcome: "paused" });
    const [action] = await store.readRows({ taskId, table: "actions" });
    expect(action).toMatchObject({ set: { status: "unknown" } });
    await running.post(taskId, { type: "Resolve", callId: action?.key ?? "", outcome: "done", verification: "looked" });
    if ((await running.rest(taskId)).waitingOn === "resume") await running.post(taskId, { type: "Resume" });
    expect(await running.rest(taskId)).toMatchObject({ outcome: "completed" });
    expect(await running.faults()).toEqual([]);
  });
});

describe("a file that is full", () => {
  it("by its own limit: a reply is kept until there is room, and not asked for again", async () => {
    const connection = await openConnection({ path });
    const store = storeOver(connection);
    onTestFinished(() => store.close());
    const running = await program({ store, limits: LONG, words: "x".repeat(200_000) });
    const gate = running.hold("pay");
    const taskId = await running.create();
    await gate.reached;
    const pages = connection.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
    connection.get(`PRAGMA max_page_count = ${String(pages + 6)}`);
    gate.open();
    await running.refused(/^unavailable: .*it is full/);
    await expectRefused(store, taskId, /it is full/);
    connection.get("PRAGMA max_page_count = 1000000");
    await expectWhole(running, store, taskId);
    const called = (await store.read({ taskId })).filter(({ type }) => type === "ModelCalled");
    expect(called).toHaveLength(4);
  });

  it("because its disk of 1 MB is: the task goes on when there is space again", async (context) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", disk], { encoding: "utf8" });
    context.skip(mounted.status !== 0, `no small disk can be mounted here: ${mounted.stderr || String(mounted.error)}`);
    onTestFinished(() => void spawnSync("umount", ["-l", disk]));
    path = join(disk, "tasks.db");
    const store = await open();
    const running = await program({ store, limits: LONG, words: "x".repeat(400_000) });
    const taskId = await running.create();
    await running.refused(/^unavailable: .*it is full/);
    await expectRefused(store, taskId, /it is full/);
    // What is there can be read meanwhile, and is whole.
    expect(await store.getTask({ taskId })).toMatchObject({ status: "running" });
    expect(await store.check()).toEqual([]);
    spawnSync("mount", ["-o", "remount,size=64m", disk]);
    await expectWhole(running, store, taskId);
  });
});

describe("a file that may only be read", () => {
  it("from the middle of a task on: the result is kept until it may be written", async () => {
    const connection = await openConnection({ path });
    const store = storeOver(connection);
    onTestFinished(() => store.close());
    const running = await program({ store, limits: LONG });
    const gate = running.hold("send");
    const taskId = await running.create();
    await gate.reached;
    connection.get("PRAGMA query_only = 1");
    gate.open();
    await running.refused(/^unavailable: .*it is read-only/);
    await expectRefused(store, taskId, /it is read-only/);
    connection.get("PRAGMA query_only = 0");
    await expectWhole(running, store, taskId);
  });

  /** Takes the right to write away, from the superuser too. Gives how to give it back, or why that is not possible. */
  const protect = (target: string, mode: number): (() => void) | string => {
    if (process.getuid?.() !== 0) {
      const { mode: before } = statSync(target);
      chmodSync(target, mode);
      return () => chmodSync(target, before);
    }
    const made = spawnSync("chattr", ["+i", target], { encoding: "utf8" });
    if (made.status !== 0) return `the superuser may write here all the same: ${made.stderr || String(made.error)}`;
    return () => void spawnSync("chattr", ["-i", target]);
  };

  const places = [
    { what: "the file", target: () => path, mode: 0o444, told: /is read-only here/ },
    { what: "its folder", target: () => folder, mode: 0o555, told: /cannot be opened|read-only/ },
  ];
  it.for(places)("between two workers, $what: the second is refused, and a third goes on", async (place, context) => {
    const first = await openSqliteStore({ path });
    const begun = await program({ store: first, limits: LONG });
    const gate = begun.hold("send");
    const taskId = await begun.create();
    await gate.reached;
    const stopped = begun.stop();
    gate.open();
    await stopped;
    await first.close();
    const bytes = readFileSync(path);
    const giveBack = protect(place.target(), place.mode);
    if (typeof giveBack === "string") return context.skip(giveBack);
    try {
      await expect(openSqliteStore({ path })).rejects.toEqual(unavailable(place.told));
      expect(readFileSync(path).equals(bytes)).toBe(true);
    } finally {
      giveBack();
    }
    const store = await open();
    const running = await program({ store, limits: LONG });
    running.accepted.set(taskId, [1]);
    await expectWhole(running, store, taskId, 2);
  });
});

it("a log of changes that a long reader pins grows, and holds nothing up; a redaction is cut out after", async () => {
  const store = await open();
  const running = await program({ store, limits: LONG });
  const taskId = await running.create();
  await running.rest(taskId);
  await running.post(taskId, { type: "Say", text: "the-words-to-forget" });
  await running.rest(taskId);
  const said = (await store.read({ taskId })).find(({ body }) => body.includes("the-words-to-forget"));
  const other = await another("read");
  for (let round = 0; round < 5; round += 1) {
    await running.post(taskId, { type: "Say", text: "x".repeat(1_000_000) });
    await running.rest(taskId);
  }
  await store.redact({ taskId, seqs: [said?.seq ?? 0], secret: randomSecret() });
  // Far beyond where SQLite would begin it anew.
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(1_000 * PAGE);
  expect(readFileSync(`${path}-wal`, "latin1") + readFileSync(path, "latin1")).toContain("the-words-to-forget");
  expect(await other.letGo()).toBe(true);
  await running.post(taskId, say);
  expect(await running.rest(taskId)).toMatchObject({ outcome: "completed", fence: expect.any(Number) });
  expect(await running.faults()).toEqual([]);
  await running.stop();
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
  expect(readFileSync(path, "latin1")).not.toContain("the-words-to-forget");
});

describe("a file that is damaged", () => {
  it("in one task's pages: that task is told to be damaged, the others are worked, and mended it goes on", async () => {
    const made = await openSqliteStore({ path });
    const maker = await program({ store: made, words: `broken-${"x".repeat(40_000)}` });
    const broken = await maker.create();
    await maker.rest(broken);
    await maker.stop();
    const other = await program({ store: made });
    const whole = await other.create();
    await other.rest(whole);
    await other.stop();
    await made.close();
    const before = readFileSync(path);
    const page = Math.floor((before.indexOf("broken-xxx") + PAGE) / PAGE);
    const bytes = Buffer.from(before);
    bytes.fill(0xff, page * PAGE, (page + 1) * PAGE);
    writeFileSync(path, bytes);

    const store = await openSqliteStore({ path });
    const running = await program({ store, limits: { leaseMs: 500 } });
    for (const taskId of [broken, whole]) {
      running.accepted.set(taskId, [1]);
      running.accepted.get(taskId)?.push((await store.post({ taskId, by: "person:ada", key: "more", item: say })).seq);
    }
    await running.noted(/the file is damaged/);
    expect(await running.rest(whole)).toMatchObject({ outcome: "completed" });
    await expect(store.read({ taskId: broken })).rejects.toMatchObject({ code: "damaged" });
    expect(await store.check()).not.toEqual([]);
    await running.stop();
    await store.close();

    // The one page comes back, as from a copy of it.
    const now = readFileSync(path);
    before.copy(now, page * PAGE, page * PAGE, (page + 1) * PAGE);
    writeFileSync(path, now);
    const mended = await open();
    const last = await program({ store: mended, limits: { leaseMs: 500 } });
    for (const [taskId, seqs] of running.accepted) last.accepted.set(taskId, seqs);
    expect(await last.rest(broken)).toMatchObject({ outcome: "completed", waitingOn: "input" });
    expect(await last.faults()).toEqual([]);
  });

  it("because it was cut: no worker works it, and put back whole, the task goes on", async () => {
    const worker = new WorkerHandle(folder, { leaseMs: 500, at: { point: "after effect", n: 1, signal: "SIGKILL" } });
    await worker.until((told) => told.ready === true);
    const front = await openSqliteStore({ path });
    const taskId = await new Program({ store: front, effects: join(folder, "effects") }).create();
    await worker.exited;
    await front.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, PAGE * 3 + 100));
    const second = new WorkerHandle(folder, { leaseMs: 500 });
    expect((await second.exited).code).toBe(1);
    expect(second.told).toEqual([{ closed: "damaged" }]);
    await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: "damaged" });
    expect(readFileSync(path)).toHaveLength(PAGE * 3 + 100);
    writeFileSync(path, bytes);
    const store = await open();
    const running = await program({ store, limits: { leaseMs: 500 } });
    running.accepted.set(taskId, [1]);
    const row = await running.rest(taskId);
    expect(row.waitingOn).toBe("resolution");
    const unknown = (await store.readRows({ taskId, table: "actions" })).find(
      ({ set }) => set?.["status"] === "unknown",
    );
    const callId = unknown?.key ?? "";
    await running.post(taskId, { type: "Resolve", callId, outcome: "done", verification: "looked" });
    if ((await running.rest(taskId)).waitingOn === "resume") await running.post(taskId, { type: "Resume" });
    await expectWhole(running, store, taskId, (await running.rest(taskId)).fence);
  });

  it("because its log of changes was cut at any byte: whole commits are there, and the task goes on", async () => {
    const worker = new WorkerHandle(folder, { leaseMs: 500, at: { point: "before append", n: 6, signal: "SIGKILL" } });
    await worker.until((told) => told.ready === true);
    const front = await openSqliteStore({ path });
    const taskId = await new Program({ store: front, effects: join(folder, "effects") }).create();
    await worker.exited;
    const log = readFileSync(`${path}-wal`);
    const file = readFileSync(path);
    await front.close();
    const found = new Set<number>();
    for (let cut = 0; cut <= 24; cut += 1) {
      const copy = join(folder, `cut-${String(cut)}.db`);
      writeFileSync(copy, file);
      writeFileSync(`${copy}-wal`, log.subarray(0, Math.floor((log.length * cut) / 24)));
      const store = await openSqliteStore({ path: copy });
      expect(await store.check()).toEqual([]);
      const row = await store.getTask({ taskId });
      if (row !== null) expect(await store.read({ taskId })).toHaveLength(row.lastSeq);
      found.add(row?.lastSeq ?? 0);
      await store.close();
    }
    expect(found.size).toBeGreaterThan(3);
  });
});

describe("a clock that is an hour off", () => {
  const HOUR = 3_600_000;
  /** Enough for a turn to be under way when the clock jumps. */
  const SLOW = { leaseMs: 500, modelMs: 150 };

  const begin = async (...orders: readonly { readonly clockOffMs?: number }[]) => {
    const workers = orders.map((order) => new WorkerHandle(folder, { ...SLOW, ...order }));
    await Promise.all(workers.map((worker) => worker.until((told) => told.ready === true)));
    const store = await open();
    const front = new Program({ store, effects: join(folder, "effects") });
    const taskId = await front.create();
    const [first] = await Promise.race(
      workers.map(async (worker) => {
        await worker.until((told) => told.claimed !== undefined);
        return [worker] as const;
      }),
    );
    const second = workers.find((worker) => worker !== first);
    if (second === undefined) throw new Error("there are two workers");
    return { store, front, taskId, first, second };
  };

  const expectOrdered = async (store: Store, taskId: string): Promise<void> => {
    const times = (await store.read({ taskId })).map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  };

  it.each([HOUR, -HOUR])(
    "by %i ms, from the middle of a turn on: the claim is neither lost nor taken",
    async (jump) => {
      const { store, front, taskId, first, second } = await begin({}, {});
      first.setClock(jump);
      await first.until((told) => told.clock === jump);
      expect(await front.rest(taskId)).toMatchObject({ outcome: "completed", fence: 1 });
      expect(second.told.filter(({ claimed }) => claimed !== undefined)).toEqual([]);
      expect(first.told.flatMap(({ end }) => (end === undefined ? [] : [end]))).not.toContain("lost");
      await expectOrdered(store, taskId);
      expect(await front.faults()).toEqual([]);
    },
  );

  it.each([HOUR, -HOUR])("by %i ms in one of two, which is killed: the other takes over and goes on", async (off) => {
    const { store, front, taskId, first, second } = await begin({ clockOffMs: off }, { clockOffMs: 0 });
    first.signal("SIGKILL");
    await second.until(({ claimed }) => claimed !== undefined && claimed.attempts === 2);
    expect(await front.rest(taskId)).toMatchObject({ outcome: "completed", fence: 2 });
    await expectOrdered(store, taskId);
    expect(await front.faults()).toEqual([]);
  });
});
