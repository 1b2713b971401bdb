// Whatever is wrong, a person gets one line that says so, the exit code tells usage (2) from error (1), and files that
// are not perdure's stay as they are.
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createPlace, createToolPlace, lines, newestTask, type Finished, type Place } from "./perdure.ts";

/** One line on stderr that begins like this and holds the words, nothing on stdout. */
const expectLine = (finished: Finished, code: number, words: string | RegExp): void => {
  expect(finished.stdout).toBe("");
  expect(finished.stderr).toMatch(/^perdure: [^\n]+\n$/);
  expect(finished.stderr).toMatch(words);
  expect(finished.code).toBe(code);
};

interface Bad {
  readonly name: string;
  readonly args: readonly string[];
  readonly code: 1 | 2;
  readonly says: string | RegExp;
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

const config = (text: string): Readonly<Record<string, string>> => ({ "perdure.config.ts": text });
const run = ["run", "hello"];

const table: readonly Bad[] = [
  { name: "no such command", args: ["rnu"], code: 2, says: 'there is no command "rnu"; perdure --help lists them' },
  { name: "an option before the command", args: ["--db", "tasks"], code: 2, says: "the command comes first" },
  { name: "no such option", args: ["tasks", "--colour"], code: 2, says: "Unknown option '--colour'" },
  { name: "an option without its value", args: ["tasks", "--db"], code: 2, says: "'--db <value>' argument missing" },
  { name: "a word too few", args: ["show"], code: 2, says: "show needs <task>: perdure show <task>" },
  { name: "a word too many", args: ["run", "two", "words"], code: 2, says: 'takes no "words".*needs quotes' },
  { name: "an empty objective", args: ["run", " "], code: 2, says: "an objective that says something" },
  { name: "a number that is none", args: [...run, "--max-steps", "many"], code: 2, says: '--max-steps .*not "many"' },
  { name: "zero steps", args: [...run, "--max-steps", "0"], code: 2, says: "whole number of at least 1" },
  {
    name: "a priority that is none",
    args: [...run, "--priority", "high"],
    code: 2,
    says: "--priority must be a whole",
  },
  {
    name: "no places",
    args: ["worker", "--concurrency", "0"],
    code: 2,
    says: "--concurrency must be a whole number of",
  },
  { name: "a word for a worker", args: ["worker", "mail"], code: 2, says: 'worker takes no "mail"' },
  {
    name: "a mode that is none",
    args: [...run, "--mode", "chat"],
    code: 2,
    says: "--mode must be conversation or run",
  },
  {
    name: "a bad variable",
    args: run,
    env: { PERDURE_ON_INTERRUPT: "cry" },
    code: 2,
    says: "PERDURE_ON_INTERRUPT must be continue or pause",
  },
  { name: "a principal that is none", args: [...run, "--as", "a b"], code: 2, says: "--as must be a name or kind:id" },
  { name: "a workspace that is not there", args: [...run, "--workspace", "gone"], code: 2, says: "is not a folder" },
  {
    name: "another database",
    args: [...run, "--db", "mysql://h/d"],
    code: 2,
    says: "mysql:// is not a scheme that it knows",
  },
  {
    name: "a Postgres that is not there",
    args: [...run, "--db", "postgres://u:secret@127.0.0.1:1/d"],
    code: 1,
    says: "postgres://u@127.0.0.1:1/d",
  },
  { name: "another scheme", args: [...run, "--db", "mysql://h/d"], code: 2, says: "mysql:// is not a scheme" },
  {
    name: "an unknown model",
    args: [...run, "--model", "gpt"],
    code: 1,
    says: 'no model "gpt"; known are demo, scripted',
  },
  { name: "an unknown agent", args: [...run, "--agent", "bob"], code: 1, says: 'no agent "bob"; known are default' },
  { name: "a script that is not there", args: [...run, "--model", "scripted:no.jsonl"], code: 1, says: "no such file" },
  {
    name: "a malformed script",
    files: { "s.jsonl": '{"text": "one"}\n{"text": \n' },
    args: [...run, "--model", "scripted:s.jsonl"],
    code: 1,
    says: /s\.jsonl:2: not JSON/,
  },
  { name: "no database", args: ["tasks"], code: 1, says: "no database at .perdure/tasks.db: perdure run makes one" },
  {
    name: "a configuration that is not there",
    args: [...run, "--config", "c.ts"],
    code: 1,
    says: "no configuration at c",
  },
  {
    name: "a configuration that does not parse",
    files: config("export default {\n ]"),
    args: run,
    code: 1,
    says: "line 2",
  },
  {
    name: "a configuration that throws",
    files: config(`throw new Error("no\\nkey")`),
    args: run,
    code: 1,
    says: "perdure.config.ts cannot be loaded: line 1: no",
  },
  {
    name: "a configuration that imports what is not there",
    files: config(`import "nowhere-to-be-found"; export default {}`),
    args: run,
    code: 1,
    says: "Cannot find package 'nowhere-to-be-found'",
  },
  {
    name: "a configuration without a default",
    files: config("export {}"),
    args: run,
    code: 1,
    says: "exports no config",
  },
  {
    name: "a configuration with an unknown field",
    files: config("export default { agnets: [] }"),
    args: run,
    code: 1,
    says: "perdure.config.ts is no configuration: it has no field agnets",
  },
  {
    name: "two agents of one name",
    files: config(`export default { agents: [{ name: "a" }, { name: "a" }] }`),
    args: run,
    code: 1,
    says: "two agents are named a",
  },
  {
    name: "two tools of one name",
    files: config(`import { defineTool, fs } from "perdure";
const tool = { name: "Read", description: "", effect: "read", inputSchema: { type: "object" }, execute: () => "" };
export default { agents: [{ name: "a", plugins: [fs()], tools: [tool] }] }`),
    args: run,
    code: 1,
    says: "plugins fs and tools both have a tool named Read",
  },
  {
    name: "a tool whose input is no object",
    files:
      config(`const tool = { name: "T", description: "", effect: "read", inputSchema: { type: "string" }, execute: () => "" };
export default { agents: [{ name: "a", tools: [tool] }] }`),
    args: run,
    code: 1,
    says: "agent a: plugin tools, tool T: .* must describe an object",
  },
];

test.each(table)("$name", async ({ args, files = {}, env = {}, code, says }) => {
  const place = createPlace();
  for (const [name, text] of Object.entries(files)) place.write(name, text);
  expectLine(await place.start(args, env).finished, code, says instanceof RegExp ? says : new RegExp(says));
  expect(existsSync(join(place.folder, ".perdure/tasks.db"))).toBe(false);
});

describe("with a task", () => {
  const withTask = async (): Promise<{ place: Place; taskId: string }> => {
    const place = createPlace();
    await place.perdure("run", "hello");
    return { place, taskId: await newestTask(place) };
  };

  test("no such task", async () => {
    const { place } = await withTask();
    const commands = [
      ["show", "nope"],
      ["log", "nope"],
      ["say", "nope", "hello"],
      ["resume", "nope"],
      ["resolve", "nope", "c1_0", "done", "seen"],
      ["check", "nope"],
      ["request", "nope", "--at", "5"],
    ];
    for (const args of commands) expectLine(await place.perdure(...args), 1, /has no task nope in .*tasks\.db/);
  });

  test("a beginning of an id that fits two tasks", async () => {
    const { place } = await withTask();
    await place.perdure("run", "hello", "--no-wait");
    const all = JSON.parse((await place.perdure("tasks", "--json")).stdout) as { taskId: string }[];
    const ids = all.map((task) => task.taskId);
    if (new Set(ids.map((id) => id[0])).size === ids.length) return; // Chance gave them no common beginning.
    expectLine(await place.perdure("show", ids[0]?.[0] ?? ""), 1, /2 tasks have an id that begins with/);
  });

  test("a seq that is no model call", async () => {
    const { place, taskId } = await withTask();
    expectLine(await place.perdure("request", taskId, "--at", "4"), 1, /event 4 .* is no model request.*they are at 5/);
    expectLine(await place.perdure("request", taskId, "--at", "99"), 1, /has no event 99: its log ends at 7/);
    expectLine(await place.perdure("request", taskId), 2, /needs --at SEQ/);
  });

  test("a task that nobody holds back is not released", async () => {
    const { place, taskId } = await withTask();
    expectLine(await place.perdure("release", taskId), 1, /is not held/);
  });

  test("a task that this build cannot fold is held, until it is released or another build takes it up", async () => {
    const place = createPlace();
    const reducer = `{ initial: () => 0, reduce: () => { if (process.env["BROKEN"]) throw new Error("no fold"); return 1; } }`;
    const tool = `{ name: "Note", description: "", effect: "internal", inputSchema: { type: "object" },
      execute: (_input, context) => { context.record({ kind: "noted", data: {} }); return "noted"; } }`;
    const plugin = `{ name: "p", version: "1", records: { noted: { v: 1 } }, reducer: ${reducer}, tools: [${tool}] }`;
    const configuration = `export default { agents: [{ name: "a", plugins: [${plugin}] }] };`;
    place.write("perdure.config.ts", configuration);
    place.write("s.jsonl", lines({ calls: [{ name: "Note", input: {} }] }, { text: "One." }, { text: "Two." }));
    const broken = { BROKEN: "1" };
    const held = await place.start(["run", "note it", "--model", "scripted:s.jsonl"], broken).finished;
    expectLine(held, 1, /task \w+ is held: .*no fold.*release it/);
    const taskId = await newestTask(place);
    expectLine(await place.perdure("resume", taskId), 1, /is held: .*no fold/);
    expect((await place.perdure("tasks")).stdout).toContain("held");
    const released = await place.perdure("release", taskId);
    expect(released).toMatchObject({ code: 0, stdout: "" });
    expect(released.stderr).toContain(`perdure resume ${taskId}`);
    expect((await place.start(["resume", taskId], broken).finished).code).toBe(1);
    place.write("perdure.config.ts", `${configuration} // mended`);
    expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "One.\n" });
  });

  test("an agent that is gone from the configuration", async () => {
    const place = createToolPlace({ text: "Hi." });
    await place.perdure("run", "hello", "--model", "scripted:script.jsonl");
    const taskId = await newestTask(place);
    place.write("perdure.config.ts", `export default { agents: [{ name: "other" }] }`);
    const says = /needs the agent sender, which is not configured here and the plugin fs, .* and the plugin stall/;
    expectLine(await place.perdure("say", taskId, "hello"), 1, says);
  });

  test("a script that has gone: words are not posted, but the task can be cancelled and closed", async () => {
    const place = createPlace();
    place.write("s.jsonl", lines({ text: "One." }, { calls: [] }));
    await place.perdure("run", "hello", "--model", "scripted:s.jsonl", "--max-steps", "1");
    const taskId = await newestTask(place);
    place.write("s.jsonl", "no script");
    expectLine(await place.perdure("say", taskId, "hello"), 1, /s\.jsonl:1: not JSON/);
    expect((await place.perdure("log", taskId)).stdout).not.toContain('Say "hello"]  through=2');
    expect((await place.perdure("close", taskId)).code).toBe(0);
  });
});

describe("a database that is none", () => {
  test("a folder", async () => {
    const place = createPlace();
    mkdirSync(join(place.folder, "d"));
    expectLine(await place.perdure("run", "hello", "--db", "d"), 1, /d is a directory, not a perdure database/);
    expect(readdirSync(join(place.folder, "d"))).toEqual([]);
  });

  test("a text file, which stays as it is", async () => {
    const place = createPlace();
    place.write("notes.txt", "my notes\n".repeat(1_000));
    expectLine(await place.perdure("run", "hello", "--db", "notes.txt"), 1, /not a perdure database/);
    expect(place.read("notes.txt")).toBe("my notes\n".repeat(1_000));
    expect(readdirSync(place.folder)).toEqual(["notes.txt"]);
  });

  test("another application's database, which stays as it is", async () => {
    const place = createPlace();
    const path = join(place.folder, "other.db");
    const database = new DatabaseSync(path);
    database.exec("CREATE TABLE notes (text TEXT)");
    database.close();
    const before = readFileSync(path);
    expectLine(await place.perdure("run", "hello", "--db", "other.db"), 1, /the database of another application/);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a read-only file", async (context) => {
    context.skip(process.getuid?.() === 0, "the superuser writes to read-only files");
    const place = createPlace();
    await place.perdure("run", "hello");
    chmodSync(join(place.folder, ".perdure/tasks.db"), 0o400);
    expectLine(await place.perdure("run", "hello"), 1, /is read-only here/);
  });

  test("a full disk", async (context) => {
    const place = createPlace();
    const mount = `mkdir disk && mount -t tmpfs -o size=300k none disk`;
    const canMount = spawnSync("unshare", ["-rm", "sh", "-c", mount], { cwd: place.folder }).status === 0;
    context.skip(!canMount, "this machine lets nobody mount a small disk");
    const main = join(import.meta.dirname, "../../src/cli/main.ts");
    const script = `mount -t tmpfs -o size=300k none disk && exec "$0" "$1" run hello --db disk/t.db`;
    const finished = spawnSync("unshare", ["-rm", "sh", "-c", script, process.execPath, main], {
      cwd: place.folder,
      encoding: "utf8",
    });
    expectLine({ ...finished, code: finished.status }, 1, /t\.db: it is full/);
  });

  test("case-37: one that another process keeps locked is told, and is no success", async () => {
    const place = createPlace();
    await place.perdure("run", "hello");
    const database = new DatabaseSync(join(place.folder, ".perdure/tasks.db"));
    database.exec("BEGIN IMMEDIATE");
    const finished = await place.perdure("run", "hello");
    database.exec("ROLLBACK");
    database.close();
    expectLine(finished, 1, /another process has had it locked/);
  });
});
