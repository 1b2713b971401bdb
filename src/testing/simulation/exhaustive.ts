// Exhaustive fault injection: a scenario is run once for every port call and every kind of fault at it; and, where it is
// small, once for every pair of faults: the second at any call that comes after the first.
import { runScenario, type ScenarioOptions, type ScenarioResult } from "./scenario.ts";
import { faultKinds, type Fault, type PortCall } from "./scheduler.ts";

/** A fault at a port call. */
export interface Injected {
  readonly call: PortCall;
  readonly fault: Fault;
}

export interface ExhaustiveFailure {
  readonly injected: readonly Injected[];
  readonly result: ScenarioResult;
}

export interface ExhaustiveReport {
  /** Port calls of the run without faults. */
  readonly calls: number;
  readonly runs: number;
  /** How often each fault was met, by port. */
  readonly hits: ReadonlyMap<string, number>;
  readonly failures: readonly ExhaustiveFailure[];
}

type Scenario = Omit<ScenarioOptions, "plan">;

const runWith = (scenario: Scenario, injected: readonly Injected[]): Promise<ScenarioResult> =>
  runScenario({ ...scenario, plan: ({ n }) => injected.find(({ call }) => call.n === n)?.fault ?? null });

/** The fault that may come next: any kind at any call of the run's trace that comes after what was injected so far. */
const nextFaults = ({ trace }: ScenarioResult, injected: readonly Injected[], kinds: readonly Fault[]): Injected[] => {
  const last = injected.at(-1)?.call.n ?? -1;
  return trace.filter(({ n }) => n > last).flatMap((call) => kinds.map((fault) => ({ call, fault })));
};

/**
 * Runs the scenario once without faults, then once for each of its port calls and each of `kinds` at that call; with a
 * `depth` of 2 each of those again, with a second fault at each of the calls that come after the first.
 */
export const runExhaustively = async (
  scenario: Scenario,
  { kinds = faultKinds, depth = 1 }: { readonly kinds?: readonly Fault[]; readonly depth?: 1 | 2 } = {},
): Promise<ExhaustiveReport> => {
  const plain = await runWith(scenario, []);
  if (plain.faults.length > 0) throw new Error(`without any fault: ${plain.faults.join("; ")}\n${plain.log}`);
  const hits = new Map<string, number>();
  const failures: ExhaustiveFailure[] = [];
  let runs = 1;
  const go = async (before: ScenarioResult, injected: readonly Injected[]): Promise<void> => {
    for (const next of nextFaults(before, injected, kinds)) {
      const all = [...injected, next];
      const result = await runWith(scenario, all);
      runs += 1;
      const name = `${next.call.port} ${next.fault}`;
      hits.set(name, (hits.get(name) ?? 0) + 1);
      if (result.faults.length > 0) failures.push({ injected: all, result });
      if (all.length < depth) await go(result, all);
    }
  };
  await go(plain, []);
  return { calls: plain.trace.length, runs, hits, failures };
};
