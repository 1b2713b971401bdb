// perdure worker in processes of its own: what it works, how it stops, what it leaves alone, what it says of itself.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  calls,
  createPlace,
  createToolPlace,
  lines,
  logOf,
  shapeOf,
  viewOf,
  type Place,
  type Running,
} from "./perdure.ts";

/** Posts a task and leaves it to the workers. */
const post = async (place: Place, objective: string, ...args: string[]): Promise<string> => {
  const { stdout, stderr } = await place.perdure("run", objective, "--no-wait", ...args);
  const taskId = stdout.trim();
  if (taskId === "") throw new Error(stderr);
  return taskId;
};

const show = async (place: Place, taskId: string) => viewOf(await place.perdure("show", taskId, "--json"));

/** The tasks that a worker claimed, in order. */
const claimed = (stderr: string): string[] => [...stderr.matchAll(/task (\S+): claimed/g)].map(([, id = ""]) => id);

const stop = async (worker: Running): Promise<string> => {
  worker.signal("SIGTERM");
  const { code, stderr } = await worker.finished;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stderr;
};

test("works whatever is posted, whichever model it names, until SIGTERM: exit 0", async () => {
  const place = createToolPlace({ text: "From the script." });
  const first = await post(place, "one", "--model", "scripted:script.jsonl");
  const second = await post(place, "two", "--model", "slow");
  const gone = await post(place, "three", "--model", "scripted:script.jsonl");
  const worker = place.start(["worker", "--concurrency", "2"]);
  for (const taskId of [first, second, gone]) await worker.said(`task ${taskId}: waits`);
  const late = await post(place, "four", "--model", "slow");
  await worker.said(`task ${late}: waits`);
  const stderr = await stop(worker);
  expect(stderr).toMatch(/^worker \d+@\S+ works tasks of sender in \S+tasks\.db, 2 at once\n/);
  expect(stderr).toContain("stopped after 4 claims: all given back\n");
  expect((await show(place, first)).answer).toBe("From the script.");
  expect((await show(place, second)).answer).toBe("Here.");
  expect(await place.perdure("check")).toMatchObject({ code: 0 });
});

test("pauses a task whose model it cannot open, and works the others", async () => {
  const place = createToolPlace({ text: "From the script." });
  const lost = await post(place, "one", "--model", "scripted:script.jsonl");
  const other = await post(place, "two", "--model", "slow");
  place.write("script.jsonl", "no JSON");
  const worker = place.start(["worker"]);
  for (const taskId of [lost, other]) await worker.said(`task ${taskId}: waits`);
  await stop(worker);
  expect(await show(place, lost)).toMatchObject({ outcome: "paused", reason: "model_missing" });
  expect(await show(place, other)).toMatchObject({ outcome: "completed" });
});

test("a stop ends the step under way, gives the task back, and another worker goes on", async () => {
  const place = createToolPlace(calls("Send", "block"), { text: "Sent." });
  const taskId = await post(place, "send", "--model", "scripted:script.jsonl");
  const worker = place.start(["worker"]);
  await worker.said("dispatched Send");
  worker.signal("SIGTERM");
  await worker.said("stopping after the steps under way");
  worker.answer();
  const { code, stderr } = await worker.finished;
  expect(code).toBe(0);
  expect(stderr).toContain(`task ${taskId}: given back\n`);
  expect(shapeOf(await logOf(place, taskId)).at(-1)).toBe("ToolFinished");
  const next = place.start(["worker"]);
  await next.said(`task ${taskId}: claimed (fence 2)`);
  await next.said(`task ${taskId}: waits`);
  await stop(next);
  expect(place.read("effects.txt")).toBe("Send block\n");
  expect((await show(place, taskId)).answer).toBe("Sent.");
});

test("a stop that takes too long leaves the task to its lease, and says so: exit 1", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const taskId = await post(place, "look", "--model", "scripted:script.jsonl");
  const worker = place.start(["worker", "--stop-after", "100", "--status-file", "status.json"]);
  await worker.said("dispatched Look");
  worker.signal("SIGINT");
  const { code, stderr } = await worker.finished;
  expect(code).toBe(1);
  expect(stderr).toContain("stopped after 1 claim: 1 task left to the lease of 1000 ms\n");
  expect(JSON.parse(place.read("status.json"))).toMatchObject({ state: "stopping", running: [{ taskId }] });
  const next = place.start(["worker"]);
  await next.said(`task ${taskId}: claimed (fence 2, attempt 2)`);
  await next.said("dispatched Look");
  next.answer();
  await next.said(`task ${taskId}: waits`);
  await stop(next);
});

test("a second signal leaves at once", async () => {
  const place = createToolPlace(calls("Look", "block"));
  await post(place, "look", "--model", "scripted:script.jsonl");
  const worker = place.start(["worker"]);
  await worker.said("dispatched Look");
  worker.signal("SIGTERM");
  await worker.said("stopping after");
  worker.signal("SIGTERM");
  expect((await worker.finished).code).toBe(143);
});

test("claims by queue, then priority, then age; set moves a task between queues", async () => {
  const place = createToolPlace();
  const task = (name: string, ...args: string[]) => post(place, name, "--model", "slow", ...args);
  const nightly = await task("nightly", "--queue", "nightly", "--priority", "9");
  const [old, young] = [await task("old"), await task("young")];
  const urgent = await task("urgent", "--priority", "5");
  const later = await task("later", "--priority=-1");
  const daily = place.start(["worker", "--concurrency", "1", "--queue", "default", "--queue", "other"]);
  await daily.said(`task ${later}: waits`);
  expect(await show(place, nightly)).toMatchObject({ status: "ready" });
  const moved = place.start(["set", nightly, "queue=other", "--no-wait"]);
  expect((await moved.finished).code).toBe(0);
  // The change counts once a worker of the old queue has taken it.
  const night = place.start(["worker", "--queue", "nightly"]);
  await night.said(`task ${nightly}: waits`);
  await stop(night);
  expect((await place.perdure("say", nightly, "again", "--no-wait")).code).toBe(0);
  await daily.said(`task ${nightly}: waits`);
  expect(claimed(await stop(daily))).toEqual([urgent, old, young, later, nightly]);
  expect((await place.perdure("set", nightly)).code).toBe(2);
});

const config = (agent: string, plugin: string): string => `
import { defineAgent, defineConfig, definePlugin } from "perdure";
export default defineConfig({ agents: [defineAgent({ name: "${agent}", plugins: [definePlugin({ name: "${plugin}", version: "1" })] })] });
`;

test("a worker that lacks a task's agent, or a plugin that it runs with, never claims it", async () => {
  const place = createPlace();
  place.write("one.ts", config("one", "p"));
  place.write("two.ts", config("two", "p"));
  place.write("one-bare.ts", config("one", "q"));
  const first = await post(place, "hello", "--config", "one.ts");
  const second = await post(place, "hello", "--config", "two.ts");
  const [one, two] = ["one.ts", "two.ts"].map((file) => place.start(["worker", "--config", file])) as [
    Running,
    Running,
  ];
  await one.said(`task ${first}: waits`);
  await two.said(`task ${second}: waits`);
  expect([claimed(await stop(one)), claimed(await stop(two))]).toEqual([[first], [second]]);

  // Once it was picked up, what it runs with is known.
  const bare = place.start(["worker", "--config", "one-bare.ts"]);
  await bare.said("works tasks of one");
  expect((await place.perdure("say", first, "again", "--no-wait", "--config", "one.ts")).code).toBe(0);
  const third = await post(place, "of its own", "--config", "one-bare.ts");
  await bare.said(`task ${third}: waits`);
  expect(claimed(await stop(bare))).toEqual([third]);
  expect(await show(place, first)).toMatchObject({ untaken: 1 });
});

const deadly = `
import { defineAgent, defineConfig, defineTool } from "perdure";
const die = defineTool({
  name: "Die",
  description: "Dies.",
  effect: "read",
  inputSchema: { type: "object" },
  async execute() {
    process.kill(process.pid, "SIGKILL");
    return new Promise(() => undefined);
  },
});
export default defineConfig({
  agents: [defineAgent({ name: "deadly", tools: [die] })],
  modelConcurrencyPerPrincipal: 2,
});
`;

test("a task that kills its worker is held after five deaths; other tasks go on", async () => {
  const place = createPlace();
  place.write("perdure.config.ts", deadly);
  place.write("die.jsonl", lines({ calls: [{ name: "Die", input: {} }] }, { text: "Alive." }));
  const taskId = await post(place, "die", "--model", "scripted:die.jsonl");
  const other = await post(place, "hello", "--model", "demo");
  let deaths = 0;
  for (;;) {
    const worker = place.start(["worker", "--lease-ms", "300"]);
    const end = await Promise.race([worker.finished, worker.said(`task ${taskId}: set aside`).then(() => null)]);
    expect(end === null || end.signal === "SIGKILL").toBe(true);
    // After its back-off it would be tried again.
    worker.signal("SIGKILL");
    if (end === null) break;
    deaths += 1;
  }
  expect(await show(place, other)).toMatchObject({ outcome: "completed" });
  expect(deaths).toBe(5);
  expect((await show(place, taskId)).held).toMatchObject({ reason: "its last 5 holders did not give it back" });
});

test("tells a supervisor what it does: a status file, always whole, and JSON lines", async () => {
  const place = createToolPlace(calls("Look", "block"), { text: "Seen." });
  const taskId = await post(place, "look", "--model", "scripted:script.jsonl");
  await post(place, "waits its turn", "--model", "slow");
  const args = ["--json", "--concurrency", "1", "--status-file", "status.json", "--snapshot-every", "5"];
  const worker = place.start(["worker", ...args]);
  await worker.said("dispatched Look");
  type Status = { at: string; running: object[]; metrics: { claims: number; renewals: number }; lagMs: number };
  const read = (): Status | null =>
    existsSync(join(place.folder, "status.json")) ? (JSON.parse(place.read("status.json")) as Status) : null;
  await expect.poll(() => read()?.metrics.renewals, { timeout: 20_000 }).toBeGreaterThan(0);
  const status = read();
  expect(status).toMatchObject({
    state: "working",
    concurrency: 1,
    running: [{ taskId, agent: "sender", fence: 1, attempts: 1 }],
    metrics: { claims: 1, claimsFailed: 0, renewalsLost: 0, ends: { parked: 0 } },
    modelCalls: { limit: 4, taken: 0, waiting: 0 },
  });
  expect(status?.lagMs).toBeGreaterThan(0);
  worker.signal("SIGTERM");
  await worker.said('"stopping"');
  worker.answer();
  const { stdout, code } = await worker.finished;
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string });
  expect(code).toBe(0);
  expect(events.map(({ event }) => event)).toEqual(["began", "claimed", "stopping", "run_ended", "status"]);
  expect(events.at(-1)).toMatchObject({ state: "stopped", running: [], metrics: { ends: { stopped: 1 } } });
  expect(read()).toMatchObject({ state: "stopped", running: [] });
});
