import { expect, test } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { commandHelp } from "../../src/cli/help.ts";
import { calls, createPlace, createToolPlace, newestTask, type Place } from "./perdure.ts";

/** A task that waits for a resolution. */
const withUnknown = async (): Promise<{ place: Place; taskId: string }> => {
  const place = createToolPlace(calls("Send", "fail"), { text: "Sent." });
  await place.perdure("run", "send", "--model", "scripted:script.jsonl");
  return { place, taskId: await newestTask(place) };
};

test("every command prints exactly one JSON value on stdout with --json", async () => {
  const { place, taskId } = await withUnknown();
  const commands: readonly (readonly [readonly string[], number])[] = [
    [["tasks"], 0],
    [["show", taskId], 0],
    [["log", taskId], 0],
    [["request", taskId, "--at", "5"], 0],
    [["export", taskId], 0],
    [["export", taskId, "--bundle", "bundle"], 0],
    [["export", taskId, "--bundle", "bundle"], 1],
    [["import", "bundle"], 0],
    [["check"], 0],
    [["check", taskId], 0],
    [["stats"], 0],
    [["doctor"], 0],
    [["resume", taskId], 1],
    [["verify", taskId, "c6_0"], 1],
    [["resolve", taskId, "c6_0", "done", "seen"], 3],
    [["resume", taskId], 0],
    [["cancel", taskId], 1],
    [["interrupt", taskId], 1],
    [["release", taskId], 1],
    [["say", taskId, "hello", "--no-wait"], 0],
    [["close", taskId, "--no-wait"], 0],
    [["start"], 0],
    [["run", "hello", "--no-wait", "--model", "demo"], 0],
    [["run"], 2],
    [["tasks", "--limit", "none"], 2],
  ];
  for (const [args, code] of commands) {
    const finished = await place.perdure(...args, "--json");
    expect({ args, code: finished.code }).toEqual({ args, code });
    const value: unknown = JSON.parse(finished.stdout);
    if (code === 1 || code === 2) expect(value).toMatchObject({ error: { message: expect.any(String) } });
  }
});

test("log --json is an array of the events, whole", async () => {
  const { place, taskId } = await withUnknown();
  const events = JSON.parse((await place.perdure("log", taskId, "--json")).stdout) as { seq: number; at: number }[];
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events[0]).toMatchObject({ seq: 1, at: expect.any(Number), type: "TaskCreated", objective: "send" });
  const later = JSON.parse((await place.perdure("log", taskId, "--json", "--after", "3")).stdout) as { seq: number }[];
  expect(later[0]?.seq).toBe(4);
});

test("log --follow shows events as they come, until the task ends", async () => {
  const { place, taskId } = await withUnknown();
  const text = place.start(["log", taskId, "--follow"]);
  const json = place.start(["log", taskId, "--follow", "--json"]);
  await text.said("Waiting            on=resolution");
  await json.said('"resolution"');
  await place.perdure("resolve", taskId, "c6_0", "done", "seen");
  await text.said("action_settled");
  await place.perdure("close", taskId);
  const printed = await text.finished;
  expect(printed.code).toBe(0);
  expect(printed.stdout.trimEnd().split("\n").at(-1)).toContain("TaskEnded");
  const events = JSON.parse((await json.finished).stdout) as { type: string }[];
  expect(events.at(-1)?.type).toBe("TaskEnded");
});

test("log --follow --json is whole JSON also when it is stopped", async () => {
  const { place, taskId } = await withUnknown();
  const following = place.start(["log", taskId, "--follow", "--json"]);
  await following.said('"core"');
  following.signal("SIGINT");
  const finished = await following.finished;
  expect(finished.code).toBe(130);
  expect(Array.isArray(JSON.parse(finished.stdout))).toBe(true);
});

test("a reader that leaves ends the command without a word", async () => {
  const { place, taskId } = await withUnknown();
  for (const args of [["log", taskId, "--follow"], ["log", taskId], ["tasks"], ["--help"]]) {
    const command = place.start(args);
    command.stopReading();
    if (args.includes("--follow")) await place.perdure("say", taskId, "hello", "--no-wait");
    if (args.includes("--follow")) await place.perdure("resolve", taskId, "c6_0", "done", "seen");
    const { stderr, code } = await command.finished;
    expect({ args, stderr, code }).toEqual({ args, stderr: "", code: 0 });
  }
});

test("help names every command, and each command has its own", async () => {
  const place = createPlace();
  const { stdout, code } = await place.perdure("--help");
  expect(code).toBe(0);
  for (const command of commands) {
    expect(stdout).toContain(`\n  ${command.name} `);
    expect(commandHelp(command)).toMatch(new RegExp(`^perdure ${command.name} .*options\\]\\n\\n${command.summary}`));
  }
  const own = await place.perdure("resolve", "--help");
  expect(own).toMatchObject({ code: 0, stderr: "" });
  expect(own.stdout).toContain("perdure resolve <task> <action> <outcome> <verification> [options]");
  const bare = await place.perdure();
  expect(bare).toMatchObject({ code: 2, stdout: "" });
  expect((await place.perdure("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("an unexpected error is one line; --debug shows where it came from", async () => {
  const place = createPlace();
  place.write("perdure.config.ts", `export default { agents: [{ name: "a", plugins: [{ name: "p" }] }] }`);
  place.write("late.ts", "");
  place.write(
    "perdure.config.js",
    `const model = { name: "m", contextTokens: null, async *stream() { Promise.reject(new Error("stray")); await new Promise(() => setTimeout(() => {}, 60000)); } };
export default { models: { m: model } };`,
  );
  const args = ["run", "hello", "--model", "m", "--config", "perdure.config.js"];
  const plain = await place.perdure(...args);
  expect(plain).toMatchObject({ code: 1, stdout: "" });
  expect(plain.stderr).toMatch(/^perdure: Error: stray \(--debug shows where it came from\)\n$/);
  expect((await place.perdure(...args, "--debug")).stderr).toContain("at ");
});
