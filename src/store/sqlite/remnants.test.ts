// What is gone is gone: the bytes of the files are searched for words that were redacted, taken or replaced.
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { appendTo, claimLog, createLog, randomSecret, temporaryFolder, told } from "../../../test/sqlite/log-writer.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

const TASKS = 12;
const ROUNDS = 40;
const word = (kind: string, task: number, round: number): string => `${kind}-${String(task)}-${String(round)}.`;

/** Words of many lengths, so that rows share pages, fill them, and go beyond them. */
const text = (kind: string, task: number, round: number): string =>
  word(kind, task, round).repeat([1, 5, 40, 200, 900][(task * 7 + round * 3) % 5] ?? 1);

const isGone = (round: number): boolean => round % 3 === 0;

it("leaves no word of what was redacted, taken or replaced among all that stays", async () => {
  const path = folder.path("tasks.db");
  const store = await openSqliteStore({ path });
  const logs = await Promise.all(Array.from({ length: TASKS }, () => createLog(store)));
  const claims = await Promise.all(logs.map((log) => claimLog(store, log)));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [task, log] of logs.entries()) {
      const [taskId, claim] = [log.taskId, claims[task]];
      if (claim === undefined) throw new Error("every log is claimed");
      const item = { type: "Say", text: text("item", task, round) } as const;
      await store.post({ taskId, by: "local:root", key: String(round), item });
      await appendTo(store, log, claim, [told(text("event", task, round))], { taken: round });
      const bytes = new Uint8Array(Buffer.from(text("snapshot", task, round)));
      await store.putSnapshot({ taskId, snapshot: { seq: log.seq, version: "v1", revision: claim.revision, bytes } });
      if (round % 10 === 0) await store.putFile({ taskId, name: "f", mediaType: "t", bytes });
    }
  }
  for (const { taskId } of logs) {
    const seqs = Array.from({ length: ROUNDS }, (_, round) => round).filter(isGone);
    await store.redact({ taskId, seqs: seqs.map((round) => round + 2), secret: randomSecret() });
  }
  expect(await store.check()).toEqual([]);
  await store.close();

  const bytes = readFileSync(path, "latin1");
  const found = (kind: string): Set<string> => new Set(bytes.match(new RegExp(`\\b${kind}-\\d+-\\d+\\.`, "g")));
  const expected = (kind: string, keep: (round: number) => boolean): Set<string> => {
    const all = logs.flatMap((_, task) => Array.from({ length: ROUNDS }, (__, round) => ({ task, round })));
    return new Set(all.filter(({ round }) => keep(round)).map(({ task, round }) => word(kind, task, round)));
  };
  expect(found("event")).toEqual(expected("event", (round) => !isGone(round)));
  expect(found("item")).toEqual(expected("item", (round) => round === ROUNDS - 1));
  // The newest snapshots went with the redactions; the files hold the words of the newest one.
  expect(found("snapshot")).toEqual(expected("snapshot", (round) => round === 30));
});

it("leaves no word of a snapshot that was replaced, in whatever order many tasks replace theirs", async () => {
  const path = folder.path("tasks.db");
  const store = await openSqliteStore({ path });
  const logs = await Promise.all(Array.from({ length: 500 }, () => createLog(store)));
  const newest = new Map<number, string>();
  // The same in every run: a minimal standard generator.
  let random = 1;
  for (let put = 0; put < 3_000; put += 1) {
    random = (random * 48_271) % 2_147_483_647;
    const task = random % logs.length;
    const words = word("snapshot", task, put);
    const bytes = new Uint8Array(Buffer.from(words.repeat([3, 18, 55][random % 3] ?? 1)));
    const snapshot = { seq: put, version: "v1", revision: 0, bytes };
    await store.putSnapshot({ taskId: logs[task]?.taskId ?? "", snapshot });
    newest.set(task, words);
  }
  await store.close();
  expect(new Set(readFileSync(path, "latin1").match(/\bsnapshot-\d+-\d+\./g))).toEqual(new Set(newest.values()));
});

it("cuts the log of changes with a redaction, while the store stays open", async () => {
  const path = folder.path("tasks.db");
  const store = await openSqliteStore({ path });
  const log = await createLog(store);
  await appendTo(store, log, await claimLog(store, log), [told("the-secret-words")]);
  await store.redact({ taskId: log.taskId, seqs: [2], secret: randomSecret() });
  expect(readFileSync(`${path}-wal`, "latin1")).not.toContain("the-secret-words");
  await store.close();
  expect(readFileSync(path, "latin1")).not.toContain("the-secret-words");
});

it("leaves no word of tasks that were pruned, a few at a time among others that go later", async () => {
  const path = folder.path("tasks.db");
  const store = await openSqliteStore({ path });
  const logs = await Promise.all(Array.from({ length: 120 }, () => createLog(store)));
  const claims = await Promise.all(logs.map((log) => claimLog(store, log)));
  for (let round = 0; round < 30; round += 1) {
    for (const [task, log] of logs.entries()) {
      const [{ taskId }, claim] = [log, claims[task]];
      if (claim === undefined || (task + round) % 3 === 0) continue;
      const item = { type: "Say", text: text("item", task, round) } as const;
      await store.post({ taskId, by: "local:root", key: `key of item ${String(round)}`, item });
      await appendTo(store, log, claim, [told(text("event", task, round))]);
      const bytes = new Uint8Array(Buffer.from(text("file", task, round)));
      if (round % 10 < 2) await store.putFile({ taskId, name: `f${String(round)}`, mediaType: "t", bytes });
    }
  }
  // Four lots, each all over the file; the last one stays.
  let kept = logs.map((_, task) => task);
  for (const lot of [0, 1, 2]) {
    const ends = kept.filter((task) => (task * 7) % 4 === lot || task % 11 === lot);
    for (const task of ends) {
      const [log, claim] = [logs[task], claims[task]];
      if (log === undefined || claim === undefined) throw new Error("every log is claimed");
      await appendTo(store, log, claim, [{ type: "TaskEnded", outcome: "done" }], { columns: { status: "ended" } });
    }
    const pruned = await store.prune({ endedBefore: (await store.now()) + 1, limit: 1_000 });
    expect(pruned).toHaveLength(ends.length);
    kept = kept.filter((task) => !ends.includes(task));
  }
  expect(await store.check()).toEqual([]);
  await store.close();
  const bytes = readFileSync(path, "latin1");
  for (const kind of ["event", "item", "file"]) {
    const tasks = new Set(bytes.matchAll(new RegExp(`\\b${kind}-(\\d+)-\\d+\\.`, "g")).map(([, task]) => Number(task)));
    expect(
      [...tasks].sort((a, b) => a - b),
      kind,
    ).toEqual(kept);
  }
});
