// Kills a process in the middle of a job, at one place after the other, and looks at what it left with a process that lives.
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { fileURLToPath } from "node:url";
import { checkLog } from "../../src/core/check-log.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import type { Store } from "../../src/store/store.ts";
import { createLog, temporaryFolder } from "../sqlite/log-writer.ts";
import { contentsOf, jobOf, openStill, prepare, schemaOf, type Job, type JobName } from "./transaction-jobs.ts";

/** Later by more than a lease: whatever a dead process held is free. */
const LATER_MS = 60_000;

const script = fileURLToPath(new URL("./transaction-process.ts", import.meta.url));
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/node-compile", import.meta.url));

/** Killed, or what the process said at its end. `under`: a command that runs it. */
const runProcess = (args: readonly string[], under: readonly string[] = []): Promise<"killed" | number> =>
  new Promise((resolve, reject) => {
    const [command = "", ...rest] = [...under, process.execPath, script, ...args];
    const child = spawn(command, rest, {
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
const inPairs = async <T>(list: readonly T[], each: (one: T) => Promise<void>): Promise<void> => {
  const left = [...list];
  const lane = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await each(one);
  };
  await Promise.all([lane(), lane()]);
};

/** Where a process dies: before its n-th statement, or at its n-th call of the system that changes a file. */
interface Death {
  readonly told: string;
  readonly statement: number;
  readonly under: readonly string[];
}

const atStatements = (numbers: readonly number[]): Death[] =>
  numbers.map((statement) => ({ told: `statement ${String(statement)}`, statement, under: [] }));

/** SQLite's own; what Node itself writes, and when, differs from run to run. */
const writes = ["pwrite64", "pwrite", "fsync", "fdatasync", "ftruncate", "ftruncate64"];
const tracing = ["strace", "-f", "-qq", "-e", `trace=${writes.map((name) => `?${name}`).join(",")}`];

/** Null where processes can be traced here; else why not. */
export const whyNoTracing = (): string | null => {
  const { status, stderr, error } = spawnSync("strace", ["-qq", "-o", "/dev/null", "true"], { encoding: "utf8" });
  return status === 0 ? null : `no process can be traced here: ${stderr || String(error)}`;
};

/** Each call by which a whole run of the job changes a file, from the process' main thread. */
const atWrites = async (name: JobName | "making", path: string, trace: string): Promise<Death[]> => {
  await runProcess([name, path, "0"], [...tracing, "-o", trace]);
  const lines = readFileSync(trace, "utf8").split("\n");
  const [main = ""] = lines[0]?.split(" ") ?? [];
  const times = new Map<string, number>();
  return lines.flatMap((line) => {
    const call = /^(\d+) +([a-z0-9]+)\(/.exec(line);
    if (call?.[1] !== main || call[2] === undefined) return [];
    const n = (times.get(call[2]) ?? 0) + 1;
    times.set(call[2], n);
    const inject = `inject=${call[2]}:signal=SIGKILL:when=${String(n)}`;
    const told = `${call[2]} ${String(n)}`;
    return [{ told, statement: 0, under: [...tracing, "-o", "/dev/null", "-e", inject] }];
  });
};

const kill = async (args: readonly string[], under: readonly string[] = []): Promise<void> => {
  if ((await runProcess(args, under)) !== "killed") throw new Error(`${args.join(" ")} was not killed`);
};

/** At each statement, or each `stride`-th; or at each call of the system that changes a file. */
export type Where = { readonly stride: number } | "writes";

/** The places to die in, as a whole run of the job on `path` tells them. */
const deathsOf = async (name: JobName | "making", where: Where, path: string, trace: string): Promise<Death[]> =>
  where === "writes"
    ? atWrites(name, path, trace)
    : atStatements(numbersOf(Number(await runProcess([name, path, "0"])), where.stride));

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

/** What can be told of a database that a job was to change. */
interface Known {
  readonly job: Job;
  readonly before: string;
  readonly after: string;
  readonly late: string;
}

/** Looks at what a dead process left, and goes on with it. Gives what was there, and what is wrong. */
const goOn = async (path: string, { job, before, after, late }: Known): Promise<{ left: string; wrong: string[] }> => {
  const left = contentsOf(path);
  const wrong = job.one && left !== after && left !== before ? ["neither all nor nothing is there"] : [];
  const store = await openStill(path, LATER_MS);
  wrong.push(...(await faultsOf(store)));
  if (left !== after) await job.run(store);
  wrong.push(...(await faultsOf(store)).map((what) => `gone on: ${what}`));
  await store.close();
  if (job.gone !== undefined && holds(path, job.gone)) wrong.push(`gone on: a file still holds ${job.gone}`);
  if (left === before && contentsOf(path) !== late) wrong.push("gone on: it is not what it would have been");
  return { left, wrong };
};

/** Kills a job on a prepared database. */
export const sweepJob = async (name: JobName, where: Where): Promise<Sweep> => {
  using folder = temporaryFolder();
  const origin = folder.path("origin.db");
  await prepare(origin);
  const whole = folder.path("whole.db");
  copy(origin, whole);
  const deaths = await deathsOf(name, where, whole, folder.path("trace"));
  const late = await lateContents(name, origin, folder.path("late.db"));
  const known = { job: jobOf(name), before: contentsOf(origin), after: contentsOf(whole), late };
  const faults = known.before === known.after ? ["it changes nothing"] : [];
  const seen = { kills: 0, all: 0, nothing: 0 };
  await inPairs(deaths, async ({ told, statement, under }) => {
    const path = folder.path(`${told}.db`);
    copy(origin, path);
    await kill([name, path, String(statement)], under);
    seen.kills += 1;
    const { left, wrong } = await goOn(path, known);
    if (left === known.after) seen.all += 1;
    else if (left === known.before) seen.nothing += 1;
    faults.push(...wrong.map((what) => `killed at ${told}: ${what}`));
  });
  return { ...seen, faults };
};

/** The same while a process makes a database, with every migration. */
export const sweepMaking = async (where: Where): Promise<Sweep> => {
  using folder = temporaryFolder();
  const fresh = folder.path("fresh.db");
  const deaths = await deathsOf("making", where, fresh, folder.path("trace"));
  const schema = schemaOf(fresh);
  const faults: string[] = [];
  const seen = { kills: 0, all: 0, nothing: 0 };
  await inPairs(deaths, async ({ told, statement, under }) => {
    const path = folder.path(`${told}.db`);
    await kill(["making", path, String(statement)], under);
    seen.kills += 1;
    const left = existsSync(path) ? schemaOf(path) : [];
    if (isDeepStrictEqual(left, schema)) seen.all += 1;
    else if (left.length <= 1) seen.nothing += 1;
    const store = await openStill(path, LATER_MS);
    await createLog(store);
    faults.push(...(await faultsOf(store)).map((what) => `killed at ${told}: ${what}`));
    await store.close();
    if (!isDeepStrictEqual(schemaOf(path), schema)) faults.push(`killed at ${told}: it has another schema`);
  });
  return { ...seen, faults };
};

/** One line for a person. */
export const toldOf = (name: string, { kills, all, nothing, faults }: Sweep): string =>
  `${name}: killed at ${String(kills)} places; all was there ${String(all)} times, ` +
  `nothing ${String(nothing)} times, faults ${String(faults.length)}`;
