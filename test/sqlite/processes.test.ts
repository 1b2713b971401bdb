// Several processes on one SQLite file: beside each other, against each other, killed.
import { spawn } from "node:child_process";
import { chmodSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkLog } from "../../src/store/check-log.ts";
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

/** Starts a job. `onLine` may end it. */
const start = (
  args: readonly string[],
  onLine?: (lines: readonly string[], kill: () => void) => void,
): Promise<Ended> => {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    onLine?.(lines, () => child.kill("SIGKILL"));
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, lines }));
  });
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

describe("processes beside each other", () => {
  it("case-37: all of eight that make the file and write to it at once are served", async () => {
    const jobs = Array.from({ length: 8 }, () => start(["write", path, "60", String(LEASE_MS)]));
    const ended = await Promise.all(jobs);
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
    const jobs = [1, 2, 3].map(() => start(["compete", path, log.taskId, String(fence), "25"]));
    expect((await Promise.all(jobs)).map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(await store.getTask({ taskId: log.taskId })).toMatchObject({ lastSeq: 76 });
    expect(await faultsOf(store, log.taskId)).toEqual([]);
  });

  it("case-18: each of many tasks is claimed by one of four that claim at once", async () => {
    const store = await open();
    const made = new Set<string>();
    for (let index = 0; index < 40; index += 1) made.add((await createLog(store)).taskId);
    const ended = await Promise.all([1, 2, 3, 4].map(() => start(["claimAll", path])));
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
    expect(await start(["post", path, log.taskId])).toMatchObject({ code: 0 });
    await hinted;
    expect(await store.claim(claiming())).toMatchObject({ inbox: [{ seq: 1 }] });
  });
});

describe("a process that is killed", () => {
  it("leaves everything that it was told was written, and a log that goes on", async () => {
    const { lines } = await start(["write", path, "1000000", String(LEASE_MS)], (told, kill) => {
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
    const ended = await start(["write", path, "1000000", String(LEASE_MS)], (told, kill) => {
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
    await start(["changeAndDie", path]);
    expect(await store.read({ taskId: log.taskId })).toHaveLength(1);
    expect(await store.check()).toEqual([]);
    expect(await createLog(store)).toMatchObject({ seq: 1 });
  });

  const steps = [
    ...["file", "mark", "settings", "within the first migration", "the first migration"],
    "within the second migration",
  ];
  it.each(steps)("case-40: while it makes the database, leaves one that the next finishes: %s", async (step) => {
    expect(await start(["makeAndDie", path, step])).toEqual({ code: null, lines: [] });
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
    const child = spawn(process.execPath, [script, "open", path], user);
    const told: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => told.push(part));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(Buffer.concat(told).toString()).toBe(
      `unavailable: ${path} is read-only here; perdure needs to write to it\n`,
    );
    expect(code).toBe(1);
    expect(statSync(path).mtimeMs).toBe(before);
  });
});
