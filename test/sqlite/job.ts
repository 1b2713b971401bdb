// What the processes of processes.test.ts do: `node job.ts <job> <path> ...`. They tell what they did line by line, and
// begin when they are told to: each says that it is there, and waits for a line.
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { StoreError, type Store } from "../../src/store/store.ts";
import { configure, markNew, openFile } from "../../src/store/sqlite/database-file.ts";
import { migrate, migrations } from "../../src/store/sqlite/migrate.ts";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { appending, claimLog, claiming, createLog, told } from "./log-writer.ts";

const [job = "", path = "", ...rest] = process.argv.slice(2);
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const die = (): void => void process.kill(process.pid, "SIGKILL");

/** Appends to a task of its own up to `count` events, and tells each seq once it is acknowledged. */
const write = async (store: Store, count: number, leaseMs: number): Promise<void> => {
  const log = await createLog(store);
  const claim = await claimLog(store, log, { leaseMs });
  say(log.taskId);
  while (log.seq <= count) {
    const params = appending(log, claim, [told("x".repeat(500)), told("y")]);
    const { lastSeq } = await store.append(params);
    Object.assign(log, { seq: lastSeq, chain: params.drafts.at(-1)?.chain });
    say(String(lastSeq));
  }
};

/** Appends under a claim that others have too, until `count` appends of its own were taken. */
const compete = async (store: Store, taskId: string, fence: number, count: number): Promise<void> => {
  for (let taken = 0; taken < count;) {
    const row = await store.getTask({ taskId });
    if (row === null) throw new Error(`no task ${taskId}`);
    const log = { taskId, seq: row.lastSeq, chain: new Uint8Array(Buffer.from(row.head, "hex")) };
    try {
      await store.append(
        appending(log, { fence, revision: row.revision }, [told(`${String(process.pid)} ${String(taken)}`)]),
      );
      taken += 1;
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "conflict") throw error;
    }
  }
};

/** Claims whatever there is, and tells it. */
const claimAll = async (store: Store): Promise<void> => {
  for (;;) {
    const claim = await store.claim(claiming({ worker: String(process.pid), leaseMs: 600_000 }));
    if (claim === null) return;
    say(claim.taskId);
  }
};

/** Makes a database, and is killed after (or within) the named step. */
const makeAndDie = (step: string): void => {
  const database = openFile(path);
  if (step === "file") die();
  markNew(database);
  if (step === "mark") die();
  configure(path, database);
  if (step === "settings") die();
  const [first, second] = migrations;
  if (first === undefined || second === undefined) throw new Error("there are two migrations");
  database.function("die", () => {
    die();
    return null;
  });
  if (step === "within the first migration") migrate(path, database, [{ ...first, sql: `${first.sql}; SELECT die()` }]);
  migrate(path, database, [first]);
  if (step === "the first migration") die();
  migrate(path, database, [first, { ...second, sql: `${second.sql}; SELECT die()` }]);
};

/** Changes the database and is killed before the commit. */
const changeAndDie = (): void => {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("BEGIN IMMEDIATE; DELETE FROM events; UPDATE tasks SET lastSeq = 0");
  die();
};

const withStore = async (work: (store: Store) => Promise<void>): Promise<void> => {
  const store = await openSqliteStore({ path });
  await work(store);
  await store.close();
};

const jobs: Readonly<Record<string, () => void | Promise<void>>> = {
  write: () => withStore((store) => write(store, Number(rest[0]), Number(rest[1]))),
  compete: () => withStore((store) => compete(store, rest[0] ?? "", Number(rest[1]), Number(rest[2]))),
  claimAll: () => withStore(claimAll),
  post: () =>
    withStore(async (store) => {
      const item = { type: "Say", text: "hello" } as const;
      await store.post({ taskId: rest[0] ?? "", by: "local:root", key: "k", item });
    }),
  open: () => withStore(async (store) => say(store.name)),
  makeAndDie: () => makeAndDie(rest[0] ?? ""),
  changeAndDie,
};

try {
  say("there");
  await once(process.stdin, "data");
  process.stdin.destroy();
  await jobs[job]?.();
} catch (error) {
  say(error instanceof StoreError ? `${error.code}: ${error.message}` : String(error));
  process.exitCode = 1;
}
