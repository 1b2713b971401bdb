// Two builds on one database at once, both ways: what each can go on with, and what the older leaves alone. The newer build is
// a copy of this one with a line changed; `npm test` builds it before.
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlace, install, lines, logOf, viewOf, type Changes, type Place, type Running } from "./perdure.ts";

/** A build: its program, and the configuration that its commands are given. */
interface Build {
  readonly program?: string;
  readonly config: string;
}

const start = (place: Place, { program, config }: Build, ...args: string[]): Running =>
  place.start([...args, "--config", config], {}, program);
const startWorker = (place: Place, build: Build, ...args: string[]): Running =>
  start(place, build, "worker", "--snapshot-every", "2", "--concurrency", "2", ...args);

const post = async (place: Place, build: Build, ...args: string[]): Promise<string> => {
  const { stdout, stderr, code } = await start(place, build, ...args, "--no-wait").finished;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout.trim();
};
const create = (place: Place, build: Build): Promise<string> =>
  post(place, build, "run", "count", "--model", "scripted:script.jsonl");
const say = (place: Place, build: Build, taskId: string): Promise<string> => post(place, build, "say", taskId, "count");

/** A worker that has not begun yet would die of the signal. */
const stop = async (worker: Running): Promise<string> => {
  await worker.said(" works tasks of ");
  worker.signal("SIGTERM");
  const { code, stderr } = await worker.finished;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stderr;
};

/** Lets one worker of that build alone work until it has said so of the task. */
const alone = async (place: Place, build: Build, taskId: string, ending = "waits"): Promise<string> => {
  const worker = startWorker(place, build);
  await worker.said(`task ${taskId}: ${ending}`);
  return stop(worker);
};

const answerOf = async (place: Place, build: Build, taskId: string) =>
  viewOf(await start(place, build, "show", taskId, "--json").finished).answer;

/** A plugin that adds up what its tool counts, in two versions: the newer one counts in tens, and names its unit. */
const tally = (version: 1 | 2): string => `
import { defineAgent, defineConfig, definePlugin, defineTool } from "perdure";
const count = defineTool({
  name: "Count",
  description: "Counts.",
  effect: "internal",
  inputSchema: { type: "object" },
  execute(_input, context) {
    context.record({ kind: "counted", data: ${version === 1 ? "{ n: 1 }" : `{ amount: 10, unit: "tens" }`} });
    return "counted";
  },
});
const total = defineTool({
  name: "Total",
  description: "Adds up.",
  effect: "read",
  inputSchema: { type: "object" },
  execute: (_input, context) => { process.stderr.write("total " + context.state + "\\n"); return "total " + context.state; },
});
const tally = definePlugin({
  name: "tally",
  version: "${String(version)}",
  tools: [count, total],
  records: { counted: { v: ${String(version)}, skeleton: [] } },
  reducer: {
    initial: () => 0,
    reduce(sum, { data, v }) {
      ${version === 1 ? `if (v > 1) throw new Error("tally/counted v" + v + " is not known here"); return sum + data.n;` : "return sum + (v === 1 ? data.n : data.amount);"}
    },
  },
});
export default defineConfig({ agents: [defineAgent({ name: "counter", plugins: [tally] })] });
`;

const counting = (): { place: Place; v1: Build; v2: Build } => {
  const place = createPlace();
  place.write("v1.ts", tally(1));
  place.write("v2.ts", tally(2));
  const turn = [
    { calls: [{ name: "Count", input: {} }] },
    { calls: [{ name: "Total", input: {} }] },
    { text: "Counted." },
  ];
  place.write("script.jsonl", lines(...Array.from({ length: 6 }, () => turn).flat()));
  return { place, v1: { config: "v1.ts" }, v2: { config: "v2.ts" } };
};

const totals = (stderr: string): string[] => [...stderr.matchAll(/^total (\d+)$/gm)].map(([, sum = ""]) => sum);

test("a plugin's newer version reads what its older one recorded; the older sets aside what it cannot, for the newer", async () => {
  const { place, v1, v2 } = counting();
  const taskId = await create(place, v1);
  expect(totals(await alone(place, v1, taskId))).toEqual(["1"]);
  await say(place, v1, taskId);
  expect(totals(await alone(place, v2, taskId))).toEqual(["11"]);

  await say(place, v2, taskId);
  const older = startWorker(place, v1);
  await older.said(`task ${taskId}: held: tally/counted v2 is not known here`);
  // As often as it has tried by now: it tries again after a second, and later and later.
  const { held } = viewOf(await start(place, v2, "show", taskId, "--json").finished);
  expect(held?.count).toBeGreaterThanOrEqual(1);
  // While the older still runs, the newer takes it at once.
  expect(totals(await alone(place, v2, taskId))).toEqual(["21"]);
  expect(totals(await stop(older))).toEqual([]);

  const records = (await logOf(place, taskId)).filter(({ extension }) => extension === "tally");
  expect(records.map(({ v }) => v)).toEqual([1, 2, 2]);
  const pins = (await logOf(place, taskId)).filter(({ kind }) => kind === "plugins");
  expect(pins).toHaveLength(2);
  expect(await start(place, v2, "check").finished).toMatchObject({ code: 0 });
});

test("after a rollback the older version of a plugin goes on with what it can read", async () => {
  const { place, v1, v2 } = counting();
  place.write("talk.jsonl", lines({ text: "Hello." }, { calls: [{ name: "Count", input: {} }] }, { text: "Counted." }));
  const taskId = await post(place, v2, "run", "hello", "--model", "scripted:talk.jsonl");
  await alone(place, v2, taskId);
  await say(place, v2, taskId);
  await alone(place, v1, taskId);
  const records = (await logOf(place, taskId)).filter(({ extension }) => extension === "tally");
  expect(records.map(({ v }) => v)).toEqual([1]);
  expect(await answerOf(place, v1, taskId)).toBe("Counted.");
});

test("workers with both versions of a plugin at once work every task to its end", async () => {
  const { place, v1, v2 } = counting();
  const taskIds: string[] = [];
  for (let n = 0; n < 6; n += 1) taskIds.push(await create(place, v1));
  const workers = [startWorker(place, v1), startWorker(place, v2)] as const;
  const worked = async (): Promise<void> => {
    await Promise.all(taskIds.map((id) => Promise.any(workers.map((worker) => worker.said(`task ${id}: waits`)))));
  };
  await worked();
  await Promise.all(workers.map(stop));
  for (const taskId of taskIds) await say(place, v2, taskId);
  const again = [startWorker(place, v1), startWorker(place, v2)] as const;
  await Promise.all(taskIds.map((id) => Promise.any(again.map((worker) => worker.said(`task ${id}: waits`)))));
  const sums = totals((await Promise.all(again.map(stop))).join(""));
  expect(sums).toHaveLength(6);
  // Ones first, then tens; never a one after a ten.
  expect(sums.filter((sum) => !["2", "11", "20"].includes(sum))).toEqual([]);
  expect(await start(place, v2, "check").finished).toMatchObject({ code: 0 });
}, 180_000);

const bare = `export default { agents: [{ name: "bare" }] };`;
const NEWER: Changes = { "core/records.js": ["RECORD_VERSION = 1", "RECORD_VERSION = 2"] };

/** This build, and one whose core records have a newer version. */
const twoBuilds = (): { place: Place; older: Build; newer: Build } => {
  const place = createPlace();
  place.write("bare.ts", bare);
  place.write("script.jsonl", lines(...Array.from({ length: 9 }, (_, n) => ({ text: `Answer ${String(n + 1)}.` }))));
  const build = (name: string, changes: Changes): Build => {
    return { program: join(install(place, name, changes), "bin/perdure.js"), config: "bare.ts" };
  };
  return { place, older: build("older", {}), newer: build("newer", NEWER) };
};

const snapshotsOf = (place: Place): { version: string; seq: number }[] => {
  const database = new DatabaseSync(join(place.folder, ".perdure/tasks.db"));
  const rows = database.prepare("SELECT version, seq FROM snapshots WHERE bytes IS NOT NULL").all();
  database.close();
  return rows as { version: string; seq: number }[];
};

test("a task goes on under both builds in turn, each with snapshots of its own, at most two kept", async () => {
  const { place, older, newer } = twoBuilds();
  const third: Changes = { "core/fold.js": ["state.replies += 1;", "state.replies += 1; // A third build."] };
  const other: Build = { ...older, program: join(install(place, "third", third), "bin/perdure.js") };
  const taskId = await create(place, older);
  const kept: number[] = [];
  for (const build of [older, newer, older, newer, other, older]) {
    await alone(place, build, taskId);
    kept.push(snapshotsOf(place).length);
    await say(place, build, taskId);
  }
  expect(await answerOf(place, older, taskId)).toBe("Answer 6.");
  expect(kept).toEqual([1, 2, 2, 2, 2, 2]);
  expect(new Set(snapshotsOf(place).map(({ version }) => version)).size).toBe(2);
  expect(await start(place, older, "check").finished).toMatchObject({ code: 0 });
}, 180_000);

test("the older build leaves a log alone that only the newer can read, and works the others", async () => {
  const { place, older, newer } = twoBuilds();
  const theirs = await create(place, newer);
  await alone(place, newer, theirs);
  const ours = await create(place, older);
  await say(place, newer, theirs);
  const rowOf = () => {
    const database = new DatabaseSync(join(place.folder, ".perdure/tasks.db"));
    const row = database.prepare("SELECT lastSeq, inboxTaken, attempts, status FROM tasks WHERE id = ?").get(theirs);
    const events = database
      .prepare("SELECT count(*) AS n FROM events JOIN tasks USING (task) WHERE id = ?")
      .get(theirs);
    database.close();
    return { ...row, ...events };
  };
  const before = rowOf();
  // More workers, one after the other, than the deaths after which a task is held.
  for (let n = 1; n <= 6; n += 1) {
    const stderr = await alone(place, older, theirs, "left alone: only a newer version can read it");
    expect(stderr).toMatch(/core\/\w+ v2 is written by a newer version/);
    expect(rowOf()).toEqual(before);
    // Its back-off is this build's own affair; time passes.
    const database = new DatabaseSync(join(place.folder, ".perdure/tasks.db"));
    database.exec("UPDATE holds SET until = 0");
    database.close();
  }
  const old = startWorker(place, older);
  await old.said("works tasks of bare");
  expect(await answerOf(place, older, ours)).toBe("Answer 1.");
  await alone(place, newer, theirs);
  expect(await answerOf(place, newer, theirs)).toBe("Answer 2.");
  expect(viewOf(await start(place, newer, "show", theirs, "--json").finished).held).toBeNull();
  await stop(old);
}, 180_000);

test("check --fold-diff names the tasks that another build would fold differently, and opens no database with it", async () => {
  const { place, older } = twoBuilds();
  const worked = await create(place, older);
  await alone(place, older, worked);
  const fresh = await create(place, older);
  const diff = async (name: string, changes: Changes, ...args: string[]) =>
    start(place, older, "check", "--fold-diff", install(place, name, changes), ...args).finished;
  expect(await diff("same", {})).toMatchObject({ code: 0, stdout: "" });

  const closed = ["const connection = await openConnection(options);", 'throw new Error("opened");'] as const;
  const changed: Changes = {
    "store/sqlite/sqlite-store.js": closed,
    "core/fold.js": ["state.replies += 1;", "state.replies += 2;"],
  };
  const found = await diff("changed", changed);
  expect(found).toMatchObject({ code: 1 });
  expect(found.stdout).toMatch(new RegExp(`^task ${worked} seq \\d+: folds differently: replies\n$`));
  expect(found.stderr).toContain("2 tasks folded by both builds in ");
  expect((await start(place, older, "check").finished).code).toBe(0);

  const oldest: Changes = { "core/records.js": ["RECORD_VERSION = 1", "RECORD_VERSION = 0"] };
  const { findings } = JSON.parse((await diff("oldest", oldest, "--json")).stdout) as {
    findings: { taskId: string; what: string }[];
  };
  expect(findings).toEqual([
    {
      taskId: worked,
      seq: expect.any(Number) as number,
      what: expect.stringMatching(/^the other build cannot fold it: only a newer version can read it/) as string,
    },
  ]);
  expect((await start(place, older, "check", fresh, "--fold-diff", "nowhere").finished).stderr).toContain(
    "there is no other build at ",
  );
});

test("check --fold-diff takes another configuration, and names the plugin whose state differs", async () => {
  const { place, v1, v2 } = counting();
  const taskId = await create(place, v1);
  await alone(place, v1, taskId);
  expect(await start(place, v1, "check", "--fold-diff", "v2.ts").finished).toMatchObject({ code: 0 });
  await say(place, v1, taskId);
  await alone(place, v2, taskId);
  const back = await start(place, v2, "check", "--fold-diff", "v1.ts").finished;
  expect(back.stdout).toContain("the other build cannot fold it: tally/counted v2 is not known here");
  place.write("v3.ts", tally(2).replace("initial: () => 0", "initial: () => 5"));
  const forth = await start(place, v2, "check", "--fold-diff", "v3.ts").finished;
  expect(forth).toMatchObject({ code: 1 });
  expect(forth.stdout).toContain("folds differently: plugins.tally\n");
});
