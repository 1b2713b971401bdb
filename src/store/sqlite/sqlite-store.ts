// The SQLite store: one file, several processes of one host. The embedded default.
import { StoreError, type Store } from "../store.ts";
import { append } from "./append.ts";
import { exportTask, importTask } from "./bundles.ts";
import { letGo, letLapse, load, release, renew, seek, take } from "./claims.ts";
import type { Connection } from "./connection.ts";
import { createTask } from "./creation.ts";
import { readDecisions, showApproval } from "./decisions.ts";
import { getDefinitions } from "./definitions.ts";
import { getFile, listFiles, putFile } from "./files.ts";
import { follow } from "./follow.ts";
import { Guards } from "./guards.ts";
import { isTimerDue, moveDueTimers, post, untaken } from "./inbox.ts";
import { check } from "./integrity.ts";
import { read, readRedactions } from "./log.ts";
import { readySince } from "./next-task.ts";
import { openConnection, type ConnectOptions } from "./open-connection.ts";
import { readRows } from "./projections.ts";
import { prune } from "./prune.ts";
import { redact } from "./redaction.ts";
import { getSnapshot, putSnapshot } from "./snapshots.ts";
import { stats } from "./stats.ts";
import { findTask, getSecret, getTask, listTasks, requireHolder } from "./tasks.ts";
import { Wake } from "./wake.ts";

export interface SqliteOptions extends ConnectOptions {
  /** How often to look whether another process changed something, while anybody listens (ms). Default 50. */
  readonly pollMs?: number;
}

type Writing =
  "createTask" | "append" | "post" | "showApproval" | "redact" | "prune" | "putSnapshot" | "putFile" | "importTask";

const writing = (connection: Connection, wake: Wake): Pick<Store, Writing> => ({
  async createTask(params) {
    const receipt = await connection.write((now) => createTask(connection, params, now));
    if (!receipt.duplicate) wake.tell(receipt.taskId);
    return receipt;
  },
  async append(params) {
    const receipt = await connection.write((now) => append(connection, params, now));
    const { taskId, posts = [], children = [] } = params;
    wake.tell(taskId, "log");
    for (const carried of posts) wake.tell(carried.taskId);
    for (const child of children) wake.tell(child.task.taskId);
    return receipt;
  },
  async post(params) {
    const receipt = await connection.write((now) => post(connection, params, now));
    if (!receipt.duplicate) wake.tell(params.taskId);
    return receipt;
  },
  showApproval: (params) => connection.write(() => showApproval(connection, params)),
  async redact(params) {
    const receipt = await connection.write(() => redact(connection, params));
    // What was redacted still stands in the log of changes.
    await connection.checkpoint();
    wake.tell(params.taskId);
    return receipt;
  },
  async prune(params) {
    const taskIds = await connection.write(() => prune(connection, params));
    if (params.dryRun === true) return taskIds;
    await connection.checkpoint();
    for (const taskId of taskIds) wake.tell(taskId);
    return taskIds;
  },
  putSnapshot: ({ taskId, snapshot }) => connection.write(() => putSnapshot(connection, taskId, snapshot)),
  putFile: ({ taskId, ...file }) => connection.write(() => putFile(connection, taskId, file)),
  async importTask(params) {
    await connection.write((now) => importTask(connection, params, now));
    wake.tell(params.taskId);
  },
});

type Claiming = "claim" | "readySince" | "renew" | "release" | "letLapse" | "letGo" | "readInbox";

const claiming = (connection: Connection, wake: Wake): Pick<Store, Claiming> => ({
  async claim(params) {
    const prospect = await connection.read((now) => seek(connection, params, now));
    if (prospect === null) return null;
    const taken = await connection.write((now) => take(connection, params, prospect, now));
    return taken === null ? null : connection.read(() => load(connection, taken, params));
  },
  readySince: (params) => connection.read((now) => readySince(connection, params, now)),
  renew: (params) => connection.write((now) => renew(connection, params, now)),
  async release(params) {
    await connection.write((now) => release(connection, params, now));
    if (params.kind !== "parked") wake.tell(params.taskId);
  },
  letLapse: (params) => connection.write((now) => letLapse(connection, params, now)),
  async letGo({ taskId }) {
    await connection.write(() => letGo(connection, taskId));
    wake.tell(taskId);
  },
  async readInbox({ taskId, fence }) {
    const held = () => requireHolder(connection, taskId, fence);
    if (await connection.read((now) => isTimerDue(held(), now))) {
      await connection.write((now) => moveDueTimers(connection, held(), now));
    }
    return connection.read(() => untaken(connection, held()));
  },
});

type Reading =
  | "read"
  | "readRedactions"
  | "readDecisions"
  | "getTask"
  | "listTasks"
  | "readRows"
  | "getDefinitions"
  | "getSecret"
  | "getSnapshot"
  | "getFile"
  | "listFiles"
  | "exportTask"
  | "check"
  | "stats"
  | "now";

const reading = (connection: Connection): Pick<Store, Reading> => ({
  read: (params) => connection.read(() => read(connection, params)),
  readRedactions: ({ taskId }) => connection.read(() => readRedactions(connection, taskId)),
  readDecisions: ({ taskId }) => connection.read(() => readDecisions(connection, taskId)),
  getTask: ({ taskId }) => connection.read((now) => getTask(connection, taskId, now)),
  listTasks: (params) => connection.read((now) => listTasks(connection, params, now)),
  readRows: ({ taskId, table }) =>
    connection.read(() => {
      const row = findTask(connection, taskId);
      return row === undefined ? [] : readRows(connection, row.task, table);
    }),
  getDefinitions: ({ hashes }) => connection.read(() => getDefinitions(connection, hashes)),
  getSecret: ({ taskId }) => connection.read(() => getSecret(connection, taskId)),
  getSnapshot: ({ taskId, version }) => connection.read(() => getSnapshot(connection, taskId, version)),
  getFile: ({ taskId, name }) => connection.read(() => getFile(connection, taskId, name)),
  listFiles: ({ taskId }) => connection.read(() => listFiles(connection, taskId)),
  exportTask: ({ taskId }) => connection.read((now) => exportTask(connection, taskId, now)),
  check: () => connection.read(() => check(connection)),
  stats: () => connection.read(() => stats(connection)),
  now: () => connection.read((now) => now),
});

/** A store over an open connection, which it closes. `guard` only where claims go by the machine's own clock. */
export const storeOver = (
  connection: Connection,
  { pollMs = 50, guard = false }: { readonly pollMs?: number | undefined; readonly guard?: boolean } = {},
): Store => {
  const wake = new Wake(connection, pollMs);
  const guards = new Guards(connection.name);
  const closing = new AbortController();
  return {
    name: connection.name,
    ...writing(connection, wake),
    ...claiming(connection, wake),
    ...reading(connection),
    ...(guard ? { guard: (params) => guards.guard(params) } : {}),
    async *follow({ signal, ...params }) {
      if (closing.signal.aborted) throw new StoreError("unavailable", `${connection.name}: this store was closed`);
      yield* follow(connection, wake, params, AbortSignal.any([signal, closing.signal]));
    },
    subscribe: (hint) => wake.subscribe(hint),
    async close() {
      closing.abort();
      wake.close();
      await guards.close();
      connection.close();
    },
  };
};

/**
 * Opens a store over the database at `path`, and makes it when there is none. Several stores, in one process or in many
 * of one host, may be open on one file. Codes: `damaged` (no perdure database), `newer_version`, `unavailable`.
 */
export const openSqliteStore = async ({ pollMs, ...options }: SqliteOptions): Promise<Store> => {
  const connection = await openConnection(options);
  // The thread that guards claims cannot see a clock that was passed in.
  return storeOver(connection, { pollMs, guard: options.clock === undefined });
};
