// What `perdure/testing` exports: logs given, then states and steps expected; a runner on a clock of the test's own; the
// suites that an adapter or a plugin must pass; the simulation. The suites call Vitest's `test`.
export { accessContract, type AccessSubject } from "../access/access.contract.ts";
export { execContract } from "../exec/exec.contract.ts";
export { modelContract, type ModelCase, type ModelSubject } from "../model/model.contract.ts";
export { pluginContract, type PluginSubject, type RecordSample } from "../plugins/plugin.contract.ts";
export { createMemoryStore } from "../store/memory/store.ts";
export { storeContract, type OpenOptions, type OpenedStore } from "../store/store.contract.ts";
export * from "./given.ts";
export { Harness, createHarness, runHarness, toolOf, type HarnessOptions } from "./harness.ts";
export { runExhaustively, type ExhaustiveReport } from "./simulation/exhaustive.ts";
export { runScenario, type ScenarioOptions, type ScenarioResult } from "./simulation/scenario.ts";
export { faultKinds, type Fault, type FaultPlan, type PortCall } from "./simulation/scheduler.ts";
export { runSeed, type SeedResult } from "./simulation/seed-run.ts";
export { shrink, type Shrunk } from "./simulation/shrink.ts";
export type { Scripted } from "./simulation/world.ts";
