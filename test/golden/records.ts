// Golden logs of what is recorded beside calls and turns: redactions, pins, timers, parked calls, approvals, settings.
// What no plugin does yet (parking, timers), and approvals of before the runner asked, are written as a holder of the task would have written it.
import { text } from "../../src/core/messages.ts";
import type { Plugin } from "../../src/plugins/plugin.ts";
import { openText } from "../../src/store/seal.ts";
import { before } from "../../src/testing/fault-plans.ts";
import * as log from "../../src/testing/given.ts";
import { TASK, toolOf, type Code, type Harness } from "../../src/testing/harness.ts";
import { counting, postAndRest, startAndRest, writeAsked, type Scenario } from "./scenario.ts";

const { call, core } = log;
const SECRET = "swordfish";

/** Redacts every event that holds the secret, at once. */
const redact = ({ store, state, system }: Harness): Promise<unknown> => {
  const events = state.tasks.get(TASK)?.events ?? [];
  const seqs = events
    .filter(({ content }) => openText(state.seal, TASK, content).includes(SECRET))
    .map(({ seq }) => seq);
  return store.redact({ taskId: TASK, seqs, secret: system.chance.bytes(32) });
};

const redacted: Scenario = {
  name: "redacted",
  options: () => ({
    objective: "keep it",
    tools: [toolOf("look", "read", { execute: () => `it says ${SECRET}` }), toolOf("send", "write")],
    plugins: [counting],
    script: [[call("send", { text: SECRET }), call("look")], `It was ${SECRET}.`, "It is gone."],
  }),
  play: async (harness) => {
    await startAndRest(harness);
    await harness.post({ type: "Say", text: `the word is ${SECRET}` });
    await harness.rest();
    await redact(harness);
    await postAndRest(harness, { type: "Say", text: "what was it?" });
  },
};

const redactedMidTurn: Scenario = {
  name: "redacted-in-mid-turn",
  options: () => ({
    objective: "remember it",
    tools: [toolOf("look", "read"), toolOf("send", "write", { execute: () => `sent ${SECRET}` })],
    script: [[call("look"), call("send", { text: SECRET })], "It is done."],
  }),
  plan: (harness) => before("store.append", 3, () => redact(harness())),
  play: startAndRest,
};

const upgrade: Code = {
  system: "This comes too late.",
  tools: [toolOf("look", "read", { description: "looks closer" }), toolOf("note", "internal")],
  plugins: [{ name: "manner", version: "2", part: "Be kinder." }],
};

const upgraded: Scenario = {
  name: "pins-and-prompts",
  options: () => ({
    system: "Do as it was said first.",
    tools: [toolOf("look", "read", { description: "looks" })],
    plugins: [{ name: "manner", version: "1", part: "Be kind.", reminders: () => [] }],
    script: ["Hello.", [call("look")], "Hello again."],
  }),
  upgrade: { from: 8, code: upgrade },
  play: async (harness) => {
    const { worker } = harness.start();
    await harness.rest();
    await worker.stop();
    await harness.use(upgrade);
    harness.start();
    await postAndRest(harness, { type: "Say", text: "once more" });
  },
};

const reminding: Plugin = {
  name: "reminding",
  version: "1",
  records: { reminded: { v: 1 }, began: { v: 1 } },
  reminders: ({ replies }) => [
    { kind: "reminded", data: { replies }, message: [text(`[Reply ${String(replies + 1)}.]`)] },
  ],
  hooks: {
    turnStart: (view) => view.record({ kind: "began", data: {}, message: [text("[A turn begins.]")] }),
    waiting: (view) => view.record({ kind: "began", data: {} }),
  },
};

const reminders: Scenario = {
  name: "reminders",
  options: () => ({
    tools: [toolOf("look", "read")],
    plugins: [reminding],
    script: [[call("look")], "Hello.", "Hello again."],
  }),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(harness, { type: "Say", text: "again" });
  },
};

const timer: Scenario = {
  name: "timer",
  options: () => ({ tools: [toolOf("sleep", "internal")], script: [[call("sleep")], "It is morning."] }),
  play: async (harness) => {
    await writeAsked(
      harness,
      "sleep",
      core("timer_set", { id: "t1", dueAt: harness.now + 3_600_000, callId: "c6_0" }),
      core("timer_set", { id: "t2", dueAt: harness.now + 90_000_000 }),
      core("call_parked", { callId: "c6_0", on: "timer", ref: "t1" }),
      log.waiting("timer", { detail: { waits: [{ on: "timer", callId: "c6_0", ref: "t1" }] } }),
    );
    harness.start();
    await harness.until(() => harness.sent.length === 1);
    await harness.rest();
  },
};

const parked: Scenario = {
  name: "parked-calls",
  options: () => ({
    tools: [toolOf("ask", "internal"), toolOf("hear", "internal"), toolOf("spawn", "internal")],
    script: [[call("ask")], "Asked, heard, and spawned."],
  }),
  play: async (harness) => {
    await harness.write(
      core("prompts", { identity: "You are tested.", system: "Do as the script says.", parts: [] }),
      core("plugins", {
        pins: [...harness.agent.pins],
        tools: [...harness.agent.tools.values()].map(({ entry }) => entry),
      }),
      { type: "InputTaken", items: [log.say("do it", { seq: 1, key: "objective" })], through: 1 },
      log.called(),
      log.replied([call("ask"), call("hear"), call("spawn")]),
      ...(["ask", "hear", "spawn"] as const).map((name, index) =>
        log.started(`c6_${String(index)}`, name, { effect: "internal" }),
      ),
      core("call_parked", { callId: "c6_0", on: "answer", ref: "which one?" }),
      core("call_parked", { callId: "c6_1", on: "signal", ref: "bell" }),
      core("call_parked", { callId: "c6_2", on: "children", ref: "task.c6_2.1" }),
      log.waiting("answer", {
        detail: {
          waits: [
            { on: "answer", callId: "c6_0", ref: "which one?" },
            { on: "signal", callId: "c6_1", ref: "bell" },
            { on: "children", callId: "c6_2", ref: "task.c6_2.1" },
          ],
        },
      }),
    );
    harness.start();
    await postAndRest(
      harness,
      { type: "Say", text: "meanwhile" },
      { type: "Answer", question: "c6_0", text: "the second" },
      { type: "ChildEnded", childId: "task.c6_2.1", callId: "c6_2", outcome: "failed", reason: "unreadable_log" },
      { type: "Signal", name: "gong" },
      { type: "Signal", name: "bell", data: { n: 1 } },
    );
  },
};

const request = { callId: "c6_0", inputHash: "h", definition: "definition of drop", decides: "person:ada" };
const decided = { showing: 1, inputHash: "h", requestId: "approve c6_0" } as const;

const approval = (name: string, decision: "approve" | "deny"): Scenario => ({
  name,
  options: () => ({ tools: [toolOf("drop", "destructive")], script: [[call("drop")], "So be it."] }),
  play: async (harness) => {
    const reason = decision === "deny" ? { reason: "not now" } : {};
    const settled = decision === "approve" ? "approved" : "denied";
    const item = log.item("Decide", { ...decided, decision, ...reason }, { seq: 2, key: "post 1", at: harness.now });
    await writeAsked(
      harness,
      "drop",
      core("approval_requested", { requestId: decided.requestId, ...request, input: {} }),
      log.waiting("approval", { detail: { waits: [{ on: "approval", callId: "c6_0", ref: decided.requestId }] } }),
    );
    await harness.store.showApproval({ taskId: TASK, requestId: decided.requestId, frontEnd: "test" });
    await harness.post({ type: "Decide", ...decided, decision, ...reason });
    await harness.write(
      { type: "InputTaken", items: [item], through: 2 },
      core("approval_settled", {
        requestId: decided.requestId,
        callId: "c6_0",
        decision: settled,
        by: "person:ada",
        ...reason,
      }),
    );
    await startAndRest(harness);
  },
});

const approvalCancelled: Scenario = {
  name: "approval-cancelled",
  options: () => ({ tools: [toolOf("drop", "destructive")], script: [[call("drop")], "Another thing."] }),
  play: async (harness) => {
    await writeAsked(
      harness,
      "drop",
      core("approval_requested", { requestId: decided.requestId, ...request }),
      core("timer_set", { id: "t1", dueAt: harness.now + 60_000, callId: "c6_0" }),
      log.waiting("approval", { detail: { waits: [{ on: "approval", callId: "c6_0", ref: decided.requestId }] } }),
    );
    await harness.post({ type: "Cancel" });
    await startAndRest(harness);
    await postAndRest(harness, { type: "Say", text: "and now?" });
  },
};

const erased: Scenario = {
  name: "erased",
  options: () => ({ plugins: [counting], script: ["Hello.", "What did you say?"] }),
  play: async (harness) => {
    const { worker } = harness.start();
    await harness.rest();
    await worker.stop();
    await harness.post({ type: "Say", text: "something bad" });
    const item = log.say("something bad", { seq: 2, key: "post 1", at: harness.now });
    await harness.write(
      { type: "InputTaken", items: [item], through: 2 },
      core("erased", { seqs: [8], reason: "blocked" }),
    );
    await startAndRest(harness);
    await postAndRest(harness, { type: "Say", text: "something good" });
  },
};

const items: Scenario = {
  name: "every-other-item",
  options: () => ({ script: ["Hello.", "With other settings.", "Over there."] }),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(
      harness,
      { type: "Reconfigure", settings: { temperature: 0.5 } },
      { type: "Say", text: "a picture", files: [{ type: "file", name: "a.png", mediaType: "image/png", size: 3 }] },
      { type: "Collaborate", principal: "person:bob", change: "add" },
      { type: "SourceChanged", source: "tracker", version: "4", deleted: false },
      { type: "Handoff", origin: { frontEnd: "cli", place: "there", conversation: "two", private: true } },
      { type: "Say", text: "NUL \u0000, a lone surrogate \ud800, __proto__ and 𝄞" },
    );
  },
};

export const recordScenarios: readonly Scenario[] = [
  redacted,
  redactedMidTurn,
  upgraded,
  reminders,
  timer,
  parked,
  approval("approval-given", "approve"),
  approval("approval-denied", "deny"),
  approvalCancelled,
  erased,
  items,
];
