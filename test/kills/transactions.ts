// Kills a process before each statement of a job in turn, and looks at what it left with a process that lives.
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { fileURLToPath } from "node:url";
import { checkLog } from "../../src/store/check-log.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import type { Store } from "../../src/store/store.ts";
import { createLog, temporaryFolder } from "../sqlite/log-writer.ts";
import { contentsOf, jobOf, openStill, prepare, schemaOf, type JobName } from "./transaction-jobs.ts";

/** Later by more than a lease: whatever a dead process held is free. */
const LATER_MS = 60_000;

const script = fileURLToPath(new URL("./transaction-process.ts", import.meta.url));
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/node-compile", import.meta.url));

/** Killed, or what the process said at its end. */
const runProcess = (args: readonly string[]): Promise<"killed" | number> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (signal === "SIGKILL") resolve("killed");
      else if (code === 0) resolve(Number(said));
      else reject(new Error(`${args.join(" ")} ended with ${String(code ?? signal)}`));
    });
  });

/** The log of every task and the store's own consistency. */
const faultsOf = async (store: Store): Promise<string[]> => {
  const faults = (await store.check()).map(({ what }) => what);
  for (const row of await store.listTasks({ limit: 100 })) {
    const { taskId } = row;
    const [entries, redactions] = [await store.read({ taskId }), await store.readRedactions({ taskId })];
    faults.push(...checkLog({ taskId, entries, redactions, row, hasher: nodeHasher }).map(({ what }) => what));
  }
  return faults;
};

export interface Sweep {
  /** How many times a process was killed. */
  readonly kills: number;
  /** Of those, how often everything was there afterwards, and how often nothing. */
  readonly all: number;
  readonly nothing: number;
  readonly faults: readonly string[];
}

const files = ["", "-wal"];
const copy = (from: string, to: string): void => {
  for (const suffix of [...files, "-shm"]) rmSync(`${to}${suffix}`, { force: true });
  for (const suffix of files) if (existsSync(`${from}${suffix}`)) copyFileSync(`${from}${suffix}`, `${to}${suffix}`);
};

/** Which statements: each, or each `stride`-th from a random one on, and always the last two. */
const numbersOf = (count: number, stride: number): number[] => {
  const first = Math.floor(Math.random() * stride);
  return Array.from({ length: count }, (_, index) => index + 1).filter(
    (n) => (n + first) % stride === 0 || n > count - 2,
  );
};

/** Two at a time. */
const inPairs = async (numbers: number[], each: (n: number) => Promise<void>): Promise<void> => {
  const lane = async (): Promise<void> => {
    for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) await each(n);
  };
  await Promise.all([lane(), lane()]);
};

const kill = async (args: readonly string[]): Promise<void> => {
  if ((await runProcess(args)) !== "killed") throw new Error(`${args.join(" ")} was not killed`);
};

const holds = (path: string, words: string): boolean =>
  files.some((suffix) => existsSync(`${path}${suffix}`) && readFileSync(`${path}${suffix}`, "latin1").includes(words));

/** What a job leaves that nobody disturbs, begun as late as one that is begun again after a kill. */
const lateContents = async (name: JobName, origin: string, path: string): Promise<string> => {
  copy(origin, path);
  const store = await openStill(path, LATER_MS);
  await jobOf(name).run(store);
  await store.close();
  return contentsOf(path);
};

/** Kills a job on a prepared database before each of its statements, or each `stride`-th. */
export const sweepJob = async (name: JobName, stride = 1): Promise<Sweep> => {
  using folder = temporaryFolder();
  const origin = folder.path("origin.db");
  await prepare(origin);
  const job = jobOf(name);
  const whole = folder.path("whole.db");
  copy(origin, whole);
  const statements = Number(await runProcess([name, whole, "0"]));
  const [before, after, late] = [
    contentsOf(origin),
    contentsOf(whole),
    await lateContents(name, origin, folder.path("late.db")),
  ];
  const faults = before === after ? ["it changes nothing"] : [];
  const seen = { kills: 0, all: 0, nothing: 0 };
  await inPairs(numbersOf(statements, stride), async (n) => {
    const path = folder.path(`${String(n)}.db`);
    const told = (when: string, what: string): void => void faults.push(`${when} statement ${String(n)}: ${what}`);
    copy(origin, path);
    await kill([name, path, String(n)]);
    seen.kills += 1;
    const left = contentsOf(path);
    if (left === after) seen.all += 1;
    else if (left === before) seen.nothing += 1;
    else if (job.one) told("killed before", "neither all nor nothing is there");
    const store = await openStill(path, LATER_MS);
    for (const what of await faultsOf(store)) told("killed before", what);
    if (left !== after) await job.run(store);
    for (const what of await faultsOf(store)) told("gone on after", what);
    await store.close();
    if (job.gone !== undefined && holds(path, job.gone)) told("gone on after", `a file still holds ${job.gone}`);
    if (left === before && contentsOf(path) !== late) told("gone on after", "it is not what it would have been");
  });
  return { ...seen, faults };
};

/** The same while a process makes a database with every migration. `every`: at each question of SQLite's too. */
export const sweepMaking = async (stride = 1, every: "" | "every" = ""): Promise<Sweep> => {
  using folder = temporaryFolder();
  const fresh = folder.path("fresh.db");
  const statements = Number(await runProcess(["making", fresh, "0", every]));
  const schema = schemaOf(fresh);
  const faults: string[] = [];
  const seen = { kills: 0, all: 0, nothing: 0 };
  await inPairs(numbersOf(statements, stride), async (n) => {
    const path = folder.path(`${String(n)}.db`);
    await kill(["making", path, String(n), every]);
    seen.kills += 1;
    const left = schemaOf(path);
    if (isDeepStrictEqual(left, schema)) seen.all += 1;
    else if (left.length === 1) seen.nothing += 1;
    const store = await openStill(path, LATER_MS);
    await createLog(store);
    faults.push(...(await faultsOf(store)).map((what) => `gone on after statement ${String(n)}: ${what}`));
    await store.close();
    if (!isDeepStrictEqual(schemaOf(path), schema)) faults.push(`gone on after ${String(n)}: it has another schema`);
  });
  return { ...seen, faults };
};

/** One line for a person. */
export const toldOf = (name: string, { kills, all, nothing, faults }: Sweep): string =>
  `${name}: killed at ${String(kills)} statements; all was there ${String(all)} times, ` +
  `nothing ${String(nothing)} times, faults ${String(faults.length)}`;
