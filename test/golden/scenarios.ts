// Every golden log's scenario, by the log's name.
import { approvalScenarios } from "./approvals.ts";
import { callScenarios } from "./calls.ts";
import { recordScenarios } from "./records.ts";
import type { Scenario } from "./scenario.ts";
import { turnScenarios } from "./turns.ts";

export const scenarios: readonly Scenario[] = [
  ...callScenarios,
  ...turnScenarios,
  ...recordScenarios,
  ...approvalScenarios,
];
