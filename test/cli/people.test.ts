// Several people around one task at the command line: real processes, a real file.
import { expect, test } from "vitest";
import { calls, createPlace, createToolPlace, lines, logOf, newestTask, viewOf, type Place } from "./perdure.ts";

const asks = (question: string): object => ({ calls: [{ name: "ask", input: { question } }] });

/** A task of somebody who names bob, in a place that is open to both. */
const createAsker = (...replies: readonly object[]): Place => {
  const place = createPlace();
  place.write("replies.jsonl", lines(...replies));
  place.write(
    "perdure.config.ts",
    `import { ask, defineAgent, defineConfig } from "perdure";
export default defineConfig({
  agents: [defineAgent({ name: "asker", model: "scripted:replies.jsonl", plugins: [ask()] })],
  access: { places: { cli: ["local:ada", "local:bob"], office: ["local:ada"], attic: ["local:bob"] } },
});`,
  );
  return place;
};

const asAda = ["--as", "ada"] as const;
const asBob = ["--as", "bob"] as const;

test("a correction skips what has not begun; the turn goes on with it", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "As you say." });
  const running = place.start(["run", "look", "--model", "scripted:script.jsonl"]);
  await running.said("dispatched Look");
  const taskId = await newestTask(place);
  const steered = await place.perdure("steer", taskId, "look elsewhere", "--no-wait", "--json", "--key", "k");
  expect(steered.code).toBe(0);
  expect(JSON.parse(steered.stdout)).toEqual({ taskId, seq: 2, duplicate: false, item: "Steer" });
  const again = await place.perdure("steer", taskId, "look elsewhere", "--no-wait", "--json", "--key", "k");
  expect(JSON.parse(again.stdout)).toMatchObject({ seq: 2, duplicate: true });
  running.answer();
  expect(await running.finished).toMatchObject({ code: 0, stdout: "As you say.\n" });
  const items = (await logOf(place, taskId)).flatMap(({ items }) => (items ?? []) as { type: string }[]);
  expect(items.map(({ type }) => type)).toEqual(["Say", "Steer"]);
  expect((await place.perdure("steer", taskId, " ")).code).toBe(2);
});

test("a collaborator steers and does nothing else; the owner sees who may and that it happened", async () => {
  const place = createAsker(asks("which colour?"), { text: "Painted." });
  expect((await place.perdure("run", "paint it", ...asAda)).code).toBe(3);
  const [{ taskId }] = JSON.parse((await place.perdure("tasks", "--json", ...asAda)).stdout) as [{ taskId: string }];
  const stranger = `local:bob has no task ${taskId}`;
  const early = await place.perdure("steer", taskId, "in green", ...asBob);
  expect(early).toMatchObject({ code: 1, stdout: "" });
  expect(early.stderr).toContain(stranger);
  expect((await place.perdure("collaborator", "add", taskId, "eve", ...asAda)).stderr).toContain(
    "local:eve, who may not act in cli",
  );
  expect(await place.perdure("collaborator", "add", taskId, "bob", ...asAda)).toMatchObject({ code: 0 });
  for (const command of ["show", "log", "cancel", "interrupt", "close", "resume", "chat"]) {
    const refused = await place.perdure(command, taskId, ...asBob);
    expect(refused.code, command).toBe(1);
    expect(refused.stderr, command).toContain(stranger);
  }
  for (const words of [
    ["say", taskId, "x"],
    ["answer", taskId, "x"],
    ["handoff", taskId, "--to", "attic"],
  ]) {
    expect((await place.perdure(...words, ...asBob)).stderr, words[0]).toContain(stranger);
  }
  expect((await place.perdure("tasks", ...asBob)).stderr).toContain("local:bob has no tasks");
  const steered = await place.perdure("steer", taskId, "in green", ...asBob);
  expect(steered).toMatchObject({ code: 0, stdout: "" });
  expect(steered.stderr).toBe(`task ${taskId}: Steer is item 3 of its inbox\n`);
  expect(await place.perdure("resume", taskId, ...asAda)).toMatchObject({ code: 0, stdout: "Painted.\n" });
  const shown = await place.perdure("show", taskId, ...asAda);
  expect(shown.stdout).toContain("steered by local:bob\n");
  expect(shown.stdout).toContain("a collaborator has corrected it");
  expect((await place.perdure("steer", taskId, "more", ...asBob)).stderr).toContain("is at rest");
  expect(await place.perdure("collaborator", "remove", taskId, "bob", ...asAda)).toMatchObject({ code: 0 });
  expect((await place.perdure("steer", taskId, "more", ...asBob)).stderr).toContain(stranger);
  expect((await place.perdure("collaborator", "rename", taskId, "bob")).code).toBe(2);
}, 120_000);

test("a task that is moved is found in its new place alone, and goes on there", async () => {
  const place = createAsker({ text: "Hello." }, { text: "Over here." });
  const { taskId } = viewOf(await place.perdure("run", "hello", "--json", ...asAda));
  expect((await place.perdure("handoff", taskId, ...asAda)).stderr).toContain("handoff needs --to PLACE");
  expect((await place.perdure("handoff", taskId, "--to", "attic", ...asAda)).stderr).toContain(
    "local:ada may not act there",
  );
  const moved = await place.perdure("handoff", taskId, "--to", "office", ...asAda);
  expect(moved).toMatchObject({ code: 0, stdout: "" });
  expect(moved.stderr).toContain(`task ${taskId} lives in office now, private; only there is it found: `);
  expect(moved.stderr).toMatch(new RegExp(`: perdure show ${taskId} --as ada --place office\n$`));
  expect((await place.perdure("show", taskId, ...asAda)).stderr).toContain(`local:ada has no task ${taskId}`);
  const there = [...asAda, "--place", "office"];
  const shown = await place.perdure("show", taskId, ...there);
  expect(shown.stdout).toContain("place      office, private");
  expect(shown.stderr).toContain(`perdure say ${taskId} "…" --as ada --place office`);
  expect(await place.perdure("say", taskId, "hello?", ...there)).toMatchObject({ code: 0, stdout: "Over here.\n" });
  expect((await place.perdure("show", taskId, ...asBob, "--place", "office")).stderr).toContain(
    "local:bob may not see tasks in office",
  );
  expect((await place.perdure("collaborator", "add", taskId, "bob", ...there)).stderr).toContain("is private");
}, 120_000);

test("what is said while a question waits is shown as queued", async () => {
  const place = createAsker(asks("which colour?"), { text: "Painted." });
  const { taskId } = viewOf(await place.perdure("run", "paint it", "--json", ...asAda));
  const said = await place.perdure("say", taskId, "by the way", ...asAda);
  expect(said.code).toBe(3);
  expect(said.stderr).toContain('queued until then: "by the way"');
  expect((await place.perdure("show", taskId, ...asAda)).stdout).toContain('queued     "by the way"');
  const answered = await place.perdure("answer", taskId, "red", ...asAda);
  expect(answered).toMatchObject({ code: 0, stdout: "Painted.\n" });
  expect(answered.stderr).not.toContain("queued");
});

test("without a configuration everybody who runs it may act in its own place, and in no other", async () => {
  const place = createPlace();
  expect((await place.perdure("run", "hello", "--as", "discord:1")).code).toBe(0);
  const elsewhere = await place.perdure("run", "hello", "--place", "office");
  expect(elsewhere).toMatchObject({ code: 1, stdout: "" });
  expect(elsewhere.stderr).toMatch(/may not act in office, or nobody can say so now/);
});

test.each([
  ["{ places: { cli: 5 } }", "access: places.cli"],
  ["{ place: {} }", "access: "],
  ['{ places: { cli: ["ada"] } }', "access: places.cli"],
])("an access that is none is refused: %s", async (access, says) => {
  const place = createPlace();
  place.write("perdure.config.ts", `export default { access: ${access} };`);
  const { code, stderr } = await place.perdure("tasks");
  expect(code).toBe(1);
  expect(stderr).toContain(`perdure.config.ts is no configuration: ${says}`);
});
