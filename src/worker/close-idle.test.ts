import { expect, test } from "vitest";
import { beginEpoch } from "../store/memory/restore.ts";
import { call, core } from "../testing/given.ts";
import { createHarness, runHarness, toolOf, type HarnessOptions } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";
import { closeIdle, pauseBetween } from "./close-idle.ts";

const IDLE = 60_000;
const idle = { worker: { closeIdleAfterMs: IDLE } };

test("a conversation at rest is closed by a worker once it has been idle for so long, and not before", async () => {
  const harness = await runHarness({ script: ["Hello."], ...idle });
  await harness.pass(IDLE / 2);
  expect(await harness.row()).toMatchObject({ status: "waiting", lastSeq: 7 });
  await harness.pass(IDLE);
  expect(await harness.log(7)).toBe(
    lines(`
      8 InputTaken items=[Close] through=2
      9 TaskEnded outcome=done answer="Hello." reason=closed
    `),
  );
});

test("what is said meanwhile begins the time anew", async () => {
  const harness = await runHarness({ script: ["One.", "Two."], ...idle });
  await harness.pass(0.9 * IDLE);
  await harness.post({ type: "Say", text: "more" });
  await harness.rest();
  await harness.pass(0.9 * IDLE);
  expect((await harness.row()).status).toBe("waiting");
});

const stays = async (options: HarnessOptions): Promise<void> => {
  const harness = await runHarness({ ...options, ...idle });
  const { lastSeq } = await harness.row();
  await harness.pass(3 * IDLE);
  expect(await harness.row()).toMatchObject({ status: "waiting", lastSeq });
};

test("a run is left alone", () => stays({ script: ["Hello."], mode: "run" }));

test("a task whose action is unknown, or whose turn is paused, is left alone", async () => {
  const send = toolOf("send", "write", {
    execute: () => {
      throw new Error("hung up");
    },
  });
  await stays({ tools: [send], script: [[call("send")]] });
  await stays({ script: [[call("no_such")], "…"], tools: [toolOf("look", "read")], settings: { maxSteps: 1 } });
});

test("a task with a timer set is left alone", async () => {
  const harness = await createHarness({ script: ["Hello."] });
  await harness.write(core("timer_set", { id: "t", dueAt: 1e12 }));
  harness.start({ worker: { closeIdleAfterMs: IDLE } });
  await harness.rest();
  await harness.pass(3 * IDLE);
  expect((await harness.row()).status).toBe("waiting");
});

test("a task that was restored, and whose person was not told yet, is left alone", async () => {
  const harness = await runHarness({ script: ["Hello."] });
  beginEpoch(harness.state, 1);
  await harness.pass(2 * IDLE);
  expect(await closeIdle(harness.store, IDLE)).toBe(0);
});

test("two workers post one close between them, and a task that is gone meanwhile stops nothing", async () => {
  const harness = await runHarness({ script: ["Hello."], restarts: false });
  for (const { actor } of harness.processes) harness.system.scheduler.crash(actor);
  await harness.pass(2 * IDLE);
  const [a, b] = await Promise.all([closeIdle(harness.store, IDLE), closeIdle(harness.store, IDLE)]);
  expect(a + b).toBe(1);
  const rows = await harness.store.listTasks({ limit: 1 });
  const gone = { ...harness.store, listTasks: async () => rows.map((row) => ({ ...row, taskId: "gone" })) };
  expect(await closeIdle(gone, IDLE)).toBe(0);
});

test("a worker looks at least once a minute, and ten times in a short idle time", () => {
  expect(pauseBetween(86_400_000)).toBe(60_000);
  expect(pauseBetween(IDLE)).toBe(6_000);
});
