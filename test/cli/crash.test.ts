import { expect, test } from "vitest";
import { calls, createPlace, createToolPlace, lines, logOf, newestTask, shapeOf, viewOf } from "./perdure.ts";

const scripted = ["--model", "scripted:script.jsonl"];

test("killed in a model call: resume sends the same request again, and nothing is lost", async () => {
  const place = createToolPlace();
  const run = place.start(["run", "anyone there?", "--model", "slow"], { BLOCK: "1" });
  await run.said("asked");
  run.signal("SIGKILL");
  expect((await run.finished).signal).toBe("SIGKILL");
  const taskId = await newestTask(place);
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Here.\n" });
  const asked = (await logOf(place, taskId)).filter(({ type }) => type === "ModelCalled");
  expect(asked.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(asked[1]?.["requestHash"]).toBe(asked[0]?.["requestHash"]);
});

test("killed in a read: resume runs it again", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const run = place.start(["run", "look", ...scripted]);
  await run.said("dispatched Look");
  run.signal("SIGKILL");
  await run.finished;
  const taskId = await newestTask(place);
  const resumed = place.start(["resume", taskId]);
  await resumed.said("dispatched Look");
  resumed.answer();
  expect(await resumed.finished).toMatchObject({ code: 0, stdout: "Seen.\n" });
  const started = (await logOf(place, taskId)).filter(({ type }) => type === "ToolStarted");
  expect(started.map(({ attempt }) => attempt)).toEqual([1, 2]);
});

test("killed in a write that cannot verify itself: it is unknown, and never runs again", async () => {
  const place = createToolPlace(calls("Send", "block"), { text: "Sent." });
  const run = place.start(["run", "send", ...scripted]);
  await run.said("dispatched Send");
  run.signal("SIGKILL");
  await run.finished;
  const taskId = await newestTask(place);

  const resumed = await place.perdure("resume", taskId, "--json");
  expect(resumed.code).toBe(3);
  expect(viewOf(resumed)).toMatchObject({
    waitingOn: "resolution",
    outcome: "paused",
    unknown: [{ action: "c6_0", name: "Send", reason: "crashed", verifiable: false }],
  });
  const early = await place.perdure("resume", taskId);
  expect(early).toMatchObject({ code: 1, stdout: "" });
  expect(early.stderr).toContain(`task ${taskId} cannot be resumed while an action is unknown: c6_0 (Send)`);
  expect((await place.perdure("verify", taskId, "c6_0")).stderr).toContain("has no check of its own");

  const resolved = await place.perdure("resolve", taskId, "c6_0", "done", "it is in the outbox");
  expect(resolved.code).toBe(3);
  expect(resolved.stderr).toContain(`perdure resume ${taskId}`);
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Sent.\n" });
  expect(place.read("effects.txt")).toBe("Send block\n");
  const late = await place.perdure("resolve", taskId, "c6_0", "absent", "no, it is not");
  expect(late).toMatchObject({ code: 1, stdout: "" });
  expect(late.stderr).toContain(`task ${taskId} has no unknown action c6_0; none is unknown`);
  expect(await place.perdure("check")).toMatchObject({ code: 0 });
});

test("killed after a file was written and before its result: the write verifies itself", async () => {
  const write = { calls: [{ name: "Write", input: { file_path: "b.txt", content: "once" } }] };
  const place = createToolPlace(write, { text: "Written." });
  const run = place.start(["run", "write", ...scripted], { STALL: "1" });
  await run.said("stalled");
  run.signal("SIGKILL");
  await run.finished;
  expect(place.read("b.txt")).toBe("once");
  const taskId = await newestTask(place);
  const resumed = await place.perdure("resume", taskId);
  expect(resumed).toMatchObject({ code: 0, stdout: "Written.\n" });
  expect(resumed.stderr).toContain("c6_0 Write took effect: its tool has looked\n");
  const events = await logOf(place, taskId);
  expect(events.filter(({ type }) => type === "ToolStarted")).toHaveLength(1);
  expect(events.find(({ type }) => type === "ToolFinished")).toMatchObject({
    status: "ok",
    settledBy: "verification",
  });
});

test("a task that pauses when interrupted says so in its log before it is resumed", async () => {
  const place = createToolPlace();
  const run = place.start(["run", "anyone?", "--model", "slow", "--on-interrupt", "pause"], { BLOCK: "1" });
  await run.said("asked");
  run.signal("SIGKILL");
  await run.finished;
  const taskId = await newestTask(place);
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Here.\n" });
  expect(shapeOf(await logOf(place, taskId)).slice(5)).toEqual([
    "core/interrupted",
    "Waiting",
    "InputTaken",
    "ModelCalled",
    "ModelReplied",
    "Waiting",
  ]);
});

test("words to a task whose process was killed are taken, and the task is worked on", async () => {
  const place = createToolPlace();
  const run = place.start(["run", "anyone there?", "--model", "slow"], { BLOCK: "1" });
  await run.said("asked");
  run.signal("SIGKILL");
  await run.finished;
  const taskId = await newestTask(place);
  expect(await place.perdure("say", taskId, "hello?")).toMatchObject({ code: 0, stdout: "Here.\n" });
});

test("Ctrl-C lets the step end, gives the task back and says how to go on: exit 130", async () => {
  const place = createToolPlace(calls("Send", "block"), { text: "Sent." });
  const run = place.start(["run", "send", ...scripted]);
  await run.said("dispatched Send");
  run.signal("SIGINT");
  await run.said("stopping after this step");
  run.answer();
  const stopped = await run.finished;
  expect(stopped).toMatchObject({ code: 130, stdout: "" });
  const taskId = await newestTask(place);
  expect(stopped.stderr).toContain(`go on: perdure resume ${taskId}`);
  expect(shapeOf(await logOf(place, taskId)).at(-1)).toBe("ToolFinished");
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Sent.\n" });
  expect(place.read("effects.txt")).toBe("Send block\n");
});

test("SIGTERM does the same: exit 143", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const run = place.start(["run", "look", ...scripted]);
  await run.said("dispatched Look");
  run.signal("SIGTERM");
  await run.said("stopping after this step");
  run.answer();
  expect((await run.finished).code).toBe(143);
});

test("a second Ctrl-C leaves at once", async () => {
  const place = createToolPlace(calls("Look", "block"));
  const run = place.start(["run", "look", ...scripted]);
  await run.said("dispatched Look");
  run.signal("SIGINT");
  await run.said("stopping after this step");
  run.signal("SIGINT");
  expect((await run.finished).code).toBe(130);
});

test("a second process on the same task follows the one that holds it", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const first = place.start(["run", "look", ...scripted]);
  await first.said("dispatched Look");
  const taskId = await newestTask(place);
  const second = place.start(["resume", taskId]);
  await second.said("following it");
  first.answer();
  expect(await first.finished).toMatchObject({ code: 0, stdout: "Seen.\n" });
  expect(await second.finished).toMatchObject({ code: 0, stdout: "Seen.\n" });
  expect(place.read("effects.txt")).toBe("Look block\n");
});

test("a second process takes over when the first is killed", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const first = place.start(["run", "look", ...scripted]);
  await first.said("dispatched Look");
  const second = place.start(["resume", await newestTask(place)]);
  await second.said("following it");
  first.signal("SIGKILL");
  await second.said("dispatched Look");
  second.answer();
  expect(await second.finished).toMatchObject({ code: 0, stdout: "Seen.\n" });
});

test("interrupt reaches a tool that runs in another process, and the task is kept", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const run = place.start(["run", "look", ...scripted]);
  await run.said("dispatched Look");
  const taskId = await newestTask(place);
  expect((await place.perdure("interrupt", taskId)).code).toBe(0);
  expect((await run.finished).code).toBe(3);
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Seen.\n" });
});

test("cancel stops the turn for good; nothing is left to cancel then", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const run = place.start(["run", "look", ...scripted]);
  await run.said("dispatched Look");
  const taskId = await newestTask(place);
  const cancelled = await place.perdure("cancel", taskId, "--json");
  expect(cancelled.code).toBe(0);
  expect(viewOf(cancelled)).toMatchObject({ outcome: "cancelled" });
  expect((await run.finished).code).toBe(1);
  const again = await place.perdure("cancel", taskId);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain(`task ${taskId} has no turn to cancel: its last one is cancelled`);
  expect((await place.perdure("interrupt", taskId)).stderr).toContain("has no turn to interrupt");
});

test("close ends a task; it takes nothing more", async () => {
  const place = createPlace();
  await place.perdure("run", "hello");
  const taskId = await newestTask(place);
  expect(await place.perdure("close", taskId)).toMatchObject({ code: 0 });
  const late = await place.perdure("say", taskId, "hello again");
  expect(late).toMatchObject({ code: 1, stdout: "" });
  expect(late.stderr).toContain(`task ${taskId} has ended (done)`);
});

const looking = `
import { existsSync } from "node:fs";
import { defineAgent, defineConfig, defineTool } from "perdure";

export default defineConfig({
  agents: [
    defineAgent({
      name: "sender",
      tools: [
        defineTool({
          name: "Send",
          description: "Send",
          effect: "write",
          inputSchema: { type: "object", properties: {} },
          execute() {
            throw new Error("the other side hung up");
          },
          verify: () => (existsSync("reachable") ? "absent" : "unknown"),
        }),
      ],
    }),
  ],
});
`;

test("whoever has a tool look is told what it saw: that it cannot tell, and that nothing happened", async () => {
  const place = createPlace();
  place.write("perdure.config.ts", looking);
  place.write("script.jsonl", lines({ calls: [{ name: "Send", input: {} }] }, { text: "Sent." }));
  const { taskId } = viewOf(await place.perdure("run", "send", ...scripted, "--json"));
  const unsure = await place.perdure("verify", taskId, "c6_0");
  expect(unsure.code).toBe(3);
  expect(unsure.stderr).toContain("c6_0 Send stays unknown: its tool has looked, and cannot tell\n");
  place.write("reachable", "");
  const sure = await place.perdure("verify", taskId, "c6_0");
  expect(sure.code).toBe(3);
  expect(sure.stderr).toContain("c6_0 Send did not take effect: its tool has looked\n");
  expect((await place.perdure("resume", taskId)).stderr).not.toContain("its tool has looked");
});

test("a write that fails after it was dispatched is unknown: exit 3, and verify or resolve settles it", async () => {
  const place = createToolPlace(calls("Send", "fail"), { text: "Sent." });
  const ran = await place.perdure("run", "send", ...scripted, "--json");
  expect(ran.code).toBe(3);
  expect(viewOf(ran)).toMatchObject({ waitingOn: "resolution", unknown: [{ reason: "threw" }] });
  expect(ran.stderr).toContain("perdure resolve");
});

test("case-15: a resolution names its action, and an old one does not reach a newer", async () => {
  const place = createToolPlace(calls("Send", "fail"), calls("Send", "fail"), { text: "Sent." });
  const { taskId } = viewOf(await place.perdure("run", "send", ...scripted, "--json"));
  await place.perdure("resolve", taskId, "c6_0", "absent", "the outbox is empty");
  const second = viewOf(await place.perdure("resume", taskId, "--json"));
  const [{ action } = { action: "" }] = second.unknown;
  expect(action).not.toBe("c6_0");
  const stale = await place.perdure("resolve", taskId, "c6_0", "done", "the outbox holds it");
  expect(stale).toMatchObject({ code: 1 });
  expect(stale.stderr).toContain(`task ${taskId} has no unknown action c6_0; unknown: ${action} (Send)`);
  expect(viewOf(await place.perdure("show", taskId, "--json")).unknown).toMatchObject([{ action }]);
});

test("case-37: eight runs at once on one database all come through", async () => {
  const place = createPlace();
  place.write("script.jsonl", lines({ text: "Here." }));
  const runs = Array.from({ length: 8 }, () => place.perdure("run", "hello", ...scripted));
  for (const finished of await Promise.all(runs)) expect(finished).toMatchObject({ code: 0, stdout: "Here.\n" });
  const listed = await place.perdure("tasks", "--json");
  expect(JSON.parse(listed.stdout)).toHaveLength(8);
  expect(await place.perdure("check")).toMatchObject({ code: 0 });
});
