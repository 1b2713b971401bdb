// Tasks of a database that was restored from a backup: nothing goes on by itself, and the log tells the person why.
import { describe, expect, it } from "vitest";
import type { Plugin } from "../plugins/plugin.ts";
import { beginEpoch } from "../store/memory/restore.ts";
import { at } from "../testing/fault-plans.ts";
import { call, core } from "../testing/given.ts";
import { createHarness, runHarness, toolOf, type Harness, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";
import type { Event } from "../core/events.ts";

/** When the backup was made (ms). */
const BACKUP_AT = 1_234;

/** The log as it stands is the backup's; another process takes over. */
const restore = async (harness: Harness): Promise<void> => {
  beginEpoch(harness.state, BACKUP_AT);
  harness.start();
  await harness.rest();
};

/** A task whose process dies at a port, and that nobody takes over. */
const stoppedAt = async (
  port: string,
  options: HarnessOptions,
  when: "before" | "after" = "before",
): Promise<Harness> => {
  const harness = await createHarness({ ...options, plan: at(port, `crash_${when}`), restarts: false });
  const { actor } = harness.start();
  await harness.until(() => !actor.alive);
  return harness;
};

const send = { tools: [toolOf("send", "write")], script: [[call("send")], "It is done."] };

describe("a task of a restored database", () => {
  it("pauses in mid-turn, though it continues after a crash, until a person resumes it", async () => {
    const harness = await stoppedAt("model.stream", { script: ["Hello."] });
    await restore(harness);
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ExtensionRecorded core/interrupted {reason: restored, restoredFrom: 1234}
        7 Waiting on=resume outcome=paused reason=restored
      `),
    );
    expect(harness.sent).toEqual([]);
    await harness.post({ type: "Resume" });
    await harness.rest();
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Resume] through=2
        9 ModelCalled model=script request_hash=A attempt=2
        10 ModelReplied "Hello." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: Hello.}
      `),
    );
  });

  it("does not begin with what lay in its inbox: it may have been answered after the backup", async () => {
    const harness = await createHarness({ script: ["Hello."] });
    await restore(harness);
    expect(harness.sent).toEqual([]);
    expect((await harness.row()).reason).toBe("restored");
  });

  it("has unknown actions where writes were started: none is dispatched or verified, not even an idempotent one", async () => {
    const verify = async (): Promise<"done"> => "done";
    const more = { idempotent: { ttlMs: 1e9 }, verify };
    const harness = await stoppedAt("tool.send", { ...send, tools: [toolOf("send", "write", more)] }, "after");
    await restore(harness);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: restored}
        9 ExtensionRecorded core/interrupted {reason: restored, restoredFrom: 1234}
        10 Waiting on=resolution outcome=paused reason=restored detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(harness.ran).toHaveLength(1);
  });

  it("waits for a resume in place of a decision, and the call asks anew", async () => {
    const harness = await stoppedAt("tool.send", { ...send, tools: [toolOf("send", "read")] });
    const asked = { requestId: "q", callId: "c6_0", inputHash: "h", definition: "d", decides: "person:ada" };
    const waits: Event = { type: "Waiting", on: "approval", detail: {} };
    await harness.pass(10_000);
    await harness.write(core("approval_requested", asked), waits);
    await restore(harness);
    expect(await harness.log(9)).toBe(
      lines(`
        10 ExtensionRecorded core/approval_settled {requestId: q, callId: c6_0, decision: void, by: core}
        11 ExtensionRecorded core/interrupted {reason: restored, restoredFrom: 1234}
        12 Waiting on=resume outcome=paused reason=restored
      `),
    );
    expect(await harness.store.readRows({ taskId: "task", table: "approvals" })).toMatchObject([
      { set: { status: "void" } },
    ]);
  });

  it("that rested is left alone; the next turn pauses before it begins, and only that one", async () => {
    const harness = await runHarness({ script: ["First.", "Second.", "Third."], restarts: false });
    const { lastSeq } = await harness.row();
    beginEpoch(harness.state, BACKUP_AT);
    await harness.pass(5_000);
    expect(await harness.row()).toMatchObject({ lastSeq, outcome: "completed" });
    await harness.post({ type: "Say", text: "And now?" });
    await harness.rest();
    expect(await harness.log(lastSeq)).toBe(
      lines(`
        8 InputTaken items=[Say "And now?"] through=2
        9 ExtensionRecorded core/interrupted {reason: restored, restoredFrom: 1234}
        10 Waiting on=resume outcome=paused reason=restored
      `),
    );
    await harness.post({ type: "Resume" });
    await harness.rest();
    await harness.post({ type: "Say", text: "And then?" });
    await harness.rest();
    expect(harness.sent).toHaveLength(3);
    expect(await harness.row()).toMatchObject({ outcome: "completed", restoredFrom: null });
  });

  it("voids a resume that was posted before its person was told", async () => {
    const harness = await stoppedAt("model.stream", { script: ["Hello."], onInterrupt: "pause" });
    harness.start();
    await harness.rest();
    for (const process of harness.processes) harness.system.scheduler.crash(process.actor);
    await harness.post({ type: "Resume" });
    await restore(harness);
    expect(await harness.log(7)).toBe(
      lines(`
        8 InputTaken items=[Resume] through=2
        9 ExtensionRecorded core/interrupted {reason: restored, restoredFrom: 1234}
        10 Waiting on=resume outcome=paused reason=restored
      `),
    );
    expect(harness.sent).toEqual([]);
  });

  it("is told of by its own pause, not by the wait after an interrupt or a cancel", async () => {
    const harness = await stoppedAt("model.stream", { script: ["Hello."] });
    await harness.post({ type: "Cancel" });
    await restore(harness);
    expect(await harness.row()).toMatchObject({ outcome: "cancelled", restoredFrom: BACKUP_AT });
    await harness.post({ type: "Say", text: "Once more." });
    await harness.rest();
    expect(await harness.row()).toMatchObject({ reason: "restored", restoredFrom: null });
    expect(harness.sent).toEqual([]);
  });

  it("pauses too where something is said between that wait and the release", async () => {
    const said: Promise<unknown>[] = [];
    const speaks: Plugin = {
      ...{ name: "speaks", version: "1" },
      hooks: {
        waiting: async () => {
          if (said.length > 0) return;
          said.push(harness.post({ type: "Say", text: "Once more." }));
          await said[0];
        },
      },
    };
    const harness = await stoppedAt("model.stream", { script: ["Hello."], plugins: [speaks] });
    await harness.post({ type: "Cancel" });
    await restore(harness);
    expect(said).toHaveLength(1);
    expect(await harness.row()).toMatchObject({ reason: "restored", restoredFrom: null });
    expect(harness.sent).toEqual([]);
  });

  it("still pauses when the process that took it dies before it has said so", async () => {
    const harness = await stoppedAt("model.stream", { script: ["Hello."] });
    beginEpoch(harness.state, BACKUP_AT);
    const { actor } = harness.start();
    await harness.until(() => harness.claims.length > 1);
    harness.system.scheduler.crash(actor);
    harness.start();
    await harness.rest();
    expect(await harness.log(5)).toBe(
      lines(`
        6 ExtensionRecorded core/interrupted {reason: restored, restoredFrom: 1234}
        7 Waiting on=resume outcome=paused reason=restored
      `),
    );
  });
});
