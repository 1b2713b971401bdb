// Golden logs of calls: reads, writes, their failures, and what a crash leaves behind of them.
import { text } from "../../src/core/messages.ts";
import { NothingHappened, type Plugin } from "../../src/plugins/plugin.ts";
import { at, before, both } from "../../src/testing/fault-plans.ts";
import { call } from "../../src/testing/given.ts";
import { toolOf } from "../../src/testing/harness.ts";
import { counting, postAndRest, startAndRest, type Scenario } from "./scenario.ts";

const path = { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] } as const;

/** The log that the documents print as their example. */
const seedExample: Scenario = {
  name: "seed-example",
  options: () => ({
    objective: "what is in a.txt?",
    tools: [toolOf("Read", "read", { inputSchema: path, execute: () => "hello from a.txt" })],
    script: [[call("Read", { file_path: "a.txt" })], "It says hello."],
  }),
  play: startAndRest,
};

const parallelReads: Scenario = {
  name: "reads-in-parallel",
  options: (sleep) => ({
    tools: [
      toolOf("slow", "read", { execute: (_, { signal }) => sleep(300, signal).then(() => "slow is done") }),
      toolOf("quick", "read", { execute: (_, { signal }) => sleep(20, signal).then(() => "quick is done") }),
      toolOf("note", "internal"),
      toolOf("send", "write"),
    ],
    plugins: [counting],
    script: [
      [call("slow", { n: 1 }), call("quick", { n: 2 }), call("note"), call("send"), call("quick", { n: 3 })],
      "All were read.",
    ],
  }),
  play: startAndRest,
};

const writes: Scenario = {
  name: "writes-done-and-failed",
  options: () => ({
    tools: [
      toolOf("send", "write"),
      toolOf("wipe", "destructive"),
      toolOf("refuse", "write", {
        execute: () => {
          throw new NothingHappened("the address does not exist");
        },
      }),
      toolOf("report", "write", {
        execute: () => ({
          content: [text("made"), { type: "file", name: "a.png", mediaType: "image/png", size: 3 }],
          details: { id: 7 },
          resources: ["issue 7"],
          sources: [{ id: "tracker", version: "3", cursor: "c9" }],
        }),
      }),
    ],
    script: [[call("send"), call("refuse")], [call("wipe"), call("report")], "It is done."],
  }),
  play: startAndRest,
};

const unknownResolved: Scenario = {
  name: "write-unknown-resolved",
  options: () => ({
    tools: [toolOf("look", "read"), toolOf("send", "write"), toolOf("post", "write")],
    script: [[call("look"), call("send"), call("post")], "It is done."],
  }),
  plan: () => both(at("tool.send", "crash_after"), at("tool.post", "fail")),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(
      harness,
      { type: "Resolve", callId: "c6_1", outcome: "done", verification: "It is in the outbox." },
      { type: "Resume" },
      { type: "Resolve", callId: "c6_2", outcome: "absent", verification: "Nothing was posted." },
      { type: "Resume", text: "Then go on." },
    );
  },
};

const verified: Scenario = {
  name: "write-verified",
  options: () => {
    const seen = new Set<string>();
    return {
      tools: [
        toolOf("put", "write", { verify: async () => "done" }),
        toolOf("drop", "write", { verify: async () => "absent" }),
        toolOf("push", "write", {
          // It cannot say the first time, and can when it is asked again.
          verify: async ({ callId }) => (seen.size === seen.add(callId).size ? "done" : "unknown"),
        }),
      ],
      script: [[call("put")], [call("drop")], [call("push")], "It is done."],
    };
  },
  plan: () => both(at("tool.put", "crash_after"), at("tool.drop", "crash_before"), at("tool.push", "fail")),
  play: async (harness) => {
    await startAndRest(harness);
    await postAndRest(harness, { type: "Verify", callId: "c16_0" }, { type: "Resume" });
  },
};

const idempotent: Scenario = {
  name: "idempotent-retry",
  options: () => ({
    tools: [toolOf("pay", "write", { idempotent: { ttlMs: 600_000 } })],
    script: [[call("pay")], "It is paid."],
  }),
  plan: () => at("tool.pay", "crash_after"),
  play: startAndRest,
};

const told: Scenario = {
  name: "unknown-is-told",
  options: () => ({
    tools: [toolOf("build", "write", { onUnknown: "tell" })],
    script: [[call("build")], "It was cut off."],
  }),
  plan: () => at("tool.build", "crash_after"),
  play: startAndRest,
};

const guarding: Plugin = {
  name: "guarding",
  version: "1",
  hooks: {
    beforeTool: ({ name }) => {
      if (name === "drop") return { verdict: "deny", reason: "Too risky." };
      return name === "aim" ? { verdict: "rewrite", input: { file_path: "b.txt" } } : { verdict: "allow" };
    },
  },
};

const denied: Scenario = {
  name: "denied-skipped-refused",
  options: () => ({
    tools: [
      toolOf("drop", "destructive"),
      toolOf("aim", "read", { inputSchema: path }),
      toolOf("send", "write"),
      toolOf("post", "write"),
    ],
    plugins: [guarding],
    script: [
      [call("drop"), call("aim", {}), call("aim", { file_path: "a.txt" }), call("gone")],
      [call("send"), call("post")],
    ],
  }),
  plan: (harness) => before("store.append", 6, () => harness().post({ type: "Steer", text: "enough" })),
  play: startAndRest,
};

const readRerun: Scenario = {
  name: "read-run-again",
  options: () => ({
    tools: [toolOf("look", "read"), toolOf("note", "internal")],
    script: [[call("look"), call("note")], "It is done."],
  }),
  plan: () =>
    both(at("tool.look", "crash_after"), at("tool.note", "crash_before"), at("model.stream", "crash_after", 2)),
  play: startAndRest,
};

export const callScenarios: readonly Scenario[] = [
  seedExample,
  parallelReads,
  writes,
  unknownResolved,
  verified,
  idempotent,
  told,
  denied,
  readRerun,
];
