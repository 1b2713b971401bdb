// Bundles: a task whole as a file, and in again under a new id.
import { expect, onTestFinished, test } from "vitest";
import { createMemoryStore } from "../store/memory/store.ts";
import { definitionHash, nodeHasher } from "../store/node-hasher.ts";
import type { Store } from "../store/store.ts";
import { call, called, core, created, ended, item, replied, say, started, taken, waiting } from "../testing/given.ts";
import { clientOf, keepTask } from "../testing/kept-task.ts";
import { decodeBundle, encodeBundle, type DatedBundle } from "./bundle-file.ts";
import { exportBundle, hasMoved, importBundle } from "./bundles.ts";
import { checkTask } from "./check-task.ts";
import { post } from "./post.ts";
import { readLog } from "./read-log.ts";
import { showTask } from "./show-task.ts";

const openStore = (): Store => {
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  return store;
};

const spoken = [
  taken(say("a \ud800 \u0000 b")),
  called(),
  replied("Hello."),
  waiting("input", { outcome: "completed" }),
];
const acting = [taken(say("send it")), called(), replied([call("Send", { to: "ada" })])];
const unknown = [
  ...[...acting, started("c4_0", "Send", { effect: "write" })],
  core("action_unknown", { callId: "c4_0", reason: "crashed" }),
  waiting("resolution", { outcome: "paused" }),
];

const text = JSON.stringify({ name: "Send" });
const definition = { hash: definitionHash(text), text };

/** A task with a definition, a file and a redacted event. */
const lived = async (): Promise<{ readonly store: Store; readonly dated: DatedBundle }> => {
  const store = openStore();
  await keepTask(store, unknown, { definitions: [definition] });
  await store.putFile({ taskId: "task", name: "f", mediaType: "text/plain", bytes: Uint8Array.of(0, 255, 10) });
  await store.redact({ taskId: "task", seqs: [2], secret: new Uint8Array(32).fill(7) });
  return { store, dated: await exportBundle(clientOf(store), "task") };
};

const bytesOf = (lines: readonly string[]): Uint8Array => new TextEncoder().encode(lines.join(""));
const encoded = (dated: DatedBundle): Uint8Array => bytesOf(encodeBundle(nodeHasher, dated));

/** The file with other lines, and the right hash of them. */
const forged = (dated: DatedBundle, change: (line: string) => string): Uint8Array => {
  const lines = encodeBundle(nodeHasher, dated).slice(0, -1).map(change);
  const sha256 = Buffer.from(nodeHasher.sha256(...lines)).toString("hex");
  return bytesOf([...lines, `${JSON.stringify({ sha256 })}\n`]);
};

test("a bundle comes out of its file as it went in", async () => {
  const { dated } = await lived();
  const { bundle, exportedAt } = dated;
  expect(decodeBundle(nodeHasher, encoded(dated), "b")).toEqual({ bundle, exportedAt });
  expect(bundle.redactions).toHaveLength(1);
  const store = openStore();
  await keepTask(store, spoken);
  const { bundle: odd } = await exportBundle(clientOf(store), "task");
  expect(decodeBundle(nodeHasher, encoded({ bundle: odd, exportedAt }), "b").bundle).toEqual(odd);
});

test("a file that was changed anywhere, or cut, is refused", async () => {
  const { dated } = await lived();
  const bytes = encoded(dated);
  const refused = { code: "damaged", message: expect.stringMatching(/^b( is no bundle|: line)/) };
  for (let at = 0; at < bytes.length - 1; at += 41) {
    const changed = bytes.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => decodeBundle(nodeHasher, changed, "b"), String(at)).toThrow(expect.objectContaining(refused));
    expect(() => decodeBundle(nodeHasher, bytes.slice(0, at), "b")).toThrow(expect.objectContaining(refused));
  }
});

test("what is not a bundle's line is refused, though the file's hash fits", async () => {
  const { dated } = await lived();
  const changes: Record<string, (line: string) => string> = {
    format: (line) => line.replace("perdure-task/1", "perdure-task/2"),
    "no header": (line) => (line.startsWith('{"format"') ? "{}\n" : line),
    "no row": (line) => line.replace('"requires"', '"needs"'),
    "an event without a body": (line) => line.replace('"body"', '"bodi"'),
    "half a byte": (line) => line.replace('"digest":"', '"digest":"a'),
    "half a time": (line) => line.replace('"at":1000', '"at":1000.5'),
    "another line": (line) => (line.startsWith('{"definition"') ? '{"secret":"a"}\n' : line),
    "no JSON": (line) => (line.startsWith('{"file"') ? "file\n" : line),
  };
  for (const [what, change] of Object.entries(changes)) {
    expect(() => decodeBundle(nodeHasher, forged(dated, change), "b"), what).toThrow(
      expect.objectContaining({ code: "damaged" }),
    );
  }
});

test("a log that was changed is refused, though the file's hash fits, and nothing of it is kept", async () => {
  const { dated } = await lived();
  const store = openStore();
  const changes: Record<string, (line: string) => string> = {
    input: (line) => line.replace("ada", "eve"),
    owner: (line) => line.replace('local:root\\"', 'local:reet\\"'),
    "an event gone": (line) => (line.startsWith('{"event":{"seq":4') ? "" : line),
    "a redaction gone": (line) => (line.startsWith('{"redaction"') ? "" : line),
    definition: (line) => line.replace('{\\"name\\":\\"Send\\"}', '{\\"name\\":\\"Sand\\"}'),
  };
  for (const [what, change] of Object.entries(changes)) {
    const bytes = forged(dated, change);
    expect(Buffer.compare(bytes, encoded(dated)), what).not.toBe(0);
    const importing = importBundle(clientOf(store), decodeBundle(nodeHasher, bytes, "b"));
    await expect(importing, what).rejects.toMatchObject({ code: "damaged" });
  }
  expect(await store.listTasks({ limit: 10 })).toEqual([]);
  const expect0 = { ...dated, expect: "0".repeat(64) };
  await expect(importBundle(clientOf(store), expect0)).rejects.toMatchObject({
    code: "damaged",
    message: expect.stringContaining(`no event has the head ${"0".repeat(64)}`),
  });
  await importBundle(clientOf(store), { ...dated, expect: dated.bundle.row.head.toUpperCase() });
});

test("an import is the task whole, under a new id and a secret of its own, and tells of the bundle", async () => {
  const { store, dated } = await lived();
  const client = clientOf(store);
  const { taskId, from, head } = await importBundle(client, dated);
  expect({ from, head }).toEqual({ from: "task", head: dated.bundle.row.head });
  expect(taskId).not.toBe("task");
  expect(await readLog(client, taskId)).toEqual(await readLog(client, "task"));
  expect(await checkTask(client, { taskId })).toEqual([]);
  expect((await store.getFile({ taskId, name: "f" }))?.bytes).toEqual(Uint8Array.of(0, 255, 10));
  expect(await store.getDefinitions({ hashes: [definition.hash] })).toEqual([definition]);
  expect(await store.getSecret({ taskId })).not.toEqual(await store.getSecret({ taskId: "task" }));
  expect((await showTask(client, taskId)).restored).toEqual({ backupAt: dated.exportedAt, isNew: true });
  expect((await showTask(client, "task")).restored).toBeNull();
});

test("no bundle holds the task's secret", async () => {
  const { store, dated } = await lived();
  const secret = Buffer.from(await store.getSecret({ taskId: "task" }));
  const file = Buffer.from(encoded(dated)).toString("latin1");
  for (const form of ["hex", "base64", "base64url", "latin1"] as const) {
    expect(file).not.toContain(secret.toString(form));
  }
});

test("only its owner exports a task, and only its owner takes it in, in the place where it lives", async () => {
  const { store, dated } = await lived();
  for (const other of [clientOf(store, "local:bob"), clientOf(store, undefined, "elsewhere")]) {
    await expect(exportBundle(other, "task")).rejects.toMatchObject({ code: "not_found" });
    await expect(importBundle(other, dated)).rejects.toMatchObject({
      code: "refused",
      message: `task task belongs to local:root in here: ${other.principal} in ${other.place} cannot import it`,
    });
  }
  expect(await store.listTasks({ limit: 10 })).toHaveLength(1);
});

test("a child, a fork, and a task whose child lives are refused: their logs are of no use alone", async () => {
  const store = openStore();
  const parent = { taskId: "task", callId: "c4_0" };
  await keepTask(store, [created({ root: "task", parent })], { taskId: "child" });
  await expect(exportBundle(clientOf(store), "child")).rejects.toMatchObject({
    code: "refused",
    message: "task child is a child of task: it cannot be exported without it",
  });
});

test("an ended task stays ended, and takes nothing", async () => {
  const store = openStore();
  await keepTask(store, [...spoken, taken(say("bye")), ended({ answer: "Bye." })]);
  const client = clientOf(store);
  const { taskId } = await importBundle(client, await exportBundle(client, "task"));
  expect(await showTask(client, taskId)).toMatchObject({ status: "ended", outcome: "done", restored: null });
  await expect(post(client, { taskId, item: { type: "Say", text: "hi" } })).rejects.toMatchObject({ code: "refused" });
});

test("on another machine its tools work in a folder there, which its log says", async () => {
  const store = openStore();
  await keepTask(store, [created({ settings: { workspace: { host: "far", path: "/a" } } }), ...spoken]);
  const client = clientOf(store);
  const workspace = { host: "near", path: "/b" };
  const { taskId, lastSeq } = await importBundle(client, { ...(await exportBundle(client, "task")), workspace });
  expect(lastSeq).toBe(6);
  expect((await store.getTask({ taskId }))?.requires).toEqual(["agent:demo", "host:near"]);
  expect((await readLog(client, taskId, 5))[0]?.event).toMatchObject({ kind: "config", data: { by: "local:root" } });
  expect(await showTask(client, taskId)).toMatchObject({ workspace: "/b", status: "waiting", outcome: "completed" });
  expect(await checkTask(client, { taskId })).toEqual([]);
});

test("only a task that can be closed, with nothing in its inbox, is moved", async () => {
  const store = openStore();
  const client = clientOf(store);
  await keepTask(store, unknown, { taskId: "open" });
  await expect(exportBundle(client, "open", { move: true })).rejects.toMatchObject({
    code: "refused",
    message: expect.stringContaining("cannot be closed while an action is unknown"),
  });
  await keepTask(store, spoken, { taskId: "rests" });
  const moved = await exportBundle(client, "rests", { move: true });
  expect(await hasMoved(client, moved)).toBe(false);
  await store.post({ taskId: "rests", by: "local:root", key: "k", item: { type: "Say", text: "one more" } });
  await expect(exportBundle(client, "rests", { move: true })).rejects.toMatchObject({ code: "refused" });
  expect(await exportBundle(client, "rests")).toMatchObject({ untaken: 1 });
});

test("a task has moved once it ended with nothing but its close", async () => {
  const store = openStore();
  const client = clientOf(store);
  const close = taken(item("Close", {}));
  await keepTask(store, spoken, { taskId: "early" });
  const early = await exportBundle(client, "early");
  const logs = { closed: [...spoken, close, ended()], more: [...spoken, taken(say("wait")), close, ended()] };
  for (const [taskId, steps] of Object.entries(logs)) await keepTask(store, steps, { taskId });
  const as = (taskId: string): DatedBundle => ({
    ...early,
    bundle: { ...early.bundle, row: { ...early.bundle.row, taskId } },
  });
  expect(await hasMoved(client, as("closed"))).toBe(true);
  expect(await hasMoved(client, as("more"))).toBe(false);
});
