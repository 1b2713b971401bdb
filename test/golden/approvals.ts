// Golden logs of calls that somebody decides on: asked, decided, corrected, expired, called off, void.
import { at } from "../../src/testing/fault-plans.ts";
import { decisionOn, pendingRequests, type Decision } from "../../src/testing/decide.ts";
import { call } from "../../src/testing/given.ts";
import { TASK, toolOf, type Harness } from "../../src/testing/harness.ts";
import { postAndRest, startAndRest, type Scenario } from "./scenario.ts";

/** Decides on the first request that waits, and lets the task rest. */
const decide = async (
  harness: Harness,
  decision: Decision["decision"],
  more: Partial<Decision> = {},
): Promise<void> => {
  const [first] = await pendingRequests(harness.store, TASK);
  if (first === undefined) throw new Error("nothing waits for a decision");
  await postAndRest(harness, decisionOn(first, decision, more));
};

const asksFirst = toolOf("drop", "destructive", { approval: "ask" });

/** Asked for, corrected, denied, and asked again of the same reply, while other calls go on. */
const approvalsAsked: Scenario = {
  name: "approvals-asked-and-decided",
  options: () => ({
    tools: [asksFirst, toolOf("look", "read"), toolOf("send", "write")],
    approvals: { tools: { send: "ask" } },
    script: [
      [call("drop", { name: "a" }), call("look"), call("drop", { name: "b" }), call("send", { to: "c" })],
      "So be it.",
    ],
  }),
  play: async (harness) => {
    await startAndRest(harness);
    await decide(harness, "approve", { input: { name: "A" } });
    await decide(harness, "deny", { reason: "not that one" });
    await decide(harness, "approve");
  },
};

/** Nobody decides in time; the next request is called off by a correction, the one after it by an interrupt. */
const approvalExpired: Scenario = {
  name: "approval-expired-and-called-off",
  options: () => ({
    settings: { approvalExpiryMs: 60_000 },
    tools: [asksFirst],
    script: [[call("drop", { n: 1 })], [call("drop", { n: 2 })], [call("drop", { n: 3 })], "As you say."],
  }),
  play: async (harness) => {
    await startAndRest(harness);
    await harness.pass(61_000);
    await harness.rest();
    await postAndRest(harness, { type: "Steer", text: "another one" }, { type: "Interrupt" });
    await postAndRest(harness, { type: "Say", text: "leave it" });
  },
};

/** Auto-approve on, another's correction over it, and what was approved is asked again after a resume. */
const approvalAutomatic: Scenario = {
  name: "approval-automatic",
  options: () => ({
    tools: [asksFirst],
    script: [[call("drop", { n: 1 })], "One.", [call("drop", { n: 2 })], "Two."],
  }),
  play: async (harness) => {
    await harness.post({ type: "Reconfigure", settings: { autoApprove: true } });
    await startAndRest(harness);
    await harness.post({ type: "Steer", text: "once more" }, "person:bob");
    await harness.rest();
    await decide(harness, "approve");
  },
};

/** Approved while the turn is paused: void with the resume. */
const approvalVoid: Scenario = {
  name: "approval-void-after-resume",
  options: () => ({
    onInterrupt: "pause",
    tools: [asksFirst, toolOf("send", "write")],
    script: [[call("drop", { n: 1 }), call("send")], "So be it."],
  }),
  plan: () => at("tool.send", "crash_after"),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(harness, { type: "Resolve", callId: "c6_1", outcome: "done", verification: "It is there." });
    await decide(harness, "approve");
    await postAndRest(harness, { type: "Resume" });
    await decide(harness, "approve");
  },
};

export const approvalScenarios: readonly Scenario[] = [
  approvalsAsked,
  approvalExpired,
  approvalAutomatic,
  approvalVoid,
];
