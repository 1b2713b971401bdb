import { expect, test } from "vitest";
import {
  calls,
  createPlace,
  createToolPlace,
  lines,
  logOf,
  newestTask,
  shapeOf,
  viewOf,
  type Place,
} from "./perdure.ts";

const createReader = (): Place => {
  const place = createPlace();
  place.write("a.txt", "hello world");
  place.write(
    "replies.jsonl",
    lines(
      { calls: [{ name: "Read", input: { file_path: "a.txt" } }], usage: { input: 10, output: 5 } },
      { text: "It says hello world.", usage: { input: 20, output: 6 } },
    ),
  );
  return place;
};

const question = ["run", "what is in a.txt?", "--model", "scripted:replies.jsonl", "--db", "t.db"];

test("run answers from a real file, and prints one JSON object", async () => {
  const place = createReader();
  const finished = await place.perdure(...question, "--json");
  expect(finished.code).toBe(0);
  expect(viewOf(finished)).toMatchObject({
    taskId: expect.stringMatching(/^[a-z2-7]{20}$/),
    status: "waiting",
    waitingOn: "input",
    outcome: "completed",
    answer: "It says hello world.",
    lastSeq: 12,
    usage: { calls: 2, input: 30, output: 11, failed: 0, unknown: 0 },
    owner: expect.stringMatching(/^local:./),
    workspace: place.folder,
    unknown: [],
  });
});

test("log prints the events of that task, one a line", async () => {
  const place = createReader();
  const { taskId } = viewOf(await place.perdure(...question, "--json"));
  const { stdout, code } = await place.perdure("log", taskId, "--db", "t.db");
  expect(code).toBe(0);
  const printed = stdout.trimEnd().split("\n");
  const events = [
    / 1 TaskCreated {8}agent=default {2}mode=conversation {2}owner=local:/,
    / 2 ExtensionRecorded {2}core\/prompts {3}\{identity: /,
    / 3 ExtensionRecorded {2}core\/plugins {3}\{pins: \[\{name: ask, /,
    / 4 InputTaken {9}items=\[Say "what is in a\.txt\?"\] {2}through=1$/,
    / 5 ModelCalled {8}model=scripted:replies\.jsonl {2}request_hash=[0-9a-f]{8}…$/,
    / 6 ModelReplied {7}tool_use Read \{file_path: a\.txt\} {3}stop_reason=tool_use$/,
    / 7 ToolStarted {8}c6_0 Read \{file_path: a\.txt\}$/,
    / 8 ExtensionRecorded {2}fs\/read {8}\{path: a\.txt, /,
    / 9 ToolFinished {7}c6_0 "1\\thello world"$/,
    /10 ModelCalled {8}model=scripted:replies\.jsonl {2}request_hash=[0-9a-f]{8}…$/,
    /11 ModelReplied {7}"It says hello world\." {3}stop_reason=end_turn$/,
    /12 Waiting {12}on=input {2}outcome=completed {2}detail=\{answer: "It says hello world\."\}$/,
  ];
  expect(printed).toEqual(events.map((event): unknown => expect.stringMatching(event)));
});

test("without --json the answer alone stands on stdout, and what to do next on stderr", async () => {
  const { stdout, stderr, code } = await createReader().perdure(...question);
  expect(stdout).toBe("It says hello world.\n");
  expect(stderr).toMatch(/^task [a-z2-7]{20} has answered; go on: perdure say [a-z2-7]{20} "…" --db t\.db\n$/);
  expect(code).toBe(0);
});

test("under npx, what to do next is said with npx", async () => {
  const { stderr } = await createReader().start(question, { npm_execpath: "/usr/lib/npm-cli.js" }).finished;
  expect(stderr).toMatch(/go on: npx perdure say /);
});

test("run without a model asks the demo, which says that it is no language model", async () => {
  const { stdout, code } = await createReader().perdure("run", "what is in a.txt?");
  expect(stdout).toContain("hello world");
  expect(stdout).toContain("no language model");
  expect(code).toBe(0);
});

test("start answers from a file of the package, and says where the log is and what to try", async () => {
  const place = createPlace();
  const { stdout, stderr, code } = await place.perdure("start");
  expect(code).toBe(0);
  expect(stdout).toContain("perdure");
  expect(stderr).toContain(`${place.folder}/.perdure/tasks.db`);
  const [, command = ""] = /perdure (log [a-z2-7]{20})/.exec(stderr) ?? [];
  expect((await place.perdure(...command.split(" "))).stdout).toContain("12 Waiting");
});

test("the default database keeps itself out of version control", async () => {
  const place = createReader();
  await place.perdure("run", "hello");
  expect(place.read(".perdure/.gitignore")).toBe("*\n");
});

test("a turn that stops at its limit waits for a resume: exit 3, and resume goes on", async () => {
  const place = createReader();
  const paused = await place.perdure(...question, "--max-steps", "1", "--json");
  expect(paused.code).toBe(3);
  expect(viewOf(paused)).toMatchObject({ waitingOn: "resume", outcome: "paused", reason: "max_steps", answer: null });
  const resumed = await place.perdure("resume", viewOf(paused).taskId, "--db", "t.db");
  expect(resumed).toMatchObject({ code: 0, stdout: "It says hello world.\n" });
});

test("a oneShot ends with its answer: exit 0; one that fails: exit 1", async () => {
  const place = createReader();
  const done = await place.perdure(...question, "--mode", "oneShot", "--json");
  expect(done.code).toBe(0);
  expect(viewOf(done)).toMatchObject({ status: "ended", outcome: "done", answer: "It says hello world." });
  place.write("replies.jsonl", "");
  const failed = await place.perdure(...question, "--mode", "oneShot", "--json");
  expect(failed.code).toBe(1);
  expect(viewOf(failed)).toMatchObject({
    status: "ended",
    outcome: "failed",
    reason: "model_bad_request",
    problem: expect.stringContaining("no reply 1"),
  });
});

test("a run starts again by resume alone; words to it are taken along", async () => {
  const place = createPlace();
  place.write("replies.jsonl", lines({ text: "One." }, { text: "Two." }));
  const first = await place.perdure("run", "count", "--mode", "run", "--model", "scripted:replies.jsonl", "--json");
  expect(first.code).toBe(0);
  expect(viewOf(first)).toMatchObject({ waitingOn: "resume", outcome: "completed", answer: "One." });
  const { taskId } = viewOf(first);
  const said = await place.perdure("say", taskId, "and on");
  expect(said).toMatchObject({ code: 0, stdout: "" });
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Two.\n" });
  const events = await logOf(place, taskId);
  expect(shapeOf(events).filter((shape) => shape === "ModelReplied")).toHaveLength(2);
});

test("case-28: the same key gives the same task and the same words, once", async () => {
  const place = createPlace();
  place.write("replies.jsonl", lines({ text: "One." }, { text: "Two." }, { text: "Three." }));
  const run = ["run", "count", "--model", "scripted:replies.jsonl", "--key", "k1", "--json"];
  const { taskId } = viewOf(await place.perdure(...run));
  const again = await place.perdure(...run);
  expect(viewOf(again)).toMatchObject({ taskId, answer: "One." });
  expect(again.stderr).toContain(`the key k1 has a task already: ${taskId}`);
  const say = ["say", taskId, "on", "--key", "m1"];
  expect(await place.perdure(...say)).toMatchObject({ code: 0, stdout: "Two.\n" });
  expect(await place.perdure(...say)).toMatchObject({ code: 0, stdout: "" });
  const other = await place.perdure("say", taskId, "something else", "--key", "m1");
  expect(other).toMatchObject({ code: 1, stdout: "" });
  const taken = (await logOf(place, taskId)).filter(({ type }) => type === "InputTaken");
  expect(taken).toHaveLength(2);
});

test("--no-wait leaves the work to others", async () => {
  const place = createReader();
  const { stdout, code } = await place.perdure(...question, "--no-wait");
  const taskId = stdout.trim();
  expect(code).toBe(0);
  expect((await place.perdure("log", taskId, "--db", "t.db")).stdout.split("\n")).toHaveLength(2);
  expect(await place.perdure("resume", taskId, "--db", "t.db")).toMatchObject({
    code: 0,
    stdout: "It says hello world.\n",
  });
});

test("flags win over variables, variables over the configuration", async () => {
  const place = createToolPlace({ text: "scripted" });
  place.write("other.jsonl", lines({ text: "other" }));
  const answers = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> =>
    (await place.start(["run", "hi", ...args], env).finished).stdout.trim();
  place.write(
    "perdure.config.ts",
    `export default { agents: [{ name: "one", model: "scripted:script.jsonl" }, { name: "two", model: "demo" }] }`,
  );
  expect(await answers([], {})).toBe("scripted");
  expect(await answers([], { PERDURE_MODEL: "scripted:other.jsonl" })).toBe("other");
  expect(await answers(["--model", "scripted:script.jsonl"], { PERDURE_MODEL: "demo" })).toBe("scripted");
  expect(await answers([], { PERDURE_AGENT: "two" })).toContain("demo model");
  expect(await answers(["--agent", "one"], { PERDURE_AGENT: "two" })).toBe("scripted");
});

test("tasks shows the asker's own, and nobody else's", async () => {
  const place = createPlace();
  await place.perdure("run", "mine");
  await place.perdure("run", "hers", "--as", "alice");
  const mine = (await place.perdure("tasks")).stdout;
  expect(mine).toContain("mine");
  expect(mine).not.toContain("hers");
  const taskId = await newestTask(place);
  const asAlice = await place.perdure("show", taskId, "--as", "alice");
  expect(asAlice).toMatchObject({ code: 1, stdout: "" });
  expect(asAlice.stderr).toContain(`local:alice has no task ${taskId}`);
  for (const command of ["log", "cancel", "close", "resume"]) {
    expect((await place.perdure(command, taskId, "--as", "alice")).code).toBe(1);
  }
});

test("a task is named by the beginning of its id", async () => {
  const place = createPlace();
  await place.perdure("run", "hello");
  const taskId = await newestTask(place);
  expect((await place.perdure("show", taskId.slice(0, 6), "--json")).stdout).toContain(taskId);
});

test("the request of a call is built again from the log, and is what was sent", async () => {
  const place = createReader();
  const { taskId } = viewOf(await place.perdure(...question, "--json"));
  const { stdout, code } = await place.perdure("request", taskId, "--at", "10", "--db", "t.db", "--json");
  expect(code).toBe(0);
  const view = JSON.parse(stdout) as { same: boolean; recordedHash: string; request: { messages: { role: string }[] } };
  expect(view).toMatchObject({ seq: 10, same: true });
  expect(view.request.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
});

test("a tool of the configuration runs, and its action stands in show and doctor", async () => {
  const place = createToolPlace(calls("Send", "post"), { text: "Sent." });
  const ran = await place.perdure("run", "send it", "--model", "scripted:script.jsonl", "--json");
  expect(viewOf(ran)).toMatchObject({
    answer: "Sent.",
    actions: [{ action: "c6_0", name: "Send", effect: "write", status: "ok" }],
  });
  expect(place.read("effects.txt")).toBe("Send post\n");
  const doctor = await place.perdure("doctor");
  expect(doctor).toMatchObject({ code: 0 });
  expect(doctor.stdout).toMatch(/agents +sender \(.*Look.*Send/);
});
