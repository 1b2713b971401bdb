// Changes to a database that are one transaction each, or a few: made the same way in every process, by a clock that
// stands, so that what they leave can be compared byte for byte.
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { columnsOf } from "../../src/core/project.ts";
import { createState } from "../../src/core/fold.ts";
import { decodeEvent } from "../../src/core/codec.ts";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import { sealEvents } from "../../src/core/envelope.ts";
import type { Bundle, Claim, Store } from "../../src/store/store.ts";
import { creation, manualClock, claimLog, told, waits } from "../sqlite/log-writer.ts";

const START = 1_800_000_000_000;
/** One second later than whatever the database was made with. */
export const openStill = (path: string, laterMs = 0): Promise<Store> =>
  openSqliteStore({ path, clock: manualClock(START + laterMs, 1_000 + laterMs) });

const bytes = (count: number, value: number): Uint8Array => new Uint8Array(count).fill(value);
const salt = (): Uint8Array => bytes(16, 7);
const secret = bytes(32, 9);

export const TASK = "task-1";
const COPY = "task-2";
/** Long enough for pages of its own, and to be found in a file. */
const forgotten = "the-words-to-forget";
const secretWords = `${forgotten} `.repeat(600);

const claimNow = (store: Store): Promise<Claim> => claimLog(store, { taskId: TASK, seq: 0, chain: secret });

/** A task with a log, an inbox, rows, files and snapshots: what the jobs change. */
export const prepare = async (path: string): Promise<void> => {
  const store = await openStill(path);
  const item = { type: "Say", text: secretWords } as const;
  const key = { by: "local:root", item };
  const created = creation(TASK, [{ ...key, key: "first" }]);
  await store.createTask({ ...created, task: { ...created.task, secret } });
  await store.post({ taskId: TASK, ...key, key: "second" });
  const { fence, revision, chain } = await claimNow(store);
  const events = [told(secretWords), told("b"), told(secretWords), told("d"), waits];
  const drafts = sealEvents(nodeHasher, { seq: 1, chain }, events, salt);
  const rows = [{ table: "collaborators", key: "discord:1", set: { seq: 2, by: "local:root" } }] as const;
  await store.append({ taskId: TASK, fence, revision, drafts, columns: { status: "waiting" }, rows, taken: 1 });
  await store.release({ taskId: TASK, fence, kind: "stop" });
  await store.putFile({ taskId: TASK, name: "f", mediaType: "t", bytes: bytes(60_000, 5) });
  for (const version of ["v1", "v2"]) {
    await store.putSnapshot({ taskId: TASK, snapshot: { seq: 4, version, revision: 0, bytes: bytes(30_000, 3) } });
  }
  await store.redact({ taskId: TASK, seqs: [3], secret });
  await store.close();
};

const bundleOf = async (store: Store): Promise<Bundle> => store.exportTask({ taskId: TASK });

const importCopy = async (store: Store): Promise<void> => {
  const bundle = await bundleOf(store);
  const [first] = bundle.entries;
  if (first === undefined) throw new Error("the task has a log");
  const event = decodeEvent(first.type, first.body);
  const columns = { ...columnsOf(createState(COPY, { seq: 1, at: 0, event })), root: COPY };
  await store.importTask({ taskId: COPY, bundle, secret, columns, rows: [] });
};

const appendMore = async (store: Store): Promise<void> => {
  const { fence, revision, chain, lastSeq, inbox } = await claimNow(store);
  const drafts = sealEvents(nodeHasher, { seq: lastSeq, chain }, [told("x".repeat(20_000)), told("y")], salt);
  const rows = [{ table: "timers", key: "t", set: { dueAt: 9e12, callId: null, seq: 7 } }] as const;
  const taken = inbox.at(-1)?.seq ?? 0;
  const definitions = [{ hash: "h", text: "a definition" }];
  // In the middle of a turn: there is something to claim afterwards, too.
  const columns = { status: "running", waitingOn: null } as const;
  await store.append({ taskId: TASK, fence, revision, drafts, columns, rows, taken, definitions });
  await store.release({ taskId: TASK, fence, kind: "stop" });
};

/** What is run, and whether it is one transaction: then a kill leaves all of it or nothing. */
export interface Job {
  readonly one: boolean;
  /** Words that no file of the database holds once it has run and the database was closed. */
  readonly gone?: string;
  run(store: Store): Promise<unknown>;
}

export const jobs = {
  redaction: {
    one: true,
    gone: forgotten,
    run: (store) => store.redact({ taskId: TASK, seqs: [2, 4], items: [2], secret }),
  },
  import: { one: true, run: importCopy },
  snapshot: {
    one: true,
    run: (store) =>
      store.putSnapshot({ taskId: TASK, snapshot: { seq: 6, version: "v3", revision: 1, bytes: bytes(30_000, 4) } }),
  },
  "claim, append and release": { one: false, run: appendMore },
} as const satisfies Record<string, Job>;
export type JobName = keyof typeof jobs;
export const jobOf = (name: JobName): Job => jobs[name];

/** Every row of every table, and the schema: equal for equal databases, whatever their pages look like. */
export const contentsOf = (path: string): string => {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const all = (sql: string): Record<string, unknown>[] => database.prepare(sql).all();
  const schema = all("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name");
  const hash = createHash("sha256").update(JSON.stringify([schema, all("PRAGMA user_version")]));
  for (const { name, type } of schema) {
    if (type !== "table") continue;
    const rows = all(`SELECT * FROM "${String(name)}"`).map((row) =>
      JSON.stringify(row, (_key, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
      ),
    );
    hash.update(`${String(name)}\n${rows.sort().join("\n")}\n`);
  }
  database.close();
  return hash.digest("hex");
};

export const schemaOf = (path: string): readonly unknown[] => {
  // Not read only: what was begun in the file itself, before there was a log of changes, is rolled back by whoever comes.
  const database = new DatabaseSync(path, { timeout: 5_000 });
  const schema = [
    ...database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all(),
    ...database.prepare("PRAGMA user_version").all(),
  ];
  database.close();
  return schema;
};
