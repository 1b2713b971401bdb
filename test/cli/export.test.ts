import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TaskExport } from "../../src/client/export-task.ts";
import { calls, createToolPlace, logOf, newestTask, shapeOf, viewOf, type Place } from "./perdure.ts";

const scripted = ["--model", "scripted:script.jsonl"];

/** A task whose process was killed in the middle of a write. */
const killed = async (): Promise<{ readonly place: Place; readonly taskId: string }> => {
  const place = createToolPlace(calls("Send", "block"), { text: "Sent." });
  const run = place.start(["run", "send it", ...scripted]);
  await run.said("dispatched Send");
  run.signal("SIGKILL");
  await run.finished;
  return { place, taskId: await newestTask(place) };
};

const answered = async (): Promise<{ readonly place: Place; readonly taskId: string }> => {
  const place = createToolPlace(calls("Send", "a"), { text: "Sent." }, { text: "Sure." });
  await place.perdure("run", "send it", ...scripted);
  return { place, taskId: await newestTask(place) };
};

test("export prints a page; --to writes page and JSON for the owner alone, and overwrites nothing", async () => {
  const { place, taskId } = await answered();
  const page = await place.perdure("export", taskId);
  expect(page).toMatchObject({ code: 0, stderr: "" });
  expect(page.stdout).toContain(`# Task ${taskId}\n`);
  expect(page.stdout).toContain("### c6_0 Send (write): ok");
  expect((await place.perdure("export", taskId, "--to", "out")).code).toBe(0);
  expect(readdirSync(join(place.folder, "out"))).toEqual([`${taskId}.json`, `${taskId}.md`]);
  expect(statSync(join(place.folder, "out", `${taskId}.json`)).mode & 0o777).toBe(0o600);
  const task = JSON.parse(place.read(`out/${taskId}.json`)) as TaskExport;
  expect(task).toMatchObject({ format: "perdure-export/1", taskId, actions: [{ input: { text: "a" }, status: "ok" }] });
  const again = await place.perdure("export", taskId, "--to", "out");
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing is overwritten") });
  const other = await place.perdure("export", taskId, "--as", "bob");
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining(`local:bob has no task ${taskId}`) });
});

test("an import of a task that was killed in a write pauses with the action unknown, and nothing runs twice", async () => {
  const { place, taskId } = await killed();
  expect((await place.perdure("export", taskId, "--bundle", "b")).code).toBe(0);
  const imported = await place.perdure("import", "b", "--db", "other.db");
  expect(imported.code).toBe(0);
  const copy = imported.stdout.trim();
  expect(copy).not.toBe(taskId);
  const resumed = await place.perdure("resume", copy, "--db", "other.db", "--json");
  expect(resumed.code).toBe(3);
  expect(viewOf(resumed)).toMatchObject({
    ...{ taskId: copy, waitingOn: "resolution", outcome: "paused", reason: "restored" },
    unknown: [{ action: "c6_0", name: "Send", reason: "restored" }],
  });
  const args = ["--db", "other.db"];
  await place.perdure("resolve", copy, "c6_0", "done", "it is in the outbox", ...args);
  expect(await place.perdure("resume", copy, ...args)).toMatchObject({ code: 0, stdout: "Sent.\n" });
  expect(place.read("effects.txt")).toBe("Send block\n");
  expect((await place.perdure("check", ...args)).code).toBe(0);
});

test("a worker that finds an import in mid-turn pauses it before anything is called", async () => {
  const place = createToolPlace();
  const run = place.start(["run", "anyone there?", "--model", "slow"], { BLOCK: "1" });
  await run.said("asked");
  run.signal("SIGKILL");
  await run.finished;
  await place.perdure("export", await newestTask(place), "--bundle", "b");
  const copy = (await place.perdure("import", "b")).stdout.trim();
  const first = await place.perdure("resume", copy);
  expect(first).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("look before you let it go on") });
  expect(shapeOf(await logOf(place, copy)).slice(-2)).toEqual(["core/interrupted", "Waiting"]);
  expect(await place.perdure("resume", copy)).toMatchObject({ code: 0, stdout: "Here.\n" });
});

test("a bundle that was changed or cut is refused, and no task comes of it", async () => {
  const { place, taskId } = await answered();
  const told = await place.perdure("export", taskId, "--bundle", "b", "--json");
  const { head } = JSON.parse(told.stdout) as { head: string };
  const bundle = place.read("b");
  place.write("changed", bundle.replace("Sure", "Pure").replace('\\"text\\":\\"a\\"', '\\"text\\":\\"b\\"'));
  place.write("cut", bundle.split("\n").slice(0, -3).join("\n"));
  for (const [file, says] of Object.entries({ changed: "it was changed", cut: "its last line is missing" })) {
    const refused = await place.perdure("import", file, "--db", "new.db", "--json");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(says) });
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: "damaged" } });
  }
  const other = await place.perdure("import", "b", "--expect", "0".repeat(64));
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("no event has the head 000") });
  expect((await place.perdure("import", "b", "--as", "bob")).stderr).toContain("belongs to local:root in cli");
  expect(JSON.parse((await place.perdure("tasks", "--json")).stdout)).toHaveLength(1);
  expect((await place.perdure("import", "b", "--expect", head)).code).toBe(0);
});

test("a move closes the task here and lets it go on there; one with an unknown action stays, and its bundle goes", async () => {
  const { place, taskId } = await answered();
  const moved = await place.perdure("export", taskId, "--bundle", "b", "--move", "--json");
  expect(moved.code).toBe(0);
  expect(JSON.parse(moved.stdout)).toMatchObject({ moved: true });
  expect(viewOf(await place.perdure("show", taskId, "--json"))).toMatchObject({ status: "ended", outcome: "done" });
  const copy = (await place.perdure("import", "b", "--db", "there.db")).stdout.trim();
  const said = await place.perdure("say", copy, "again?", "--db", "there.db");
  expect(said).toMatchObject({ code: 3, stdout: "" });
  expect(await place.perdure("resume", copy, "--db", "there.db")).toMatchObject({ code: 0, stdout: "Sure.\n" });

  const { place: elsewhere, taskId: stuck } = await killed();
  await elsewhere.perdure("resume", stuck);
  const refused = await elsewhere.perdure("export", stuck, "--bundle", "b", "--move");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("while an action is unknown") });
  expect(readdirSync(elsewhere.folder)).not.toContain("b");
});
