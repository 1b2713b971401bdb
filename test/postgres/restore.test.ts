// What backups and restores of a Postgres database do beyond the contract: files that are not whole, older schemas, the
// journal, and epochs that begin without a backup of ours.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkTask } from "../../src/client/check-task.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import { backupDatabase, backupErasures } from "../../src/store/postgres/backup.ts";
import { BackupReader, BackupWriter } from "../../src/store/postgres/backup-file.ts";
import { migrations } from "../../src/store/postgres/migrate.ts";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { recoverDatabase, restoreDatabase } from "../../src/store/postgres/restore.ts";
import type { Store } from "../../src/store/store.ts";
import { createDatabase, withClient, type Database } from "./database.ts";
import { appending, claiming, claimTask, createTask, endOf, told } from "./tasks.ts";

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-restore-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

/** Opens a store, and closes it when `work` is done. */
const withStore = async <T>(url: string, work: (store: Store) => Promise<T>): Promise<T> => {
  const store = await openPostgresStore({ url });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
};

/** A task in mid-turn, whose log has an event after its first. */
const beginTask = async (store: Store, text = "before"): Promise<string> => {
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  await store.append(appending(claim, endOf(claim), [told(text)], { columns: { status: "running" } }));
  return taskId;
};

const backUp = (database: Database, to: string) => backupDatabase({ url: database.url, to });
const replace = (database: Database, from: string) => restoreDatabase({ url: database.url, from, replace: true });
const redaction = (taskId: string) => ({ taskId, seqs: [2], secret: new Uint8Array(randomBytes(32)) });
const journal = async (database: Database): Promise<unknown[]> =>
  (await database.query("SELECT line FROM perdure_erasures.journal ORDER BY n")).map(({ line }) => line);

/** The same backup with another header, and without these tables. */
const withHeader = async (from: string, to: string, change: object, lacks: readonly string[] = []): Promise<void> => {
  const reader = await BackupReader.open(from);
  const writer = await BackupWriter.begin(to, { ...(await reader.header()), ...change });
  for (let table = await reader.table(); table !== undefined; table = await reader.table()) {
    const kept = !lacks.includes(table.name);
    if (kept) await writer.table(table);
    for await (const chunk of reader.rows()) if (kept) await writer.rows(chunk);
  }
  await writer.end();
  await writer.close();
  await reader.close();
};

test("a file that was cut or changed anywhere, and one that is none, is refused as damaged; nothing is made", async () => {
  await using database = await createDatabase();
  await using empty = await createDatabase();
  const folder = temporaryFolder();
  await withStore(database.url, beginTask);
  const whole = join(folder, "whole");
  await backUp(database, whole);
  const bytes = readFileSync(whole);
  const spoilt = join(folder, "spoilt");
  const refused = async (): Promise<void> => {
    const restoring = restoreDatabase({ url: empty.url, from: spoilt, replace: false });
    await expect(restoring).rejects.toMatchObject({ code: "damaged", message: expect.stringContaining(spoilt) });
  };
  for (const length of [0, 1, 20, 60, Math.floor(bytes.length / 2), bytes.length - 37, bytes.length - 1]) {
    writeFileSync(spoilt, bytes);
    truncateSync(spoilt, length);
    await refused();
  }
  for (const at of [0, 28, 31, 40, Math.floor(bytes.length / 2), bytes.length - 36, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    writeFileSync(spoilt, changed);
    await refused();
  }
  for (const other of [Buffer.concat([bytes, Buffer.of(0)]), "SQLite format 3\0 and so on", "no backup at all"]) {
    writeFileSync(spoilt, other);
    await refused();
  }
  expect(await empty.query("SELECT FROM pg_namespace WHERE nspname LIKE 'perdure%'")).toEqual([]);
  await restoreDatabase({ url: empty.url, from: whole, replace: false });
});

test("a backup of an older schema is brought up; one of a newer is refused with both versions", async () => {
  await using database = await createDatabase();
  const folder = temporaryFolder();
  const [now, older, newer] = [join(folder, "now"), join(folder, "older"), join(folder, "newer")];
  const taskId = await withStore(database.url, beginTask);
  await backUp(database, now);
  // The third file makes functions alone, as do the next two; the sixth these tables.
  await withHeader(now, older, { schema: 2 }, ["decisions", "showings"]);
  await withHeader(now, newer, { schema: 99 });
  await expect(replace(database, newer)).rejects.toMatchObject({
    code: "newer_version",
    message: expect.stringMatching(new RegExp(`version 99 .* up to ${String(migrations.length)}$`)),
  });
  expect((await replace(database, older)).findings).toEqual([]);
  await withStore(database.url, async (store) => {
    expect((await store.claim(claiming({ taskId })))?.entries).toHaveLength(2);
  });
  expect(await database.query("SELECT version FROM perdure.place")).toEqual([{ version: migrations.length }]);
});

test("a fault of the database is found in its backup, which is kept; what is no text stops no check", async () => {
  await using database = await createDatabase();
  const file = join(temporaryFolder(), "b");
  const [sick, well] = await withStore(database.url, async (store) => [await beginTask(store), await beginTask(store)]);
  await database.query(
    "UPDATE perdure.events SET body = '\\x00ff' WHERE seq = 2 AND task = (SELECT min(task) FROM perdure.tasks)",
  );
  const verify = async (store: Store) => {
    const checked = await Promise.all(
      [sick, well].map((taskId) => checkTask({ store, hasher: nodeHasher }, { taskId })),
    );
    return checked.flat().filter(({ what }) => what.includes("digest") || what.includes("chain"));
  };
  const faulty = [expect.objectContaining({ taskId: sick, seq: 2 })];
  expect((await backupDatabase({ url: database.url, to: file, verify })).findings).toEqual(faulty);
  const restored = await restoreDatabase({ url: database.url, from: file, replace: true, verify });
  expect(restored.findings).toEqual(faulty);
});

test("numbers go on after those of the backup, and content is as it was: bytes, NUL and lone surrogates", async () => {
  await using database = await createDatabase();
  const file = join(temporaryFolder(), "b");
  const odd = "a\0b\ud800c\u{1f600}";
  const taskId = await withStore(database.url, (store) => beginTask(store, odd));
  await withStore(database.url, (store) => createTask(store, "other queue"));
  await backUp(database, file);
  await replace(database, file);
  await withStore(database.url, async (store) => {
    expect((await store.read({ taskId })).at(-1)?.body).toContain(JSON.stringify(odd));
    await createTask(store, "a third queue");
    expect(await store.listTasks({ limit: 10 })).toHaveLength(3);
    expect(await store.check()).toEqual([]);
  });
});

test("the schema that was replaced stands aside as a store of its own, and what is done there changes nothing here", async () => {
  await using database = await createDatabase();
  const file = join(temporaryFolder(), "b");
  const taskId = await withStore(database.url, beginTask);
  await backUp(database, file);
  await withStore(database.url, (store) => store.redact(redaction(taskId)));
  const { aside, erased } = await replace(database, file);
  expect(erased).toBe(1);
  await withStore(`${database.url}?schema=${String(aside)}`, async (store) => {
    expect((await store.getTask({ taskId }))?.restoredFrom).toBeNull();
    await createTask(store, "default", "only-aside");
    const claim = await store.claim(claiming({ taskId: "only-aside" }));
    expect(claim?.epoch).toBe(1);
    expect(await store.check()).toEqual([]);
  });
  await withStore(database.url, async (store) => {
    expect(await store.getTask({ taskId: "only-aside" })).toBeNull();
    expect(await store.getTask({ taskId })).toMatchObject({ redactions: 1, restoredFrom: expect.any(Number) });
  });
});

test("a store that stays open over a restore appends nothing under an old claim, and goes on under a new one", async () => {
  await using database = await createDatabase();
  const file = join(temporaryFolder(), "b");
  const taskId = await withStore(database.url, createTask);
  await backUp(database, file);
  // Named as another program is, so that nobody sees it.
  const store = await openPostgresStore({ url: `${database.url}?application_name=other` });
  const claim = await claimTask(store, taskId);
  await store.append(appending(claim, endOf(claim), [told("a")]));
  await expect(replace(database, file)).resolves.toMatchObject({ open: 1 });
  const late = appending(claim, endOf(claim), [told("late")]);
  await expect(store.append(late)).rejects.toMatchObject({ code: "not_owner" });
  const next = await claimTask(store, taskId);
  expect(next).toMatchObject({ lastSeq: 1, restoredFrom: expect.any(Number) });
  await store.append(appending(next, endOf(next), [told("b")]));
  await store.close();
});

test("an erasure and its line in the journal commit together: without a word of what it was, or not at all", async () => {
  await using database = await createDatabase();
  const store = await openPostgresStore({ url: database.url });
  const taskId = await beginTask(store);
  await database.query("ALTER TABLE perdure_erasures.journal RENAME TO away");
  await expect(store.redact(redaction(taskId))).rejects.toMatchObject({ code: "damaged" });
  expect((await store.getTask({ taskId }))?.redactions).toBe(0);
  await database.query("ALTER TABLE perdure_erasures.away RENAME TO journal");
  expect(await journal(database)).toEqual([]);
  await store.redact(redaction(taskId));
  const [line] = (await journal(database)) as [string];
  expect(JSON.parse(line)).toMatchObject({ redacted: taskId, events: [[2, expect.any(String)]], items: [] });
  expect(line).not.toContain("before");
  await store.close();
});

test("the journal stays when the schema is dropped, and is applied to what is restored then", async () => {
  await using database = await createDatabase();
  const file = join(temporaryFolder(), "b");
  const taskId = await withStore(database.url, beginTask);
  await backUp(database, file);
  await withStore(database.url, (store) => store.redact(redaction(taskId)));
  await database.query("DROP SCHEMA perdure CASCADE");
  const restored = await restoreDatabase({ url: database.url, from: file, replace: false });
  expect(restored).toMatchObject({ erased: 1, epoch: 2 });
});

/** As if its cluster were another than the one it was last in, and so its server one that started at another time. */
const move = (database: Database) =>
  database.query("UPDATE perdure.place SET system_id = '1', server_started = server_started - interval '1 second'");

test("a database in another cluster begins one epoch, whoever of many opens it first", async () => {
  await using database = await createDatabase();
  const taskId = await withStore(database.url, beginTask);
  const left = await withStore(database.url, (store) => store.getTask({ taskId }));
  await move(database);
  const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgresStore({ url: database.url })));
  for (const store of stores) expect(await store.getTask({ taskId })).toMatchObject({ restoredFrom: left?.updatedAt });
  const claims = await Promise.all(stores.map((store) => store.claim(claiming())));
  const [claim, ...more] = claims.filter((each) => each !== null);
  expect(more).toEqual([]);
  expect(claim).toMatchObject({ taskId, epoch: 2, restoredFrom: left?.updatedAt });
  expect(await database.query("SELECT epoch::integer FROM perdure.restores")).toEqual([{ epoch: 2 }]);
  expect(await journal(database)).toEqual(['{"epoch":2}']);
  await Promise.all(stores.map((store) => store.close()));
  // From now on it knows where it is.
  await withStore(database.url, async (store) =>
    expect((await store.getTask({ taskId }))?.restoredFrom).not.toBeNull(),
  );
  expect(await database.query("SELECT epoch::integer FROM perdure.place")).toEqual([{ epoch: 2 }]);
});

test("stores under which the cluster changes begin the epoch before their next claim, once", async () => {
  await using database = await createDatabase();
  const stores = await Promise.all([1, 2].map(() => openPostgresStore({ url: database.url })));
  for (const store of stores) await beginTask(store);
  await move(database);
  const claims = await Promise.all(stores.map((store) => store.claim(claiming())));
  for (const claim of claims) expect(claim).toMatchObject({ epoch: 2, restoredFrom: expect.any(Number) });
  expect(await journal(database)).toEqual(['{"epoch":2}']);
  await Promise.all(stores.map((store) => store.close()));
});

test("a claim asks which cluster this is once for each start of its server", async () => {
  await using database = await createDatabase();
  const store = await openPostgresStore({ url: database.url });
  const known = () =>
    database.query(
      "SELECT server_started = pg_postmaster_start_time() AS known, xmin::text AS written FROM perdure.place",
    );
  expect(await known()).toMatchObject([{ known: null }]);
  await store.claim(claiming());
  const asked = await known();
  expect(asked).toMatchObject([{ known: true }]);
  await createTask(store);
  expect(await store.claim(claiming())).not.toBeNull();
  expect(await known()).toEqual(asked);
  await store.close();
});

test("a role that may not ask for the cluster works, and compares nothing; one that may teaches the database", async () => {
  await using database = await createDatabase();
  const role = `plain_${randomBytes(4).toString("hex")}`;
  const { pathname } = new URL(database.url);
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
  await database.query(`GRANT CREATE ON DATABASE ${pathname.slice(1)} TO ${role}`);
  await database.query("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
  const known = () => database.query("SELECT system_id FROM perdure.place");
  const url = Object.assign(new URL(database.url), { username: role, password: "x" }).href;
  await withStore(url, async (store) => expect(await store.claim(claiming())).toBeNull());
  expect(await known()).toEqual([{ system_id: null }]);
  await withStore(url, beginTask);
  await move(database);
  await withStore(url, async (store) => {
    await createTask(store);
    expect(await store.claim(claiming())).toMatchObject({ epoch: 1, restoredFrom: null });
  });
  // Told by hand that nothing was lost.
  await database.query("UPDATE perdure.place SET system_id = NULL");
  await database.query("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC");
  await withStore(url, async (store) => {
    await createTask(store);
    expect(await store.claim(claiming())).toMatchObject({ epoch: 1, restoredFrom: null });
  });
  const [{ here }] = (await database.query("SELECT system_identifier::text AS here FROM pg_control_system()")) as [
    { here: string },
  ];
  expect(await known()).toEqual([{ system_id: here }]);
  // What it owns it may back up and restore.
  const file = join(temporaryFolder(), "b");
  await backupDatabase({ url, to: file });
  await expect(restoreDatabase({ url, from: file, replace: true })).resolves.toMatchObject({ epoch: 2, findings: [] });
  await database.query(`DROP OWNED BY ${role} CASCADE`);
  await database.query(`DROP ROLE ${role}`);
});

test("a database that was set back to a point in time begins its epoch by hand, with the journal that was kept", async () => {
  await using database = await createDatabase();
  const erasures = join(temporaryFolder(), "e.jsonl");
  const taskId = await withStore(database.url, beginTask);
  // What a recovery gives: the database as it was, in the same cluster.
  const { pathname, href } = new URL(database.url);
  const then = `${pathname.slice(1)}_then`;
  await withClient(href.replace(pathname, "/postgres"), (client) =>
    client.query(`CREATE DATABASE ${then} TEMPLATE ${pathname.slice(1)}`),
  );
  const url = href.replace(pathname, `/${then}`);
  await withStore(database.url, (store) => store.redact(redaction(taskId)));
  await backupErasures({ url: database.url, to: erasures });
  await withStore(url, async (store) => {
    // By itself it cannot tell, and neither would it after a failover that lost nothing.
    expect((await store.getTask({ taskId }))?.restoredFrom).toBeNull();
    await expect(recoverDatabase({ url })).rejects.toMatchObject({ code: "unavailable" });
  });
  const recovered = await recoverDatabase({ url, erasures });
  expect(recovered).toMatchObject({ epoch: 2, open: 1, erased: 1, aside: null, findings: [] });
  // What was brought is the database's own from now on.
  const copy = `${erasures} again`;
  await backupErasures({ url, to: copy });
  expect(readFileSync(copy, "utf8")).toBe(`${readFileSync(erasures, "utf8")}{"epoch":2}\n`);
  await withStore(url, async (store) => {
    const claim = await store.claim(claiming());
    expect(claim).toMatchObject({ taskId, restoredFrom: recovered.backupAt });
    expect((await store.read({ taskId })).map(({ body }) => body).join()).not.toContain("before");
    expect(await store.check()).toEqual([]);
  });
  await withClient(href.replace(pathname, "/postgres"), (client) => client.query(`DROP DATABASE ${then} WITH (FORCE)`));
});
