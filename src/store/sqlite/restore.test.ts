// What SQLite's backups and restores do beyond the contract: epochs over several restores, the journal, older files.
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  appendTo,
  claimLog,
  claiming,
  createLog,
  randomSecret,
  temporaryFolder,
  told,
  type Log,
} from "../../../test/sqlite/log-writer.ts";
import type { Store } from "../store.ts";
import { backupDatabase } from "./backup.ts";
import { readErasures } from "../erasures.ts";
import { restoreDatabase } from "./restore.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
let store: Store;
let log: Log;

beforeEach(async () => {
  folder = temporaryFolder();
  path = folder.path("tasks.db");
  store = await openSqliteStore({ path });
  log = await createLog(store, "task-1");
  await appendTo(store, log, await claimLog(store, log), [told("before")]);
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const backUp = (to = "b.db") => backupDatabase({ path, to: folder.path(to) });

/** Puts the backup in the database's place, and opens it. */
const restore = async (from = "b.db") => {
  await store.close();
  const restored = await restoreDatabase({ from: folder.path(from), path, replace: true });
  store = await openSqliteStore({ path });
  return restored;
};

it("a restored database holds the logs as of the backup, and the replaced one stands aside whole", async () => {
  await backUp();
  const claim = await store.claim(claiming());
  expect(claim).toBeNull();
  const { fence, revision } = (await store.getTask({ taskId: "task-1" })) ?? { fence: 0, revision: 0 };
  await appendTo(store, log, { fence, revision }, [told("after")]);
  const { aside } = await restore();
  expect(await store.read({ taskId: "task-1" })).toHaveLength(2);
  const old = await openSqliteStore({ path: aside ?? "" });
  expect(await old.read({ taskId: "task-1" })).toHaveLength(3);
  await old.close();
});

it("two restores of one backup begin two epochs, whose fences differ", async () => {
  await backUp();
  const first = await restore();
  const one = await claimLog(store, log);
  const second = await restore();
  const two = await claimLog(store, log);
  expect(second.epoch).toBe(first.epoch + 1);
  expect(second.backupAt).toBe(first.backupAt);
  expect(two.fence).toBeGreaterThan(one.fence + 1_000_000);
  await store.close();
  // Of the journal and the replaced database, either will do.
  rmSync(`${path}.erasures`);
  expect((await restoreDatabase({ from: folder.path("b.db"), path, replace: true })).epoch).toBe(second.epoch + 1);
});

it("a backup of a restored database knows the earlier backup too", async () => {
  await backUp();
  const { backupAt } = await restore();
  await backUp("later.db");
  await restore("later.db");
  expect((await store.getTask({ taskId: "task-1" }))?.restoredFrom).toBe(backupAt);
});

it("a redaction is in the journal before it is made, without a word of what it redacts", async () => {
  const secret = randomSecret();
  await store.redact({ taskId: "task-1", seqs: [2], secret });
  const text = readFileSync(`${path}.erasures`, "utf8");
  expect(text).not.toContain("before");
  expect(readErasures(`${path}.erasures`)).toMatchObject({
    entries: [{ redacted: "task-1", items: [] }],
    unreadable: 0,
  });
});

it("a redaction that cannot be noted is not made", async () => {
  // A folder in the journal's place takes no line.
  mkdirSync(`${path}.erasures`);
  const redaction = { taskId: "task-1", seqs: [2], secret: randomSecret() };
  await expect(store.redact(redaction)).rejects.toMatchObject({ code: "unavailable" });
  expect((await store.getTask({ taskId: "task-1" }))?.redactions).toBe(0);
  rmdirSync(`${path}.erasures`);
  await store.redact(redaction);
  expect((await store.getTask({ taskId: "task-1" }))?.redactions).toBe(1);
});

it("a line that a killed writer left in the journal spoils no other", async () => {
  await backUp();
  appendFileSync(`${path}.erasures`, '{"redacted":"task-1","ev');
  await store.redact({ taskId: "task-1", seqs: [2], secret: randomSecret() });
  const { erased, unreadable } = await restore();
  expect({ erased, unreadable }).toEqual({ erased: 1, unreadable: 1 });
  expect(readFileSync(path, "latin1")).not.toContain("before");
});

it("an id that was forgotten after the backup cannot come back", async () => {
  await backUp();
  appendFileSync(`${path}.erasures`, '{"forgotten":"task-1"}\n{"forgotten":"task-2"}\n');
  await restore();
  await expect(store.read({ taskId: "task-1" })).rejects.toMatchObject({ code: "forgotten" });
  await expect(createLog(store, "task-2")).rejects.toMatchObject({ code: "forgotten" });
  expect(readFileSync(path, "latin1")).not.toContain("before");
  expect(await store.check()).toEqual([]);
});

it("a database that was copied by hand counts as a backup of the time of its newest event", async () => {
  const updatedAt = (await store.getTask({ taskId: "task-1" }))?.updatedAt;
  await store.close();
  copyFileSync(path, folder.path("copy.db"));
  expect((await restore("copy.db")).backupAt).toBe(updatedAt);
});

it("a copy of a database that is open is refused, and so is one of a newer perdure", async () => {
  const from = path;
  const target = { path: folder.path("new.db"), replace: false };
  await expect(restoreDatabase({ from, ...target })).rejects.toMatchObject({ code: "unavailable" });
  await backUp();
  const newer = new DatabaseSync(folder.path("b.db"));
  newer.exec("PRAGMA user_version = 99");
  newer.close();
  const refused = restoreDatabase({ from: folder.path("b.db"), ...target });
  await expect(refused).rejects.toMatchObject({ code: "newer_version" });
  expect(existsSync(target.path)).toBe(false);
  expect(readdirSync(folder.path("")).filter((name) => name.includes(".part"))).toEqual([]);
});

it("a backup whose pages are damaged is refused, and the database stays", async () => {
  await backUp();
  const bytes = readFileSync(folder.path("b.db"));
  bytes.fill(0xff, Math.floor(bytes.length * 0.75));
  writeFileSync(folder.path("b.db"), bytes);
  await store.close();
  const refused = restoreDatabase({ from: folder.path("b.db"), path, replace: true });
  await expect(refused).rejects.toMatchObject({ code: "damaged" });
  store = await openSqliteStore({ path });
  expect(await store.read({ taskId: "task-1" })).toHaveLength(2);
});
