// Several processes on one SQLite file: beside each other, against each other, killed.
import { spawn } from "node:child_process";
import { chmodSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkLog } from "../../src/core/check-log.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { Claim, Store } from "../../src/store/store.ts";
import { claimLog, claiming, createLog, temporaryFolder } from "./log-writer.ts";

/** Of the claims that jobs make. */
const LEASE_MS = 1_000;
const script = fileURLToPath(new URL("./job.ts", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly lines: readonly string[];
}

interface Job {
  /** Resolves once the process is there; nothing was done yet. */
  readonly there: Promise<void>;
  go(): void;
  readonly ended: Promise<Ended>;
}

type OnLine = (lines: readonly string[], kill: () => void) => void;

/** Starts a process with a job. `onLine` may kill it. */
const prepare = (args: readonly string[], user: { uid?: number; gid?: number } = {}, onLine?: OnLine): Job => {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["pipe", "pipe", "inherit"], ...user });
  const lines: string[] = [];
  const there = Promise.withResolvers<undefined>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line === "there") return there.resolve(undefined);
    lines.push(line);
    onLine?.(lines, () => child.kill("SIGKILL"));
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, lines }));
  });
  return { there: there.promise, go: () => void child.stdin.write("go\n"), ended };
};

/** Runs jobs that begin at once, however long their processes take to start. */
const together = async (...jobs: readonly Job[]): Promise<Ended[]> => {
  await Promise.all(jobs.map((job) => Promise.race([job.there, job.ended])));
  for (const job of jobs) job.go();
  return Promise.all(jobs.map((job) => job.ended));
};

const run = async (args: readonly string[], onLine?: OnLine): Promise<Ended> => {
  const [ended] = await together(prepare(args, {}, onLine));
  if (ended === undefined) throw new Error("one job has one end");
  return ended;
};

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
let stores: Store[];
beforeEach(() => {
  folder = temporaryFolder();
  path = folder.path("tasks.db");
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  folder[Symbol.dispose]();
});

const open = async (): Promise<Store> => {
  const store = await openSqliteStore({ path });
  stores.push(store);
  return store;
};

const faultsOf = async (store: Store, taskId: string) => {
  const [entries, redactions, row] = [
    await store.read({ taskId }),
    await store.readRedactions({ taskId }),
    await store.getTask({ taskId }),
  ];
  if (row === null) throw new Error(`no task ${taskId}`);
  return checkLog({ taskId, entries, redactions, row, hasher: nodeHasher });
};

/** To start eight processes takes its time on a busy machine. */
const MANY_PROCESSES = { timeout: 240_000 };

describe("processes beside each other", MANY_PROCESSES, () => {
  it("case-37: all of eight that make the file and write to it at once are served", async () => {
    const jobs = Array.from({ length: 8 }, () => prepare(["write", path, "60", String(LEASE_MS)]));
    const ended = await together(...jobs);
    expect(ended.filter(({ code }) => code !== 0)).toEqual([]);
    const store = await open();
    for (const { lines } of ended) {
      const [taskId = "", ...acknowledged] = lines;
      expect(await store.getTask({ taskId })).toMatchObject({ lastSeq: Number(acknowledged.at(-1)) });
      expect(await faultsOf(store, taskId)).toEqual([]);
    }
    expect(await store.check()).toEqual([]);
  });

  it("case-17: three that write to one log never fork it", async () => {
    const store = await open();
    const log = await createLog(store);
    const { fence } = await claimLog(store, log);
    const jobs = [1, 2, 3].map(() => prepare(["compete", path, log.taskId, String(fence), "25"]));
    expect((await together(...jobs)).map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(await store.getTask({ taskId: log.taskId })).toMatchObject({ lastSeq: 76 });
    expect(await faultsOf(store, log.taskId)).toEqual([]);
  });

  it("case-18: each of many tasks is claimed by one of four that claim at once", async () => {
    const store = await open();
    const made = new Set<string>();
    for (let index = 0; index < 40; index += 1) made.add((await createLog(store)).taskId);
    const ended = await together(...[1, 2, 3, 4].map(() => prepare(["claimAll", path])));
    const claimed = ended.flatMap(({ lines }) => lines);
    expect(claimed).toHaveLength(40);
    expect(new Set(claimed)).toEqual(made);
  });

  it("hear of what another process posts", async () => {
    const store = await open();
    const log = await createLog(store);
    const hinted = new Promise<void>((resolve) => {
      store.subscribe(() => resolve());
    });
    expect(await run(["post", path, log.taskId])).toMatchObject({ code: 0 });
    await hinted;
    expect(await store.claim(claiming())).toMatchObject({ inbox: [{ seq: 1 }] });
  });
});

describe("a process that is killed", () => {
  it("leaves everything that it was told was written, and a log that goes on", async () => {
    const { lines } = await run(["write", path, "1000000", String(LEASE_MS)], (told, kill) => {
      if (told.length > 30) kill();
    });
    const [taskId = "", ...acknowledged] = lines;
    const store = await open();
    const row = await store.getTask({ taskId });
    expect(row?.lastSeq).toBeGreaterThanOrEqual(Number(acknowledged.at(-1)));
    expect(await faultsOf(store, taskId)).toEqual([]);
    expect(await store.check()).toEqual([]);
  });

  it("case-19: loses its claim once the lease has run out, and no sooner", async () => {
    const ended = await run(["write", path, "1000000", String(LEASE_MS)], (told, kill) => {
      if (told.length > 5) kill();
    });
    const taskId = ended.lines[0] ?? "";
    const store = await open();
    let claim: Claim | null = null;
    while (claim === null) claim = await store.claim(claiming({ worker: "w2" }));
    expect(claim).toMatchObject({ taskId, attempts: 2 });
    const { createdAt } = (await store.getTask({ taskId })) ?? { createdAt: Infinity };
    const leaseEndedAt = claim.previousEndedAt ?? -Infinity;
    expect(leaseEndedAt - createdAt).toBeGreaterThanOrEqual(LEASE_MS);
    expect(claim.now).toBeGreaterThanOrEqual(leaseEndedAt);
  });

  it("leaves nothing of what it had not committed", async () => {
    const store = await open();
    const log = await createLog(store);
    await run(["changeAndDie", path]);
    expect(await store.read({ taskId: log.taskId })).toHaveLength(1);
    expect(await store.check()).toEqual([]);
    expect(await createLog(store)).toMatchObject({ seq: 1 });
  });

  const steps = [
    ...["file", "mark", "settings", "within the first migration", "the first migration"],
    "within the second migration",
  ];
  it.each(steps)("case-40: while it makes the database, leaves one that the next finishes: %s", async (step) => {
    expect(await run(["makeAndDie", path, step])).toEqual({ code: null, lines: [] });
    const store = await open();
    expect(await createLog(store)).toMatchObject({ seq: 1 });
    expect(await store.check()).toEqual([]);
    const fresh = await openSqliteStore({ path: folder.path("fresh.db") });
    stores.push(fresh);
    const schemaOf = (name: string): unknown => {
      const database = new DatabaseSync(folder.path(name), { readOnly: true });
      const schema = database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();
      database.close();
      return schema;
    };
    expect(schemaOf("tasks.db")).toEqual(schemaOf("fresh.db"));
  });
});

describe("a file that may only be read", () => {
  /** Nobody: a user whom the file's mode binds. */
  const OTHER = 65_534;

  it("is refused with one line that says so, and left as it was", async (context) => {
    const store = await openSqliteStore({ path });
    await store.close();
    chmodSync(path, 0o444);
    if (process.getuid === undefined) return context.skip("this system has no modes");
    const user = process.getuid() === 0 ? { uid: OTHER, gid: OTHER } : {};
    chmodSync(folder.path("."), 0o755);
    const before = statSync(path).mtimeMs;
    const told = `unavailable: ${path} is read-only here; perdure needs to write to it`;
    expect(await together(prepare(["open", path], user))).toEqual([{ code: 1, lines: [told] }]);
    expect(statSync(path).mtimeMs).toBe(before);
  });
});
