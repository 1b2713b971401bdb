import { describe, expect, it } from "vitest";
import { runExhaustively, type ExhaustiveFailure } from "../src/testing/simulation/exhaustive.ts";
import { runScenario } from "../src/testing/simulation/scenario.ts";
import type { Scripted } from "../src/testing/simulation/world.ts";

/** A read, two reads at once, each kind of write, an answer; then a second turn. */
const script: Scripted[] = [
  { calls: [{ name: "look", value: "a" }] },
  {
    calls: [
      { name: "look", value: "b" },
      { name: "look", value: "c" },
      { name: "put", value: "d" },
    ],
  },
  {
    calls: [
      { name: "send", value: "e" },
      { name: "pay", value: "f" },
    ],
  },
  { text: "first answer" },
  { calls: [{ name: "put", value: "g" }] },
  { text: "second answer" },
];
/** Plan updates of which the second is stale, a goal that makes another leg, and two questions beside a write. */
const asking: Scripted[] = [
  {
    calls: [
      { name: "plan_update", value: "a" },
      { name: "plan_update", value: "b" },
      { name: "goal_set", value: "c" },
    ],
  },
  { text: "not yet" },
  {
    calls: [
      { name: "ask", value: "d" },
      { name: "put", value: "e" },
      { name: "ask", value: "f" },
    ],
  },
  { calls: [{ name: "plan_update", value: "g" }] },
];
const says = ["do it", "and once more"];

const describeFailure = ({ injected, result }: ExhaustiveFailure): string => {
  const where = injected.map(({ call, fault }) => `${fault} at port call ${String(call.n)}, ${call.port}`);
  return [`${where.join("; then ")}:`, ...result.faults, result.log, ...result.notes].join("\n");
};

/** Thousands of runs: on a machine that others share they take minutes. */
const patient = { timeout: 900_000 };

/** A write that nobody can verify, and an answer: small enough for every pair of faults. */
const small: Scripted[] = [{ calls: [{ name: "send", value: "a" }] }, { text: "the answer" }];

describe("a scripted task, cut at every port call and resumed", () => {
  it("comes to its end without any fault", async () => {
    const result = await runScenario({ seed: 1, plan: () => null, script, says, onInterrupt: "continue" });
    expect(result.faults, result.log).toEqual([]);
  });

  it.each(["continue", "pause"] as const)("keeps every promise with onInterrupt %s", async (onInterrupt) => {
    const report = await runExhaustively({ seed: 1, script, says, onInterrupt });
    expect(report.failures.map(describeFailure).join("\n\n")).toBe("");
    expect(report.runs).toBe(report.calls * 5 + 1);
  });

  it.each(["continue", "pause"] as const)(
    "keeps every promise with every two faults, %s",
    patient,
    async (onInterrupt) => {
      const report = await runExhaustively({ seed: 1, script: small, says: ["do it"], onInterrupt }, { depth: 2 });
      console.log(`${String(report.runs)} runs with at most two faults in ${String(report.calls)} port calls or after`);
      expect(report.failures.slice(0, 3).map(describeFailure).join("\n\n")).toBe("");
      expect(report.runs).toBeGreaterThan((report.calls * 5) ** 2 / 2);
    },
  );

  it("keeps every promise while it plans, sets goals and asks", async () => {
    const report = await runExhaustively({ seed: 1, script: asking, says: ["do it"], onInterrupt: "continue" });
    expect(report.failures.map(describeFailure).join("\n\n")).toBe("");
    expect(report.runs).toBe(report.calls * 5 + 1);
  });
});
