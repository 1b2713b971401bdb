// Runs seeds of the simulation: `npm run simulate -- --seeds 50000`, or one seed again: `npm run simulate -- --seed 7`.
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import {
  addMet,
  injected,
  notCovered,
  readCoverage,
  writeCoverage,
  type Coverage,
} from "../src/testing/simulation/coverage.ts";
import { runSeed } from "../src/testing/simulation/seed-run.ts";
import { shrink } from "../src/testing/simulation/shrink.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string" },
    jobs: { type: "string" },
    coverage: { type: "string", default: "coverage/simulation.json" },
    "leave-deeds": { type: "string" },
    "leave-faults": { type: "string" },
    first: { type: "boolean", default: false },
    "as-child": { type: "boolean", default: false },
  },
});

interface Share {
  readonly seeds: number;
  readonly failures: readonly number[];
  readonly met: Record<string, number>;
}

const numbers = (list: string | undefined): Set<number> => new Set((list ?? "").split(",").filter(Boolean).map(Number));

const showSeed = async (seed: number): Promise<void> => {
  const leave = { deeds: numbers(values["leave-deeds"]), faults: numbers(values["leave-faults"]) };
  const result = await runSeed(seed, leave);
  const faults = result.trace.filter(({ fault }) => fault !== null);
  console.log(result.log);
  for (const { n, actor, port, fault } of faults) console.log(`  ${String(n)} ${actor}: ${port} ${fault ?? ""}`);
  for (const note of result.notes) console.log(`  ${note}`);
  console.log(`seed ${String(seed)}, trace ${result.traceHash}: ${result.faults.join("; ") || "all promises kept"}`);
  if (result.faults.length > 0) process.exitCode = 1;
};

const runShare = async (from: number, count: number): Promise<Share> => {
  const failures: number[] = [];
  const met: Record<string, number> = {};
  for (let seed = from; seed < from + count; seed += 1) {
    const result = await runSeed(seed);
    addMet(met, result.met);
    if (result.faults.length > 0) failures.push(seed);
  }
  return { seeds: count, failures, met };
};

/** The first seed that fails and what it says; null when none does. A crash of the program itself counts. */
const findFirst = async (from: number, count: number): Promise<{ seed: number | null; says: string }> => {
  let current = from;
  const crashed = Promise.withResolvers<string>();
  process.on("uncaughtException", (error) => {
    crashed.resolve(String(error));
  });
  for (; current < from + count; current += 1) {
    const ran = runSeed(current).then(({ faults }) => faults[0] ?? null, String);
    const says = await Promise.race([ran, crashed.promise]);
    if (says !== null) return { seed: current, says: says.slice(0, 120) };
  }
  return { seed: null, says: "" };
};

const inChild = (from: number, count: number): Promise<Share> =>
  new Promise((resolve, reject) => {
    const args = ["--as-child", "--from", String(from), "--seeds", String(count)];
    const child = fork(import.meta.filename, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    let share: Share | undefined;
    child.on("message", (message) => {
      share = message as Share;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (share === undefined) reject(new Error(`the seeds from ${String(from)} ended with exit code ${String(code)}`));
      else resolve(share);
    });
  });

const report = async (failures: readonly number[]): Promise<void> => {
  for (const seed of failures.slice(0, 3)) {
    const { result, command } = await shrink(seed);
    console.log(`\nseed ${String(seed)} fails:\n  ${result.faults.join("\n  ")}\n${result.log}\n${command}`);
  }
};

const runMany = async (count: number): Promise<void> => {
  const coverage: Coverage = await readCoverage(values.coverage);
  const from = values.from === undefined ? coverage.seeds : Number(values.from);
  const jobs = Math.min(Number(values.jobs ?? availableParallelism()), count);
  const each = Math.ceil(count / jobs);
  const shares = Array.from({ length: jobs }, (_, job) => {
    const start = from + job * each;
    return inChild(start, Math.max(0, Math.min(each, from + count - start)));
  });
  const failures: number[] = [];
  for (const share of await Promise.all(shares)) {
    coverage.seeds += share.seeds;
    coverage.failures += share.failures.length;
    failures.push(...share.failures);
    addMet(coverage.met, Object.entries(share.met));
  }
  await writeCoverage(values.coverage, coverage);
  await report(failures);
  const rare = notCovered(coverage).map(([name, times]) => `${name} (${String(times)})`);
  console.log(
    `${String(count)} seeds from ${String(from)}: ${String(failures.length)} failed (${failures.join(", ")})`,
  );
  const faults = injected(coverage).map(([kind, times]) => `${kind} ${String(times)}`);
  console.log(`injected so far: ${faults.join(", ")}`);
  console.log(`${String(coverage.seeds)} seeds so far; met fewer than 100 times: ${rare.join(", ") || "nothing"}`);
  if (failures.length > 0) process.exitCode = 1;
};

if (values.seed !== undefined) await showSeed(Number(values.seed));
else if (values.first) {
  console.log(JSON.stringify(await findFirst(Number(values.from ?? 0), Number(values.seeds ?? 2_000))));
  process.exit();
} else if (values["as-child"]) process.send?.(await runShare(Number(values.from), Number(values.seeds)));
else await runMany(Number(values.seeds ?? 2_000));
