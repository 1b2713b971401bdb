// Each example as its reader would run it, and killed in the middle where it says that it can be.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-examples-"));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const start = (example: string, env: NodeJS.ProcessEnv = {}, ...args: readonly string[]): ChildProcess => {
  const path = join(import.meta.dirname, "../../examples", example);
  const child = spawn(process.execPath, [path, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return child;
};

/** Its output, once it has ended well. */
const run = async (...command: Parameters<typeof start>): Promise<string> => {
  const child = start(...command);
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  expect(code, output).toBe(0);
  return output;
};

const kill = async (child: ChildProcess): Promise<void> => {
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
};

/** Resolves once `path`, which may not be there yet, is there, and holds `text` if that is given. */
const untilThere = (path: string, text?: string): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (!existsSync(path) || (text !== undefined && readFileSync(path, "utf8") !== text)) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(folder, look);
    look();
  });

/** The bodies of the events of one type of the only task in `database`. */
const eventsOf = async (database: string, type: string): Promise<Record<string, unknown>[]> => {
  const store = await openSqliteStore({ path: join(folder, database) });
  const [row] = await store.listTasks({ limit: 2 });
  const entries = await store.read({ taskId: row?.taskId ?? "" });
  await store.close();
  return entries.filter((entry) => entry.type === type).map(({ body }) => JSON.parse(body) as Record<string, unknown>);
};

const untilCalled = async (database: string): Promise<void> => {
  await untilThere(join(folder, database));
  const store = await openSqliteStore({ path: join(folder, database) });
  const found = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    const [row] = await store.listTasks({ limit: 1 });
    if (row === undefined) return;
    const entries = await store.read({ taskId: row.taskId });
    if (entries.some(({ type }) => type === "ModelCalled")) found.resolve();
  };
  const stop = store.subscribe(() => void look().catch(found.reject));
  await look();
  await found.promise;
  stop();
  await store.close();
};

it("the first program answers, and is the same task when it is run again", async () => {
  writeFileSync(join(folder, "a.txt"), "hello world\n");
  const output = await run("first-program.ts");
  expect(output).toContain("hello world");
  expect(output).toMatch(/: completed\n$/);
  const [id] = output.trim().split("\n").at(-1)?.split(":") ?? [];
  expect(await run("first-program.ts")).toBe(`\n${id ?? ""}: completed\n`);
});

it("the first program goes on with the same request where it was killed", async () => {
  writeFileSync(join(folder, "a.txt"), "hello world\n");
  const replies = join(folder, "replies.jsonl");
  const [call, answer] = [
    '{"calls":[{"name":"Read","input":{"file_path":"a.txt"}}]',
    '{"text":"It says hello world."}',
  ];
  writeFileSync(replies, `${call},"delayMs":600000}\n${answer}\n`);
  const env = { PERDURE_MODEL: "scripted:replies.jsonl" };
  const killed = start("first-program.ts", env);
  await untilCalled("tasks.db");
  await kill(killed);
  writeFileSync(replies, `${call}}\n${answer}\n`);
  expect(await run("first-program.ts", env)).toContain("It says hello world.");
  const calls = await eventsOf("tasks.db", "ModelCalled");
  expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
  expect(calls[1]?.["requestHash"]).toBe(calls[0]?.["requestHash"]);
  expect(await eventsOf("tasks.db", "TaskCreated")).toHaveLength(1);
});

it("a plugin's state is what its records add up to", async () => {
  const output = await run("plugin-with-state.ts");
  expect(output.split("\n")[0]).toBe("Both are noted.");
  expect(output).toContain("130 in 2 expenses");
});

it("a verified write that was killed on its way is found to be done, and not done again", async () => {
  const killed = start("verified-write.ts", { SLOW_MS: "600000" });
  await untilThere(join(folder, "news.txt"), "We are live.");
  await kill(killed);
  const output = await run("verified-write.ts");
  expect(output).toMatch(/^It is out\.\nok verification /);
  expect(readFileSync(join(folder, "news.txt"), "utf8")).toBe("We are live.");
  expect(await eventsOf("publish.db", "ToolStarted")).toHaveLength(1);
});

it("a task is approved, killed, verified, corrected by a colleague, approved and moved; each refund is paid once", async () => {
  const output = await run("people-and-a-crash.ts");
  expect(readFileSync(join(folder, "bank.txt"), "utf8")).toBe("order 17: 40\norder 18: 45\n");

  const [id = ""] = /(?<=^task )\w+/m.exec(output) ?? [];
  const shown = output
    .split(/^\$ perdure /m)
    .slice(1)
    .map((part) => part.replaceAll(id, "TASK"));
  const endings = shown.map((part) => [part.split("\n")[0], /^\[(.+)\]$/m.exec(part)?.[1]]);
  expect(endings).toEqual([
    ['run "Pay back orders 17 and 18." --as ada', "exit 3"],
    ["approve TASK --as ada", "SIGKILL"],
    ["resume TASK --as ada", "exit 3"],
    ["show TASK --as ada", "exit 0"],
    ["resume TASK --as ada", "exit 1"],
    ["verify TASK c6_0 --as ada", "exit 3"],
    ["resume TASK --as ada", "exit 3"],
    ["auto-approve on TASK --as ada", "exit 3"],
    ["collaborator add TASK bob --as ada", "exit 0"],
    ['steer TASK "Only half of order 18." --as bob', "exit 0"],
    ["resume TASK --as ada", "exit 3"],
    ["show TASK --as ada", "exit 0"],
    ["approve TASK --as ada", "exit 0"],
    ["handoff TASK --to office --as ada", "exit 0"],
    ["show TASK --as ada", "exit 1"],
    ["export TASK --as ada --place office", "exit 0"],
  ]);
  const decisive: readonly (readonly string[])[] = [
    ['ask_c6_0: Refund (destructive) {"order":17,"amount":40}', "perdure approve TASK --as ada\n"],
    ["the bank has it in its book"],
    ["task TASK waits for a resolution", "perdure verify TASK c6_0 --as ada"],
    ["actions    c6_0 Refund (destructive) unknown, started at seq 11"],
    ["cannot be resumed while an action is unknown: c6_0 (Refund)"],
    ["c6_0 Refund took effect: its tool has looked", "perdure resume TASK --as ada"],
    ["Order 18 in full, too?"],
    [],
    [],
    ["Steer is item"],
    ['Refund (destructive) {"order":18,"amount":45}', "Somebody else corrected the task."],
    ["approvals  automatic, but each change is asked about", "steered by local:bob\n"],
    ["Order 17 is paid back in full, order 18 by half."],
    ["lives in office now, private", "perdure show TASK --as ada --place office"],
    ["local:ada has no task TASK"],
    [
      "place office, private",
      "Settled as done by local:ada (verification)",
      "for c6_0 Refund: approved",
      "- pay back order 17: 40",
      "for c33_0 Refund: approved",
      "- add local:bob by local:ada",
    ],
  ];
  for (const [index, words] of decisive.entries()) {
    for (const each of words) expect(shown[index]).toContain(each);
  }

  const started = await eventsOf(".perdure/tasks.db", "ToolStarted");
  const refunds = started.filter(({ name }) => name === "Refund");
  expect(refunds.map(({ callId, attempt }) => [callId, attempt])).toEqual([
    ["c6_0", 1],
    ["c33_0", 1],
  ]);
  const records = await eventsOf(".perdure/tasks.db", "ExtensionRecorded");
  const settled = records.filter(({ kind }) => kind === "approval_settled").map(({ data }) => data);
  expect(settled).toMatchObject(refunds.map(({ callId }) => ({ callId, decision: "approved", by: "local:ada" })));
}, 120_000);

it("a Hono server acknowledges, streams from any event on, and shows nobody another's task", async () => {
  writeFileSync(join(folder, "a.txt"), "hello world\n");
  const server = start("hono-server.ts", { PORT: "0" });
  const lines = createInterface({ input: server.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, "line")) as [string];
  const base = `http://127.0.0.1:${line.split(" ").at(-1) ?? ""}`;
  const headers = { "x-user": "ann", "idempotency-key": "k" };
  const create = () => fetch(`${base}/tasks`, { method: "POST", body: "what is in a.txt?", headers });
  const [first, again] = [await create(), await create()];
  expect(first.status).toBe(202);
  const { id } = (await first.json()) as { id: string };
  expect(await again.json()).toEqual({ id });

  /** The ids of events until the task waits. */
  const idsFrom = async (after: number): Promise<number[]> => {
    const left = new AbortController();
    const asked = { headers: { "x-user": "ann", "last-event-id": String(after) }, signal: left.signal };
    const response = await fetch(`${base}/tasks/${id}/events`, asked);
    let text = "";
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!text.includes("event: Waiting")) text += (await reader?.read())?.value ?? "";
    left.abort();
    return [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
  };
  const seqs = await idsFrom(0);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(await idsFrom(5)).toEqual(seqs.slice(5));
  const shown = (await (await fetch(`${base}/tasks/${id}`, { headers: { "x-user": "ann" } })).json()) as object;
  expect(shown).toMatchObject({ status: "waiting", waitingOn: "input" });
  expect((await fetch(`${base}/tasks/${id}`, { headers: { "x-user": "bob" } })).status).toBe(404);
});
