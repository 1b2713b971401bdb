// Questions, plans and other settings at the command line: real processes, a real file.
import { expect, test } from "vitest";
import { createPlace, lines, logOf, newestTask, viewOf, type Finished, type Place } from "./perdure.ts";

const asks = (question: string, choices?: readonly string[]): object => ({
  name: "ask",
  input: { question, ...(choices === undefined ? {} : { choices }) },
});

const createAsker = (...replies: readonly object[]): Place => {
  const place = createPlace();
  place.write("replies.jsonl", lines(...replies));
  return place;
};

const run = (place: Place, ...more: string[]): Promise<Finished> =>
  place.perdure("run", "paint it", "--model", "scripted:replies.jsonl", ...more);

test("a question is shown with its choices and how to answer: exit 3; the answer goes on: exit 0", async () => {
  const place = createAsker({ calls: [asks("which colour?", ["red", "blue"])] }, { text: "Painted." });
  const asked = await run(place);
  expect(asked).toMatchObject({ code: 3, stdout: "" });
  const taskId = await newestTask(place);
  expect(asked.stderr).toBe(
    [
      `task ${taskId} waits for an answer:`,
      "  c6_0: which colour?",
      "    1. red",
      "    2. blue",
      `    perdure answer ${taskId} "…"`,
      "",
    ].join("\n"),
  );
  const shown = await place.perdure("show", taskId);
  expect(shown.code).toBe(0);
  expect(shown.stderr).toContain("c6_0: which colour?");
  expect(await place.perdure("answer", taskId, "2")).toMatchObject({ code: 0, stdout: "Painted.\n" });
  const results = (await logOf(place, taskId)).filter(({ type }) => type === "ToolFinished");
  expect(JSON.stringify(results)).toContain('"text":"blue"');
});

test("--json gives the open questions, and the receipt with --no-wait", async () => {
  const place = createAsker({ calls: [asks("which colour?")] }, { text: "Painted." });
  const asked = await run(place, "--json");
  expect(asked.code).toBe(3);
  const { taskId, ...view } = viewOf(asked);
  expect(view).toMatchObject({
    waitingOn: "answer",
    questions: [{ question: "c6_0", text: "which colour?", choices: [], askedSeq: 8 }],
  });
  const posted = await place.perdure("answer", taskId, "c6_0", "green", "--no-wait", "--json");
  expect(posted.code).toBe(0);
  expect(JSON.parse(posted.stdout)).toMatchObject({ taskId, item: "Answer", seq: 2 });
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Painted.\n" });
});

test("case-10: of several questions each is named, and answered by itself", async () => {
  const place = createAsker({ calls: [asks("which colour?"), asks("how thick?")] }, { text: "Painted." });
  const { stderr } = await run(place);
  const taskId = await newestTask(place);
  expect(stderr).toContain(`perdure answer ${taskId} c6_0 "…"`);
  expect(stderr).toContain(`perdure answer ${taskId} c6_1 "…"`);
  const unnamed = await place.perdure("answer", taskId, "red");
  expect(unnamed).toMatchObject({ code: 1, stdout: "" });
  expect(unnamed.stderr).toContain("c6_0 (which colour?), c6_1 (how thick?)");
  expect((await place.perdure("answer", taskId, "c6_1", "very")).code).toBe(3);
  expect(await place.perdure("answer", taskId, "red")).toMatchObject({ code: 0, stdout: "Painted.\n" });
});

test("case-15: an answer to a question that is not open is told what became of it", async () => {
  const place = createAsker({ calls: [asks("which colour?")] }, { calls: [asks("sure?")] }, { text: "Painted." });
  await run(place);
  const taskId = await newestTask(place);
  expect((await place.perdure("answer", taskId, "red", "--key", "k1")).code).toBe(3);
  const late = await place.perdure("answer", taskId, "c6_0", "blue");
  expect(late).toMatchObject({ code: 1, stdout: "" });
  expect(late.stderr).toMatch(/has no open question c6_0: it was answered by local:\S+: "red"; open: c13_0/);
  const unknown = await place.perdure("answer", taskId, "c9_9", "blue");
  expect(unknown).toMatchObject({ code: 1 });
  expect(unknown.stderr).toContain("it was not asked");
  await place.perdure("interrupt", taskId);
  const stopped = await place.perdure("answer", taskId, "c13_0", "yes");
  expect(stopped.stderr).toContain("is closed: its turn was stopped");
  expect((await place.perdure("answer", taskId, "yes")).stderr).toContain("has no open question");
});

test("the same key answers once, and is no answer to another question", async () => {
  const place = createAsker({ calls: [asks("which colour?")] }, { calls: [asks("sure?")] }, { text: "Painted." });
  await run(place);
  const taskId = await newestTask(place);
  const answer = ["answer", taskId, "c6_0", "red", "--key", "k1"];
  expect((await place.perdure(...answer)).code).toBe(3);
  expect((await place.perdure(...answer)).code).toBe(3);
  const taken = (await logOf(place, taskId)).filter(({ type }) => type === "InputTaken");
  expect(taken).toHaveLength(2);
});

test("an empty answer, or none, is a mistake: exit 2", async () => {
  const place = createAsker({ calls: [asks("which colour?")] });
  await run(place);
  const taskId = await newestTask(place);
  expect((await place.perdure("answer", taskId, " ")).code).toBe(2);
  const missing = await place.perdure("answer", taskId);
  expect(missing).toMatchObject({ code: 2 });
  expect(missing.stderr).toContain("perdure answer <task> [question] <text>");
  expect((await place.perdure("answer", taskId, "a", "b", "c")).code).toBe(2);
});

test("show gives the plan, the goals and the notes; an open goal makes another leg of the same turn", async () => {
  const place = createAsker(
    {
      calls: [
        { name: "plan_update", input: { expected_version: 0, steps: [{ text: "mix", status: "in_progress" }] } },
        { name: "note_add", input: { text: "the pot is blue" } },
        { name: "goal_set", input: { text: "it is painted" } },
      ],
    },
    { text: "Begun." },
    { calls: [{ name: "goal_update", input: { id: "g1", status: "done" } }] },
    { text: "Painted." },
  );
  const done = await run(place, "--json");
  expect(done.code).toBe(0);
  expect(viewOf(done)).toMatchObject({
    answer: "Painted.",
    saved: {
      plan: { version: 1, steps: [{ id: "s1", status: "in_progress", text: "mix" }] },
      goals: [{ id: "g1", status: "done", text: "it is painted", reason: null }],
      notes: [{ id: "n1", text: "the pot is blue" }],
    },
  });
  const { stdout } = await place.perdure("show", viewOf(done).taskId);
  expect(stdout).toMatch(
    /plan +version 1\n +s1 \(in_progress\) mix\ngoals +g1 \(done\) it is painted\nnotes +n1 the pot/,
  );
  expect((await place.perdure("check")).code).toBe(0);
});

test("a task whose model is gone is given another with set, and goes on", async () => {
  const place = createAsker({ calls: [{ name: "Read", input: { file_path: "a.txt" } }] }, { text: "Old." });
  place.write("a.txt", "hello");
  place.write("newer.jsonl", lines({ text: "never" }, { text: "New." }));
  const paused = await run(place, "--max-steps", "1");
  expect(paused.code).toBe(3);
  const taskId = await newestTask(place);
  place.write("perdure.config.ts", `export default { models: {} }`);
  const renamed = await place.perdure("set", taskId, "model=retired/one", "--no-wait");
  expect(renamed.code).toBe(0);
  // What was posted is taken first; the turn still waits for its resume.
  expect((await place.perdure("resume", taskId)).code).toBe(3);
  const stuck = await place.perdure("resume", taskId);
  expect(stuck).toMatchObject({ code: 1, stdout: "" });
  expect(stuck.stderr).toContain('"retired/one"');
  expect(stuck.stderr).toContain(`perdure set ${taskId} model=NAME`);
  const unknown = await place.perdure("set", taskId, "model=nobody/knows");
  expect(unknown).toMatchObject({ code: 1 });
  expect((await place.perdure("set", taskId, "model=scripted:newer.jsonl", "maxSteps=5")).code).toBe(3);
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "New.\n" });
  const configs = (await logOf(place, taskId)).filter((event) => JSON.stringify(event).includes('"kind":"config"'));
  expect(configs).toHaveLength(2);
});

test("set takes settings that a task can have: exit 2 otherwise", async () => {
  const place = createAsker({ text: "Painted." });
  await run(place);
  const taskId = await newestTask(place);
  for (const change of ["maxSteps=0", "maxSteps=many", "model=", "workspace=/", "model", "temperature="]) {
    expect((await place.perdure("set", taskId, change)).code, change).toBe(2);
  }
  expect((await place.perdure("set", taskId, "maxSteps=1", "maxSteps=2")).code).toBe(2);
  expect((await place.perdure("set", taskId)).code).toBe(2);
  expect(await place.perdure("set", taskId, "maxSteps=3", "temperature=0.5")).toMatchObject({ code: 0 });
});
