// The whole system on one Postgres: a process that asks, two that work, one of which is killed in the middle.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { checkLog } from "../../src/core/check-log.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { createPlace, lines } from "../cli/perdure.ts";
import { createDatabase } from "./database.ts";
import { CYCLES } from "./job-size.ts";

const script = fileURLToPath(new URL("./process.ts", import.meta.url));
const TASKS = 24;

interface Process {
  readonly lines: readonly string[];
  /** Resolves with the process's end. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Resolves once it has said so many lines that are `line`. */
  said(line: string, times?: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

const start = (...args: readonly string[]): Process => {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const looks = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    for (const look of looks) look();
  });
  const ended = new Promise<Awaited<Process["ended"]>>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal }));
  });
  return {
    lines,
    ended,
    said: (line, times = 1) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (lines.filter((each) => each === line).length >= times) resolve();
        };
        looks.add(look);
        look();
        void ended.then(() => reject(new Error(`it ended without saying ${line}`)));
      }),
    kill: (signal) => void child.kill(signal),
  };
};

test("tasks of one process are worked by two others, and outlive the one that is killed in their middle", async () => {
  await using database = await createDatabase();
  const { url } = database;
  const workers = [start("worker", url), start("worker", url)] as const;
  await Promise.all(workers.map((worker) => worker.said("ready")));
  const client = start("client", url, String(TASKS));
  // Each has begun, and has far more to do.
  await Promise.all(workers.map((worker) => worker.said("asked", 8)));
  workers[0].kill("SIGKILL");
  expect(await workers[0].ended).toEqual({ code: null, signal: "SIGKILL" });
  expect(await client.ended).toEqual({ code: 0, signal: null });
  workers[1].kill("SIGTERM");
  expect(await workers[1].ended).toEqual({ code: 0, signal: null });

  const store = await openPostgresStore({ url });
  const ids = client.lines.filter((line) => line !== "asked");
  expect(new Set(ids).size).toBe(TASKS);
  let takeovers = 0;
  for (const taskId of ids) {
    const [entries, row] = [await store.read({ taskId }), await store.getTask({ taskId })];
    if (row === null) throw new Error("a task is gone");
    expect(row).toMatchObject({ status: "waiting", outcome: "completed" });
    expect(checkLog({ taskId, entries, redactions: [], row, hasher: nodeHasher })).toEqual([]);
    const of = (type: string): unknown[] =>
      entries.filter((entry) => entry.type === type).map(({ body }) => JSON.parse(body) as unknown);
    // Each reply once and each call's result once, whoever worked: nothing lost, nothing twice.
    const texts = of("ModelReplied").map(
      (event) => (event as { message: { parts: { text?: string }[] } }).message.parts[0]?.text,
    );
    expect(texts).toEqual(Array.from({ length: CYCLES + 1 }, (_, n) => `reply ${String(n)}`));
    expect(of("ToolFinished")).toHaveLength(CYCLES);
    if (row.fence > 1) takeovers += 1;
  }
  expect(takeovers).toBeGreaterThan(0);
  expect(await store.check()).toEqual([]);
  await store.close();
});

test("the command line works on Postgres: run, say, log and check, from processes of their own", async () => {
  await using database = await createDatabase();
  const place = createPlace();
  const db = ["--db", database.url];
  place.write("replies.jsonl", lines({ text: "First." }, { text: "Second." }));
  const none = await place.perdure("tasks", ...db);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("has no tasks yet") });
  const ran = await place.perdure("run", "hello", "--model", "scripted:replies.jsonl", ...db);
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("First.") });
  // A command to go on with is printed, and never the password.
  expect(ran.stdout + ran.stderr).not.toContain(":perdure@");
  const listed = await place.perdure("tasks", "--json", ...db);
  const [{ taskId }] = JSON.parse(listed.stdout) as [{ taskId: string }];
  const said = await place.perdure("say", taskId, "and?", ...db);
  expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining("Second.") });
  const log = await place.perdure("log", taskId, ...db);
  expect(log.stdout).toContain("ModelReplied");
  expect(await place.perdure("check", ...db)).toMatchObject({ code: 0 });
});
