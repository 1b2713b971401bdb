// Golden logs of turns: how they are steered, stopped, paused, continued and ended, in each mode.
import { text } from "../../src/core/messages.ts";
import { ModelError } from "../../src/model/model.ts";
import type { Plugin } from "../../src/plugins/plugin.ts";
import { at, before, both } from "../../src/testing/fault-plans.ts";
import { call } from "../../src/testing/given.ts";
import { toolOf } from "../../src/testing/harness.ts";
import { tries, type Answer } from "../../src/testing/scripted-answers.ts";
import { counting, postAndRest, startAndRest, type Scenario } from "./scenario.ts";

const slow = (sleep: (ms: number, signal?: AbortSignal) => Promise<void>) =>
  toolOf("look", "read", { execute: (_, { signal }) => sleep(8_000, signal).then(() => "looked") });

/** Long enough for somebody to come; where nobody does, the attempt fails, and the next one is made. */
const hangs: Answer = async ({ signal, sleep }) => {
  await sleep(8_000).catch(() => undefined);
  return new ModelError(signal.aborted ? "aborted" : "network", "nothing came");
};

const interrupted: Scenario = {
  name: "interrupted",
  options: (sleep) => ({
    tools: [slow(sleep), toolOf("send", "write")],
    script: [[call("look"), call("look"), call("send")], "As you say.", tries(hangs, "Well then.")],
  }),
  play: async (harness) => {
    harness.start();
    await harness.until(() => harness.ran.length === 2);
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    await postAndRest(harness, { type: "Say", text: "rather do that" });
    await harness.post({ type: "Say", text: "and this" });
    await harness.until(() => harness.sent.length === 3);
    await harness.post({ type: "Interrupt" });
    await harness.rest();
    await postAndRest(harness, { type: "Resume" });
  },
};

const cancelled: Scenario = {
  name: "cancelled",
  options: (sleep) => ({
    tools: [slow(sleep), toolOf("send", "write")],
    script: [[call("look"), call("send")], "And now this.", [call("send")], "It is over."],
  }),
  plan: () => at("tool.send", "crash_after"),
  play: async (harness) => {
    harness.start();
    await harness.until(() => harness.ran.length === 1);
    await harness.post({ type: "Cancel", reason: "enough" });
    await harness.rest();
    await postAndRest(harness, { type: "Say", text: "and now?" }, { type: "Say", text: "send it" });
    // The write is unknown: the cancel waits for its resolution.
    await postAndRest(
      harness,
      { type: "Cancel" },
      { type: "Resolve", callId: "c18_0", outcome: "done", verification: "It was sent." },
    );
  },
};

const cancelledOneShot: Scenario = {
  name: "one-shot-cancelled",
  options: () => ({ mode: "oneShot", script: [tries(hangs, "It is done.")] }),
  play: async (harness) => {
    harness.start();
    await harness.until(() => harness.sent.length === 1);
    await harness.post({ type: "Cancel", reason: "enough" });
    await harness.rest();
  },
};

const oneShot: Scenario = {
  name: "one-shot",
  options: () => ({
    mode: "oneShot",
    tools: [toolOf("look", "read")],
    plugins: [counting],
    script: [[call("look")], "It is done."],
  }),
  play: startAndRest,
};

const run: Scenario = {
  name: "run-resumed-and-closed",
  options: () => ({ mode: "run", script: ["First.", "Second.", "Third."] }),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(harness, { type: "Say", text: "is queued" }, { type: "Resume", text: "go on" });
    await postAndRest(harness, { type: "Close" });
  },
};

const closed: Scenario = {
  name: "closed",
  options: (sleep) => ({ tools: [slow(sleep)], script: ["Hello.", [call("look")]] }),
  play: async (harness) => {
    await startAndRest(harness);
    await harness.post({ type: "Say", text: "look" });
    await harness.until(() => harness.ran.length === 1);
    // Nothing may be open: this one comes too early.
    await postAndRest(harness, { type: "Close" }, { type: "Close" });
  },
};

const steered: Scenario = {
  name: "steered",
  options: () => ({
    tools: [toolOf("look", "read"), toolOf("send", "write"), toolOf("post", "write")],
    script: [[call("look"), call("send"), call("post")], [call("post")], "As you wish."],
  }),
  plan: (harness) =>
    both(
      before("store.append", 2, () => harness().post({ type: "Steer", text: "do not send it" })),
      before("store.append", 5, () => harness().post({ type: "Steer", text: "be brief" }, "person:bob")),
      before("store.append", 6, () => harness().post({ type: "Say", text: "by the way" })),
    ),
  play: startAndRest,
};

const failing = (name: ConstructorParameters<typeof ModelError>[0]): Error => new ModelError(name, `it says ${name}`);

const modelFailures: Scenario = {
  name: "model-failures",
  options: () => ({
    settings: { modelAttempts: 3 },
    script: [
      tries(failing("overloaded"), failing("network"), "Hello."),
      tries(failing("rate_limited"), failing("network"), failing("network"), "At last."),
      tries(failing("auth"), "With a key."),
      tries({ message: { parts: [text("  ")] }, stopReason: "end_turn", tokens: "unknown" }, "Not empty."),
    ],
  }),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(
      harness,
      { type: "Say", text: "again" },
      { type: "Resume" },
      { type: "Say", text: "once more" },
      { type: "Resume" },
      { type: "Say", text: "say something" },
    );
  },
};

const shortening: Plugin = {
  name: "shortening",
  version: "1",
  compact: async ({ messages, compactions }) => {
    const last = messages.findLast((message) => message.role === "assistant");
    if (last === undefined) return null;
    return { through: last.seq, summary: `Summary ${String(compactions + 1)}.`, kept: [] };
  },
};

const compacted: Scenario = {
  name: "compacted-twice",
  options: () => ({
    tools: [toolOf("look", "read")],
    plugins: [shortening, counting],
    script: [
      [call("look")],
      "a long story ".repeat(40),
      tries(failing("overflow"), "Shorter."),
      "another story ".repeat(40),
      tries(failing("overflow"), "Shorter again."),
    ],
  }),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(
      harness,
      { type: "Say", text: "and then?" },
      { type: "Say", text: "tell me more" },
      { type: "Say", text: "and the end?" },
    );
  },
};

const pausing: Scenario = {
  name: "pauses-when-interrupted",
  options: () => ({
    onInterrupt: "pause",
    tools: [toolOf("look", "read"), toolOf("put", "write", { verify: async () => "done" })],
    script: [[call("look")], [call("put")], "It is done."],
  }),
  plan: () => both(at("tool.look", "crash_after"), at("tool.put", "crash_after")),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(
      harness,
      { type: "Resume" },
      { type: "Verify", callId: "c14_0" },
      { type: "Resume", text: "go on" },
    );
  },
};

const stopped: Scenario = {
  name: "stopped-and-taken-over",
  options: (sleep) => ({
    tools: [toolOf("look", "read", { execute: (_, { signal }) => sleep(500, signal).then(() => "looked") })],
    script: [[call("look")], [call("look")], "It is done."],
  }),
  play: async (harness) => {
    const { worker } = harness.start();
    await harness.until(() => harness.ran.length === 1);
    const stopping = worker.stop();
    await harness.until(() => harness.ends.includes("stopped"));
    await stopping;
    await startAndRest(harness);
  },
};

interface Plan {
  readonly open: number;
  readonly legs: number;
}

/** Two goals, of which each leg reaches one. */
const planning: Plugin = {
  name: "planning",
  version: "1",
  records: { leg: { v: 1 } },
  reducer: {
    initial: (): Plan => ({ open: 2, legs: 0 }),
    reduce: (state) => ({ open: (state as Plan).open - 1, legs: (state as Plan).legs + 1 }),
  },
  goals: (state) => ({ open: (state as Plan).open, blocked: 0, progress: true }),
  nextLeg: ({ plugins }) => {
    const { open } = (plugins["planning"] ?? { open: 2 }) as Plan;
    return { kind: "leg", data: { open }, message: [text(`${String(open)} goals are open.`)] };
  },
};

const goals: Scenario = {
  name: "goals-continued",
  options: () => ({
    tools: [toolOf("look", "read")],
    plugins: [planning],
    script: ["One.", [call("look")], "Two.", "Three."],
  }),
  play: startAndRest,
};

const maxSteps: Scenario = {
  name: "step-limit",
  options: () => ({
    settings: { maxSteps: 2 },
    tools: [toolOf("look", "read")],
    script: [[call("look")], [call("look")], "Enough."],
  }),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(harness, { type: "Interrupt" }, { type: "Say", text: "and?" });
  },
};

const failed: Scenario = {
  name: "turn-failed-by-plugin",
  options: () => {
    let met = false;
    const hooks: Plugin["hooks"] = {
      turnStart: () => {
        if (met) return;
        met = true;
        throw new Error("the plugin is not configured");
      },
    };
    return { plugins: [{ name: "throwing", version: "1", hooks }], script: ["Hello."] };
  },
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(harness, { type: "Resume" });
  },
};

export const turnScenarios: readonly Scenario[] = [
  interrupted,
  cancelled,
  cancelledOneShot,
  oneShot,
  run,
  closed,
  steered,
  modelFailures,
  compacted,
  pausing,
  stopped,
  goals,
  maxSteps,
  failed,
];
