// Backups and restores with real processes: what runs goes on, what was done is not done again, and a person is told.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
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
  type Finished,
  type Place,
  type Running,
} from "./perdure.ts";

const scripted = ["--model", "scripted:script.jsonl"];
const TOLD = "what it did after that is not in its log";

const effects = (place: Place): string[] =>
  existsSync(join(place.folder, "effects.txt")) ? place.read("effects.txt").trim().split("\n") : [];

const listed = async (place: Place, ...args: string[]): Promise<{ taskId: string; reason: string | null }[]> =>
  JSON.parse((await place.perdure("tasks", "--json", "--limit", "100", ...args)).stdout) as never;

const ok = (finished: Finished): Finished => {
  expect(finished, finished.stderr).toMatchObject({ code: 0 });
  return finished;
};

/** Names in a folder that are neither a file in place nor what SQLite keeps beside an open one. */
const leftovers = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes(".part"));

/** Kills a command once a part has been seen in the folder and so many looks at it are over. False if it was through. */
const killed = async (running: Running, folder: string, looks: number): Promise<boolean> => {
  let [seen, over] = [0, false];
  void running.finished.then(() => (over = true));
  while (!over && seen <= looks) {
    if (seen > 0 || leftovers(folder).length > 0) seen += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  running.signal("SIGKILL");
  return (await running.finished).signal === "SIGKILL";
};

test("a backup of a task in mid-turn, restored: the action after it is not repeated, and its person is told first", async () => {
  const place = createToolPlace(calls("Look", "block"), calls("Send", "the letter"), { text: "Sent." });
  const first = place.start(["run", "send the letter", ...scripted]);
  await first.said("dispatched Look");
  ok(await place.perdure("backup", "b.db"));
  first.answer();
  ok(await first.finished);
  expect(effects(place)).toEqual(["Look block", "Send the letter"]);
  const taskId = await newestTask(place);

  expect(await place.perdure("restore", "b.db")).toMatchObject({ code: 1, stdout: "" });
  const restored = ok(await place.perdure("restore", "b.db", "--replace"));
  expect(restored.stderr).toContain("1 open task: what they did after the backup is not in their logs");
  expect((await place.perdure("show", taskId)).stderr).toContain(TOLD);

  const resumed = await place.perdure("resume", taskId);
  expect(resumed.code).toBe(3);
  expect(resumed.stderr).toContain(TOLD);
  expect(effects(place)).toEqual(["Look block", "Send the letter"]);
  expect(viewOf(await place.perdure("show", taskId, "--json"))).toMatchObject({
    reason: "restored",
    waitingOn: "resume",
    restored: { isNew: true },
  });
  expect(shapeOf(await logOf(place, taskId)).slice(-2)).toEqual(["core/interrupted", "Waiting"]);

  // The person has looked, and lets it go on: only now is anything done again.
  const again = place.start(["resume", taskId]);
  await again.said("dispatched Look");
  again.answer();
  const done = ok(await again.finished);
  expect(done.stderr).not.toContain(TOLD);
  expect(effects(place)).toEqual(["Look block", "Send the letter", "Look block", "Send the letter"]);
  expect((await place.perdure("show", taskId)).stdout).toContain(TOLD);
  ok(await place.perdure("check"));
});

test("a write that was under way when the backup was made is unknown; resolve and resume go on", async () => {
  const place = createToolPlace(calls("Send", "block"), { text: "Sent." });
  const first = place.start(["run", "send", ...scripted]);
  await first.said("dispatched Send");
  ok(await place.perdure("backup", "b.db"));
  first.answer();
  ok(await first.finished);
  ok(await place.perdure("restore", "b.db", "--replace"));
  const taskId = await newestTask(place);
  const resumed = await place.perdure("resume", taskId, "--json");
  expect(resumed.code).toBe(3);
  expect(viewOf(resumed)).toMatchObject({
    waitingOn: "resolution",
    unknown: [{ action: "c6_0", reason: "restored" }],
  });
  expect((await place.perdure("resolve", taskId, "c6_0", "done", "it is in the outbox")).code).toBe(3);
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Sent.\n" });
  expect(effects(place)).toEqual(["Send block"]);
});

test("backups while tasks run one after another: each is whole, and no restored task repeats a write", async () => {
  const place = createToolPlace(calls("Send", "a"), calls("Send", "b"), { text: "Done." });
  ok(await place.perdure("run", "the first", ...scripted));
  let running = true;
  const loop = (async () => {
    let count = 1;
    for (; running; count += 1) ok(await place.perdure("run", `task ${String(count)}`, ...scripted));
    return count;
  })();
  loop.catch(() => undefined);
  const made: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    made.push(`b${String(n)}.db`);
    ok(await place.perdure("backup", made[n] ?? ""));
  }
  running = false;
  const tasks = await loop;
  expect(effects(place)).toHaveLength(2 * tasks);
  for (const name of made) {
    const db = `from ${name}`;
    ok(await place.perdure("restore", name, "--db", db));
    ok(await place.perdure("check", "--db", db));
    for (const { taskId } of await listed(place, "--db", db)) {
      const before = viewOf(await place.perdure("show", taskId, "--json", "--db", db));
      if (before.outcome === "completed") continue;
      const resumed = await place.perdure("resume", taskId, "--db", db);
      expect(resumed.code).toBe(3);
      expect(resumed.stderr).toContain(TOLD);
    }
  }
  expect(effects(place)).toHaveLength(2 * tasks);
  expect(leftovers(place.folder)).toEqual([]);
});

test("what is said to a restored task that rested opens no turn before its person was told", async () => {
  const place = createPlace();
  place.write("script.jsonl", lines({ text: "One." }, { text: "Two." }));
  ok(await place.perdure("run", "hello", ...scripted));
  const taskId = await newestTask(place);
  ok(await place.perdure("backup", "b.db"));
  ok(await place.perdure("restore", "b.db", "--replace"));
  const said = await place.perdure("say", taskId, "and now?");
  expect(said.code).toBe(3);
  expect(said.stderr).toContain(TOLD);
  expect(await place.perdure("resume", taskId)).toMatchObject({ code: 0, stdout: "Two.\n" });
});

test("a backup is for its owner's eyes, and never stands in another file's place", async () => {
  const place = createPlace();
  ok(await place.perdure("run", "hello"));
  ok(await place.perdure("backup", "b.db"));
  expect(statSync(join(place.folder, "b.db")).mode & 0o777).toBe(0o600);
  place.write("notes.txt", "mine");
  const refused = await place.perdure("backup", "notes.txt");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("notes.txt is there already");
  expect(place.read("notes.txt")).toBe("mine");
  expect((await place.perdure("restore", "notes.txt", "--db", "new.db")).stderr).toContain("not a perdure database");
  expect((await place.perdure("restore", "gone.db", "--db", "new.db")).stderr).toContain("there is no backup at");
  expect((await place.perdure("backup", "c.db", "--db", "gone.db")).stderr).toContain("there is no database");
  expect(existsSync(join(place.folder, "new.db"))).toBe(false);
  expect(leftovers(place.folder)).toEqual([]);
});

test("a database that another process has open is not replaced", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  ok(await place.perdure("run", "hello", "--model", "demo"));
  ok(await place.perdure("backup", "b.db"));
  const run = place.start(["run", "look", ...scripted]);
  await run.said("dispatched Look");
  const refused = await place.perdure("restore", "b.db", "--replace");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("stop the workers first");
  run.answer();
  expect(await run.finished).toMatchObject({ code: 0, stdout: "Seen.\n" });
});

test("a database that is damaged is moved aside with all that stands beside it", async () => {
  const place = createPlace();
  ok(await place.perdure("run", "hello"));
  ok(await place.perdure("backup", "b.db"));
  place.write(".perdure/tasks.db", "no database at all");
  place.write(".perdure/tasks.db-wal", "of that one");
  ok(await place.perdure("restore", "b.db", "--replace"));
  ok(await place.perdure("check"));
  const names = readdirSync(join(place.folder, ".perdure"));
  const aside = names.filter((name) => name.startsWith("tasks.db.replaced-"));
  expect(aside.map((name) => name.replace(/^.*Z/, ""))).toEqual(expect.arrayContaining(["", "-wal"]));
  expect(names).not.toContain("tasks.db-wal");
});

test("killed at any moment, a backup leaves the whole file or none, and the next one is whole", async () => {
  const place = createPlace();
  ok(await place.perdure("run", "hello"));
  const database = new DatabaseSync(join(place.folder, ".perdure", "tasks.db"));
  // Enough to copy that a kill meets it in the middle.
  database.exec("CREATE TABLE ballast (bytes BLOB)");
  for (let n = 0; n < 40; n += 1) database.exec("INSERT INTO ballast VALUES (randomblob(1000000))");
  database.close();
  let met = 0;
  for (const looks of [0, 4, 16, 64, 256]) {
    const name = `b${String(looks)}.db`;
    if ((await killed(place.start(["backup", name]), place.folder, looks)) && leftovers(place.folder).length > 0)
      met += 1;
    if (existsSync(join(place.folder, name))) ok(await place.perdure("check", "--db", name));
    else ok(await place.perdure("backup", name));
    expect(leftovers(place.folder)).toEqual([]);
  }
  expect(met).toBeGreaterThan(0);
});

test("killed at any moment, a restore leaves the database that was there or the restored one, and can be run again", async () => {
  const place = createPlace();
  ok(await place.perdure("run", "hello"));
  ok(await place.perdure("backup", "b.db"));
  const folder = join(place.folder, ".perdure");
  let met = 0;
  for (const looks of [0, 4, 16, 64, 256]) {
    if (await killed(place.start(["restore", "b.db", "--replace"]), folder, looks)) met += 1;
    ok(await place.perdure("check"));
    ok(await place.perdure("restore", "b.db", "--replace"));
    expect(leftovers(folder)).toEqual([]);
  }
  expect(met).toBeGreaterThan(0);
  const epochs = readFileSync(join(folder, "tasks.db.erasures"), "utf8").trim().split("\n");
  expect(new Set(epochs).size).toBe(epochs.length);
});
