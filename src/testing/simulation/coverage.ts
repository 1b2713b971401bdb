// What runs met, added up from run to run in a file: a kind of fault that was hardly met is not covered.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

export interface Coverage {
  /** Seeds run so far; the next run begins with this one. */
  seeds: number;
  failures: number;
  /** How often each thing was met, by name. */
  met: Record<string, number>;
}

/** Below this, a thing counts as not covered. */
export const ENOUGH = 100;

/** Every port call that can fail and every kind of fault at it, and what else runs must meet. */
export const mustBeMet: readonly string[] = [
  ...["append", "claim", "release", "renew", "readInbox", "getTask", "read", "putSnapshot", "getSnapshot"].flatMap(
    (port) =>
      ["crash_before", "crash_after", "lose_answer", "fail", "delay", "stall", "twice"].map(
        (fault) => `store.${port} ${fault}`,
      ),
  ),
  ...["crash_before", "crash_after", "lose_answer", "fail", "delay", "stall", "twice"].map(
    (fault) => `model.stream ${fault}`,
  ),
  ...["look", "put", "send", "pay", "verify"].flatMap((port) =>
    ["crash_before", "crash_after", "lose_answer", "fail", "delay", "stall"].map((fault) => `tool.${port} ${fault}`),
  ),
  ...["ask", "plan_update", "goal_set", "goal_update"].flatMap((port) =>
    ["crash_before", "crash_after", "lose_answer", "fail", "delay", "stall"].map((fault) => `tool.${port} ${fault}`),
  ),
  ...["crash_before", "crash_after", "lose_answer", "fail", "delay", "stall"].map((fault) => `tool.drop ${fault}`),
  ...["request", "request expired", "auto-approved", "asked again", "decision came second"],
  ...["stale", "changed", "not_yours"].map((refusal) => `decision refused: ${refusal}`),
  ...["question", "answer at once", "stale answer", "plan update", "another leg"],
  ...["fail", "delay", "stall", "crash_before", "crash_after", "lose_answer"].map((fault) => `access.may ${fault}`),
  ...["friend steers", "friend is refused", "friend steers while dismissed", "friend meddles"],
  ...["move", "two moves at once", "say from behind"],
  ...["unknown", "settled", "interrupted", "claimed again", "redaction", "snapshot"],
];

export const readCoverage = async (path: string): Promise<Coverage> => {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Coverage;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { seeds: 0, failures: 0, met: {} };
    throw error;
  }
};

export const writeCoverage = async (path: string, coverage: Coverage): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  const met = Object.fromEntries(Object.entries(coverage.met).sort(([a], [b]) => (a < b ? -1 : 1)));
  await writeFile(path, `${JSON.stringify({ ...coverage, met }, null, 1)}\n`);
};

export const addMet = (into: Record<string, number>, met: Iterable<readonly [string, number]>): void => {
  for (const [name, count] of met) into[name] = (into[name] ?? 0) + count;
};

const KINDS = ["crash_before", "crash_after", "lose_answer", "fail", "delay", "stall", "twice"] as const;

/** How many faults of each kind were injected so far, at whatever port. */
export const injected = ({ met }: Coverage): [string, number][] =>
  KINDS.map((kind) => {
    const counts = Object.entries(met).map(([name, count]) => (name.endsWith(` ${kind}`) ? count : 0));
    return [kind, counts.reduce((sum, count) => sum + count, 0)];
  });

/** What was met too seldom so far, with how often. */
export const notCovered = ({ met }: Coverage): [string, number][] =>
  mustBeMet.flatMap((name): [string, number][] => ((met[name] ?? 0) < ENOUGH ? [[name, met[name] ?? 0]] : []));
