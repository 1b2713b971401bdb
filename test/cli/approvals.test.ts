// Approvals at the command line: real processes, a real file, a configuration that asks.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlace, lines, logOf, newestTask, viewOf, type Finished, type Place } from "./perdure.ts";

const config = `
import { appendFileSync } from "node:fs";
import { defineAgent, defineConfig, defineTool } from "perdure";

const tool = (name: string, effect: "write" | "destructive") =>
  defineTool({
    name,
    description: name,
    effect,
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const,
    items: ({ path }) => [name + " " + path],
    execute({ path }) {
      appendFileSync("effects.txt", name + " " + path + "\\n");
      return name + " is through";
    },
  });

export default defineConfig({
  agents: [
    defineAgent({ name: "keeper", tools: [tool("Drop", "destructive"), tool("Put", "write")] }),
  ],
  approvals: { effects: { destructive: "ask" } },
});
`;

const drop = (path: string): object => ({ name: "Drop", input: { path } });

const createKeeper = (...replies: readonly object[]): Place => {
  const place = createPlace();
  place.write("perdure.config.ts", config);
  place.write("replies.jsonl", lines(...replies));
  return place;
};

const run = (place: Place, ...more: string[]): Promise<Finished> =>
  place.perdure("run", "tidy up", "--model", "scripted:replies.jsonl", ...more);

const effects = ({ folder }: Place): string[] => {
  const file = join(folder, "effects.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};

test("an unattended run asks, exits 3 and says how to decide; yes runs it once: exit 0", async () => {
  const place = createKeeper({ calls: [drop("a"), { name: "Put", input: { path: "b" } }] }, { text: "Tidy." });
  const asked = await run(place);
  expect(asked).toMatchObject({ code: 3, stdout: "" });
  const taskId = await newestTask(place);
  expect(asked.stderr).toBe(
    [
      `task ${taskId} waits for a decision:`,
      '  ask_c6_0: Drop (destructive) {"path":"a"}',
      "    - Drop a",
      `    perdure approve ${taskId}`,
      `    perdure deny ${taskId}`,
      "",
    ].join("\n"),
  );
  expect(effects(place)).toEqual(["Put b"]);
  expect(await place.perdure("approve", taskId)).toMatchObject({ code: 0, stdout: "Tidy.\n" });
  expect(effects(place)).toEqual(["Put b", "Drop a"]);
  const again = await place.perdure("approve", taskId, "ask_c6_0");
  expect(again.code).toBe(0);
  expect(again.stderr).toMatch(/ask_c6_0 had been approved by local:\S+ before/);
  const other = await place.perdure("deny", taskId, "ask_c6_0");
  expect(other.code).toBe(1);
  expect(other.stderr).toContain("ask_c6_0 had been approved by");
  expect(effects(place)).toHaveLength(2);
});

test("case-10: of several each is named, shown whole, and decided by itself, in any order", async () => {
  const place = createKeeper({ calls: [drop("a"), drop("b"), drop("c")] }, { text: "Tidy." });
  const { taskId, approvals } = viewOf(await run(place, "--json"));
  expect(approvals).toMatchObject([
    {
      ...{ request: "ask_c6_0", call: "c6_0", name: "Drop", effect: "destructive", input: { path: "a" } },
      ...{ items: ["Drop a"], expiresAt: null, showing: 0, decided: null, redacted: false },
    },
    { request: "ask_c6_1" },
    { request: "ask_c6_2" },
  ]);
  expect(approvals[0]?.inputHash).toMatch(/^[0-9a-f]{64}$/);
  const unnamed = await place.perdure("approve", taskId);
  expect(unnamed.code).toBe(1);
  expect(unnamed.stderr).toContain("ask_c6_0 (Drop), ask_c6_1 (Drop), ask_c6_2 (Drop)");
  expect((await place.perdure("approve", taskId, "c6_2")).code).toBe(3);
  const denied = await place.perdure("deny", taskId, "ask_c6_0", "--reason", "still needed");
  expect(denied.code).toBe(3);
  const corrected = await place.perdure("approve", taskId, "--correct", '{"path":"B"}');
  expect(corrected).toMatchObject({ code: 0, stdout: "Tidy.\n" });
  expect(effects(place)).toEqual(["Drop c", "Drop B"]);
  const results = (await logOf(place, taskId)).filter(({ type }) => type === "ToolFinished");
  expect(JSON.stringify(results)).toContain("Denied: still needed. It was not run.");
});

test("case-12: a decision from another process counts before any worker is there, and after a crash of one", async () => {
  const place = createKeeper({ calls: [drop("a")] }, { text: "Tidy." });
  await run(place);
  const taskId = await newestTask(place);
  const posted = await place.perdure("approve", taskId, "--no-wait", "--json", "--key", "k1");
  expect(posted.code).toBe(0);
  expect(JSON.parse(posted.stdout)).toMatchObject({ taskId, request: "ask_c6_0", counts: true, decision: "approve" });
  const shown = viewOf(await place.perdure("show", taskId, "--json"));
  expect(shown.approvals[0]?.decided).toMatchObject({ decision: "approve" });
  expect(effects(place)).toEqual([]);
  const [one, other] = await Promise.all([place.perdure("resume", taskId), place.perdure("say", taskId, "go on")]);
  expect([one.code, other.code]).toContain(0);
  expect(effects(place)).toEqual(["Drop a"]);
});

test("case-15: one that cannot count is told the state of its request", async () => {
  const place = createKeeper({ calls: [drop("a")] }, { text: "Tidy." });
  await run(place);
  const taskId = await newestTask(place);
  const unknown = await place.perdure("approve", taskId, "ask_c9_9");
  expect(unknown).toMatchObject({ code: 1, stdout: "" });
  expect(unknown.stderr).toContain("request ask_c9_9 was not asked");
  const resumed = await place.perdure("resume", taskId);
  expect(resumed.code).toBe(1);
  await place.perdure("cancel", taskId);
  const late = await place.perdure("approve", taskId, "ask_c6_0");
  expect(late.code).toBe(1);
  expect(late.stderr).toContain("request ask_c6_0 waits for no decision any more: it is cancelled");
  expect((await place.perdure("approve", taskId)).stderr).toContain("waits for no decision");
  expect(effects(place)).toEqual([]);
});

test("what is no JSON, and a switch that is none, are mistakes: exit 2", async () => {
  const place = createKeeper({ calls: [drop("a")] });
  await run(place);
  const taskId = await newestTask(place);
  expect((await place.perdure("approve", taskId, "--correct", "{path")).code).toBe(2);
  expect((await place.perdure("auto-approve", "maybe", taskId)).code).toBe(2);
  expect((await place.perdure("approve")).code).toBe(2);
});

test("a correction that does not fit the schema runs nothing, and it is asked again", async () => {
  const place = createKeeper({ calls: [drop("a")] }, { text: "Tidy." });
  await run(place);
  const taskId = await newestTask(place);
  const corrected = await place.perdure("approve", taskId, "--correct", '{"path":7}');
  expect(corrected.code).toBe(3);
  expect(corrected.stderr).toContain("ask_c6_0_2: Drop (destructive)");
  expect(effects(place)).toEqual([]);
});

test("auto-approve holds from the next request on, for its owner, until it is off", async () => {
  const place = createKeeper({ calls: [drop("a")] }, { text: "One." }, { calls: [drop("b")] }, { text: "Two." });
  await run(place);
  const taskId = await newestTask(place);
  const stranger = await place.perdure("auto-approve", "on", taskId, "--as", "bob");
  expect(stranger.code).toBe(1);
  expect((await place.perdure("auto-approve", "on", taskId)).code).toBe(3);
  expect((await place.perdure("approve", taskId)).code).toBe(0);
  expect((await place.perdure("show", taskId)).stdout).toContain("automatic: nothing is asked");
  expect(await place.perdure("say", taskId, "more")).toMatchObject({ code: 0, stdout: "Two.\n" });
  expect(effects(place)).toEqual(["Drop a", "Drop b"]);
  const settled = (await logOf(place, taskId)).filter(({ kind }) => kind === "approval_settled");
  expect(settled.map(({ data }) => (data as { auto?: true }).auto)).toEqual([undefined, true]);
  expect((await place.perdure("auto-approve", "off", taskId)).code).toBe(0);
});

test("a request that nobody decides in time is denied, and the task goes on by itself", async () => {
  const place = createKeeper({ calls: [drop("a")] }, { text: "Left alone." });
  const settings = 'settings: { approvalExpiryMs: 1 }, name: "keeper"';
  place.write("perdure.config.ts", config.replace('name: "keeper"', settings));
  const first = await run(place);
  const last = first.code === 3 ? await place.perdure("say", await newestTask(place), "go on") : first;
  expect(last).toMatchObject({ code: 0, stdout: "Left alone.\n" });
  expect(effects(place)).toEqual([]);
  const events = await logOf(place, await newestTask(place));
  expect(JSON.stringify(events)).toContain("Denied: nobody decided in time. It was not run.");
});

test("a chat shows the request and takes yes, no and a correction", async () => {
  const place = createKeeper({ calls: [drop("a"), drop("b"), drop("c")] }, { text: "Tidy." });
  const chat = place.start(["chat", "--model", "scripted:replies.jsonl"]);
  chat.type("tidy up");
  await chat.said('ask_c6_0: may Drop run with {"path":"a"}');
  await chat.said("- waits for approval");
  chat.type("y");
  await chat.said("ask_c6_0 is approved by");
  await chat.said("- waits for approval");
  chat.type("no, it is needed");
  await chat.said("ask_c6_1 is denied by");
  await chat.said("- waits for approval");
  chat.type('3 {"path":"C"}');
  await chat.said("Tidy.");
  await chat.said("- ready");
  chat.typeNoMore();
  expect((await chat.finished).code).toBe(0);
  expect(effects(place)).toEqual(["Drop a", "Drop C"]);
});
