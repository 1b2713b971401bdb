// Which files are opened, which are refused, and that those are left as they were.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { appendTo, claimLog, createLog, temporaryFolder, told } from "../../../test/sqlite/log-writer.ts";
import { migrations } from "./migrate.ts";
import { openConnection } from "./open-connection.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** Every file of the test's folder with a digest of its bytes. */
const everything = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder.path("."), { recursive: true, encoding: "utf8" }).map((name) => {
      const path = folder.path(name);
      const bytes = statSync(path).isFile() ? readFileSync(path) : "directory";
      return [name, createHash("sha256").update(bytes).digest("hex")];
    }),
  );

const words = "These are the words of a text file, and not of a database.\n";

describe("a new file", () => {
  it("is made with its directories, for its owner alone", async () => {
    const path = folder.path("a/b/tasks.db");
    const store = await openSqliteStore({ path });
    await createLog(store);
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(folder.path("a")).mode & 0o777).toBe(0o700);
    await store.close();
    expect(readdirSync(folder.path("a/b"))).toEqual(["tasks.db"]);
  });

  it("is made once by two that open it at once", async () => {
    const path = folder.path("tasks.db");
    const [one, other] = await Promise.all([openSqliteStore({ path }), openSqliteStore({ path })]);
    const log = await createLog(one);
    expect(await other.getTask({ taskId: log.taskId })).toMatchObject({ lastSeq: 1 });
    await one.close();
    await other.close();
  });

  it("may be there already, empty", async () => {
    const path = folder.path("tasks.db");
    writeFileSync(path, "");
    const store = await openSqliteStore({ path });
    await createLog(store);
    await store.close();
  });

  it("is refused where none can be made", async () => {
    writeFileSync(folder.path("file"), words);
    const open = openSqliteStore({ path: folder.path("file/tasks.db") });
    await expect(open).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("file/tasks.db"),
    });
  });
});

describe("a file that is no perdure database", () => {
  const foreign: Record<string, (path: string) => void> = {
    "a text file": (path) => writeFileSync(path, words),
    "a text file longer than a page": (path) => writeFileSync(path, words.repeat(200)),
    "a short file": (path) => writeFileSync(path, "x"),
    "a directory": (path) => mkdirSync(path),
    zeros: (path) => writeFileSync(path, Buffer.alloc(8_192)),
    "another application's database": (path) => {
      const database = new DatabaseSync(path);
      database.exec("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')");
      database.close();
    },
    "another application's database in WAL mode": (path) => {
      const database = new DatabaseSync(path);
      database.exec("PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE notes (text)");
      database.close();
    },
  };

  it.each(Object.entries(foreign))("is refused and left as it was: %s", async (_, make) => {
    const path = folder.path("some.file");
    make(path);
    const before = everything();
    await expect(openSqliteStore({ path })).rejects.toMatchObject({
      code: "damaged",
      message: expect.stringMatching(/some\.file is .*, not a perdure database; it was left as it is/),
    });
    expect(everything()).toEqual(before);
  });

  it("is refused while its own application is writing to it", async () => {
    const path = folder.path("some.file");
    const database = new DatabaseSync(path);
    database.exec(
      "PRAGMA journal_mode = WAL; CREATE TABLE notes (text); BEGIN IMMEDIATE; INSERT INTO notes VALUES ('m')",
    );
    await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: "damaged" });
    database.exec("COMMIT");
    database.close();
    expect(readdirSync(folder.path("."))).toEqual([basename(path)]);
  });
});

describe("a database", () => {
  const made = async (): Promise<string> => {
    const path = folder.path("tasks.db");
    const store = await openSqliteStore({ path });
    const log = await createLog(store, "task-1");
    const claim = await claimLog(store, log);
    for (let index = 0; index < 100; index += 1) await appendTo(store, log, claim, [told("x".repeat(2_000))]);
    await store.close();
    return path;
  };

  const overwrite = (path: string, start: number, bytes: Buffer): void => {
    const all = readFileSync(path);
    bytes.copy(all, start);
    writeFileSync(path, all);
  };

  it("case-40: of a newer schema is refused, and both versions are named", async () => {
    const path = await made();
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    await expect(openSqliteStore({ path })).rejects.toMatchObject({
      code: "newer_version",
      message: expect.stringMatching(new RegExp(`schema 99\\b.*\\bup to ${String(migrations.length)}\\b`)),
    });
  });

  it("whose first page is damaged is refused and left as it was", async () => {
    const path = await made();
    overwrite(path, 0, Buffer.alloc(60, 7));
    const before = everything();
    await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: "damaged" });
    expect(everything()).toEqual(before);
  });

  it("that was cut is refused and left as it was", async () => {
    const path = await made();
    writeFileSync(path, readFileSync(path).subarray(0, 100_000));
    const before = everything();
    await expect(openSqliteStore({ path })).rejects.toMatchObject({
      code: "damaged",
      message: expect.stringContaining(`${path}: the file is damaged`),
    });
    expect(everything()).toEqual(before);
  });

  it("whose pages are damaged says so when they are read, and check names what it finds", async () => {
    const path = await made();
    const database = new DatabaseSync(path);
    const pageSize = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
    const root = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").get()?.["rootpage"];
    database.close();
    overwrite(path, (Number(root) - 1) * pageSize, Buffer.alloc(pageSize, 0xff));
    const store = await openSqliteStore({ path });
    await expect(store.read({ taskId: "task-1" })).rejects.toMatchObject({ code: "damaged" });
    expect(await store.check()).not.toEqual([]);
    await store.close();
  });

  it("is opened while another process copies its log of changes into it", async () => {
    const path = folder.path("tasks.db");
    const store = await openSqliteStore({ path });
    const log = await createLog(store, "task-1");
    await appendTo(store, log, await claimLog(store, log), [told("x".repeat(100_000))]);
    // What a copy that has come as far as the first page leaves for others to see.
    const changes = readFileSync(`${path}-wal`);
    const copier = new DatabaseSync(path);
    copier.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const pageSize = Number(copier.prepare("PRAGMA page_size").get()?.["page_size"]);
    copier.close();
    await store.close();
    const half = folder.path("half.db");
    writeFileSync(half, readFileSync(path).subarray(0, pageSize));
    writeFileSync(`${half}-wal`, changes);
    const other = await openSqliteStore({ path: half });
    expect(await other.read({ taskId: "task-1" })).toHaveLength(2);
    await other.close();
  });

  it("is opened with every commit on disk, and what is deleted overwritten", async () => {
    const connection = await openConnection({ path: folder.path("tasks.db") });
    const value = (name: string) => Object.values(connection.get<Record<string, unknown>>(`PRAGMA ${name}`) ?? {})[0];
    expect(value("journal_mode")).toBe("wal");
    expect(value("synchronous")).toBe(2);
    expect(value("secure_delete")).toBe(1);
    expect(value("foreign_keys")).toBe(1);
    expect(value("busy_timeout")).toBe(0);
    connection.close();
  });
});
