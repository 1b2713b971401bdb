// Backups and restores of a Postgres database with real processes: what runs goes on, what was done is not done again, and a
// person is told.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  calls,
  createToolPlace,
  lines,
  logOf,
  shapeOf,
  tools,
  viewOf,
  type Finished,
  type Place,
  type Running,
} from "../cli/perdure.ts";
import { createDatabase, withClient, type Database } from "./database.ts";

const TOLD = "what it did after that is not in its log";

const ok = (finished: Finished): Finished => {
  expect(finished, finished.stderr).toMatchObject({ code: 0 });
  return finished;
};

/** A place with tools and a model `script.jsonl`, on this database. */
const createPostgresPlace = ({ url }: Database, ...replies: readonly unknown[]): Place => {
  const place = createToolPlace(...replies);
  place.write("perdure.config.ts", tools.replace("models: { slow },", `models: { slow }, db: ${JSON.stringify(url)},`));
  return place;
};

const post = async (place: Place, script = "script.jsonl"): Promise<string> =>
  ok(await place.perdure("run", "send it", "--no-wait", "--model", `scripted:${script}`)).stdout.trim();

const effects = (place: Place): string[] =>
  existsSync(join(place.folder, "effects.txt")) ? place.read("effects.txt").trim().split("\n") : [];

const leftovers = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes(".part"));

const stop = async (worker: Running): Promise<void> => {
  worker.signal("SIGTERM");
  ok(await worker.finished);
};

const show = async (place: Place, taskId: string) => viewOf(await place.perdure("show", taskId, "--json"));

test("a backup while workers run, restored after they went on: no write is done twice, each open task pauses and says so", async () => {
  await using database = await createDatabase();
  const place = createPostgresPlace(database, calls("Send", "a"), calls("Send", "b"), { text: "Done." });
  place.write("slow.jsonl", lines(calls("Look", "block"), calls("Send", "the letter"), { text: "Sent." }));
  const workers = [place.start(["worker"]), place.start(["worker"])] as const;
  const slow = await post(place, "slow.jsonl");
  const looking = await Promise.race(workers.map((worker) => worker.said("dispatched Look").then(() => worker)));
  let posting = true;
  const loop = (async () => {
    const ids: string[] = [];
    for (; posting || ids.length < 3;) ids.push(await post(place));
    return ids;
  })();
  loop.catch(() => undefined);
  ok(await place.perdure("backup", "b.backup"));
  posting = false;
  const others = await loop;
  looking.answer();
  const waited = (id: string): Promise<void> => Promise.any(workers.map((worker) => worker.said(`task ${id}: waits`)));
  for (const id of [slow, ...others]) await waited(id);
  const done = effects(place);
  expect(done).toHaveLength(2 + 2 * others.length);

  expect(await place.perdure("restore", "b.backup")).toMatchObject({ code: 1, stdout: "" });
  const refused = await place.perdure("restore", "b.backup", "--replace");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("stop the workers first") });
  for (const worker of workers) await stop(worker);
  const restored = ok(await place.perdure("restore", "b.backup", "--replace"));
  expect(restored.stderr).toContain("what they did after the backup is not in their logs");
  ok(await place.perdure("check"));
  expect((await place.perdure("show", slow)).stderr).toContain(TOLD);

  const kept = JSON.parse((await place.perdure("tasks", "--json", "--limit", "100")).stdout) as { taskId: string }[];
  const views = await Promise.all(kept.map(({ taskId }) => show(place, taskId)));
  const open = views.filter(({ outcome }) => outcome === null).map(({ taskId }) => taskId);
  expect(open).toContain(slow);
  const worker = place.start(["worker"]);
  for (const id of open) await worker.said(`task ${id}: waits`);
  await stop(worker);
  expect(effects(place)).toEqual(done);
  for (const id of open) {
    expect(await show(place, id)).toMatchObject({ reason: "restored", restored: { isNew: true } });
    expect(shapeOf(await logOf(place, id)).slice(-2)).toEqual(["core/interrupted", "Waiting"]);
  }

  // The person has looked, and lets it go on: only now is anything done again.
  const again = place.start(["resume", slow]);
  await again.said("dispatched Look");
  again.answer();
  expect(ok(await again.finished).stdout).toContain("Sent.");
  expect(effects(place)).toEqual([...done, "Look block", "Send the letter"]);
  ok(await place.perdure("check"));
});

test("a write that was under way when the backup was made is unknown; resolve and resume go on", async () => {
  await using database = await createDatabase();
  const place = createPostgresPlace(database, calls("Send", "block"), { text: "Sent." });
  const first = place.start(["run", "send", "--model", "scripted:script.jsonl"]);
  await first.said("dispatched Send");
  ok(await place.perdure("backup", "b.backup"));
  first.answer();
  ok(await first.finished);
  ok(await place.perdure("restore", "b.backup", "--replace"));
  const [task] = JSON.parse((await place.perdure("tasks", "--json")).stdout) as [{ taskId: string }];
  const resumed = await place.perdure("resume", task.taskId, "--json");
  expect(resumed.code).toBe(3);
  expect(viewOf(resumed)).toMatchObject({ waitingOn: "resolution", unknown: [{ action: "c6_0", reason: "restored" }] });
  expect((await place.perdure("resolve", task.taskId, "c6_0", "done", "it is in the outbox")).code).toBe(3);
  expect(await place.perdure("resume", task.taskId)).toMatchObject({ code: 0, stdout: "Sent.\n" });
  expect(effects(place)).toEqual(["Send block"]);
});

test("a backup is for its owner's eyes, and never stands in another file's place; the journal's copy only grows", async () => {
  await using database = await createDatabase();
  const place = createPostgresPlace(database, { text: "Hello." });
  expect((await place.perdure("backup", "b.backup")).stderr).toContain("has no tasks yet");
  ok(await place.perdure("run", "hello", "--model", "scripted:script.jsonl"));
  ok(await place.perdure("backup", "b.backup", "--erasures", "e.jsonl"));
  expect(statSync(join(place.folder, "b.backup")).mode & 0o777).toBe(0o600);
  expect(place.read("e.jsonl")).toBe("");
  expect((await place.perdure("backup", "b.backup")).stderr).toContain("is there already");
  expect(await place.perdure("backup")).toMatchObject({ code: 2 });
  ok(await place.perdure("restore", "b.backup", "--replace"));
  ok(await place.perdure("backup", "--erasures", "e.jsonl"));
  ok(await place.perdure("restore", "b.backup", "--replace"));
  ok(await place.perdure("backup", "--erasures", "e.jsonl"));
  ok(await place.perdure("backup", "--erasures", "e.jsonl"));
  expect(place.read("e.jsonl")).toBe('{"epoch":2}\n{"epoch":3}\n');
  // A server of its own, to which the journal is brought.
  await using other = await createDatabase();
  const there = ["--db", other.url];
  const brought = await place.perdure("restore", "b.backup", "--erasures", "e.jsonl", ...there, "--json");
  expect(JSON.parse(ok(brought).stdout)).toMatchObject({ epoch: 4, aside: null, findings: [] });
  expect(leftovers(place.folder)).toEqual([]);
});

const BALLAST = `WITH file AS (INSERT INTO perdure.files (task, size, name, media_type)
    SELECT min(task), 40000000, 'ballast', 'text/plain' FROM perdure.tasks RETURNING file)
  INSERT INTO perdure.chunks SELECT file, n, convert_to(repeat(md5(n::text), 3125), 'UTF8') FROM file, generate_series(0, 399) n`;

/** Kills a command once it has a transaction open and so many looks at it are over. False if it was through. */
const killed = (running: Running, url: string, looks: number): Promise<boolean> =>
  withClient(url, async (client) => {
    const busy = `SELECT FROM pg_stat_activity WHERE application_name = 'perdure' AND datname = current_database()
      AND query LIKE 'COPY%'`;
    let [seen, over] = [0, false];
    void running.finished.then(() => (over = true));
    while (!over && seen <= looks) {
      const { rowCount } = await client.query(busy);
      if (seen > 0 || rowCount !== 0) seen += 1;
    }
    running.signal("SIGKILL");
    return (await running.finished).signal === "SIGKILL";
  });

test("killed at any moment, a backup leaves the whole file or none, and a restore what was there or what was restored", async () => {
  await using database = await createDatabase();
  const place = createPostgresPlace(database, { text: "Hello." });
  ok(await place.perdure("run", "hello", "--model", "scripted:script.jsonl"));
  await database.query(BALLAST);
  const met = { backups: 0, restores: 0 };
  for (const looks of [0, 10, 40, 160]) {
    const name = `b${String(looks)}.backup`;
    if (await killed(place.start(["backup", name]), database.url, looks)) met.backups += 1;
    if (!existsSync(join(place.folder, name))) ok(await place.perdure("backup", name));
    expect(leftovers(place.folder)).toEqual([]);
    if (await killed(place.start(["restore", name, "--replace"]), database.url, looks)) met.restores += 1;
    ok(await place.perdure("check"));
    ok(await place.perdure("restore", name, "--replace"));
  }
  expect(met.backups).toBeGreaterThan(0);
  expect(met.restores).toBeGreaterThan(0);
  const epochs = await database.query("SELECT line FROM perdure_erasures.journal ORDER BY n");
  const asides = await database.query("SELECT nspname FROM pg_namespace WHERE nspname ~ '^perdure_replaced_[0-9]+$'");
  // One of each restore that was through, whole or killed too late, and nothing of the others.
  expect(asides).toHaveLength(epochs.length);
  expect(epochs.map(({ line }) => line)).toEqual(epochs.map((_, index) => `{"epoch":${String(index + 2)}}`));
});
