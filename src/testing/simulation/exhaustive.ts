// Exhaustive fault injection: a scenario is run once for every port call and every kind of fault at it.
import { runScenario, type ScenarioOptions, type ScenarioResult } from "./scenario.ts";
import { faultKinds, type Fault, type PortCall } from "./scheduler.ts";

export interface ExhaustiveFailure {
  readonly call: PortCall;
  readonly fault: Fault;
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

/** Runs the scenario once without faults, then once for each of its port calls and each of `kinds` at that call. */
export const runExhaustively = async (
  options: Omit<ScenarioOptions, "plan">,
  kinds: readonly Fault[] = faultKinds,
): Promise<ExhaustiveReport> => {
  const plain = await runScenario({ ...options, plan: () => null });
  if (plain.faults.length > 0) throw new Error(`without any fault: ${plain.faults.join("; ")}\n${plain.log}`);
  const hits = new Map<string, number>();
  const failures: ExhaustiveFailure[] = [];
  let runs = 1;
  for (const call of plain.trace) {
    for (const fault of kinds) {
      const result = await runScenario({ ...options, plan: ({ n }) => (n === call.n ? fault : null) });
      runs += 1;
      const name = `${call.port} ${fault}`;
      hits.set(name, (hits.get(name) ?? 0) + 1);
      if (result.faults.length > 0) failures.push({ call, fault, result });
    }
  }
  return { calls: plain.trace.length, runs, hits, failures };
};
