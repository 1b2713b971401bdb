// The Postgres store: one database, any number of processes on any number of machines.
import { plainSeal } from "../seal.ts";
import type { Seal, Store } from "../store.ts";
import { append } from "./append.ts";
import { exportTask, importTask } from "./bundles.ts";
import { claimsOf, letGo, letLapse, readySince, release, renew } from "./claims.ts";
import { Connection, type DatabaseClock } from "./connection.ts";
import { createTask } from "./creation.ts";
import { postDecision, readDecisions, showApproval } from "./decisions.ts";
import { getDefinitions } from "./definitions.ts";
import { getFile, listFiles, putFile } from "./files.ts";
import { comeHome } from "./epochs.ts";
import { follow } from "./follow.ts";
import { post, readInbox } from "./inbox.ts";
import { check } from "./integrity.ts";
import { read, readRedactions } from "./log.ts";
import { migrate, migrations, requireSchema } from "./migrate.ts";
import { readRows } from "./projections.ts";
import { prune } from "./prune.ts";
import { redact } from "./redaction.ts";
import { getSnapshot, putSnapshot } from "./snapshots.ts";
import { stats } from "./stats.ts";
import { getSecret, getTask, listTasks } from "./tasks.ts";
import { fromUrl } from "./url.ts";
import { Wake } from "./wake.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. `schema`, `notify=off`, `max` and `partitions` may be its parameters. */
  readonly url: string;
  /** The schema that holds the tables, made when it is not there. Lower-case letters, digits and `_`. Default `perdure`. */
  readonly schema?: string;
  /** Into how many tables the events are divided when the schema is made, by a hash of the task: 2 to 256. One table unless
   * given. A schema that is there has the number that it was made with: `conflict` where another one is given. */
  readonly partitions?: number;
  /** Whether to make the schema where it is not there; `not_found` otherwise. Default true. */
  readonly create?: boolean;
  /** Whether changes are told with NOTIFY. Off behind a transaction pooler, which passes none on. Default true. */
  readonly notify?: boolean;
  /** Whether statements are kept prepared in their connection. Off behind a transaction pooler that does not know them.
   * Default: as `notify`. */
  readonly prepared?: boolean;
  /** The most connections of the pool, beside the one that listens. Default 8. */
  readonly max?: number;
  /** The longest time until a change is noticed that nobody told of (ms). Default 1,000. */
  readonly pollMs?: number;
  /** How long a statement may take, and a connection to come (at most 10 s), before it is `unavailable` (ms). Default 30,000. */
  readonly timeoutMs?: number;
  /** Content is stored as it is unless given. */
  readonly seal?: Seal;
  /** The database's own unless given. */
  readonly clock?: DatabaseClock;
}

type Writing = "createTask" | "append" | "post" | "showApproval" | "redact" | "putSnapshot" | "putFile" | "importTask";

const writing = (connection: Connection, wake: Wake): Pick<Store, Writing> => ({
  async createTask(params) {
    const receipt = await createTask(connection, connection, params);
    if (!receipt.duplicate) wake.tell(receipt.taskId);
    return receipt;
  },
  async append(params) {
    const receipt = await append(connection, params);
    const { taskId, posts = [], children = [] } = params;
    wake.tell(taskId, "log");
    for (const carried of posts) wake.tell(carried.taskId);
    for (const child of children) wake.tell(child.task.taskId);
    return receipt;
  },
  async post(params) {
    const { item } = params;
    const receipt = await (item.type === "Decide"
      ? postDecision(connection, { ...params, item })
      : post(connection, params));
    if (!receipt.duplicate) wake.tell(params.taskId);
    return receipt;
  },
  showApproval: (params) => showApproval(connection, params),
  async redact(params) {
    const receipt = await redact(connection, params);
    wake.tell(params.taskId);
    return receipt;
  },
  putSnapshot: ({ taskId, snapshot }) => putSnapshot(connection, taskId, snapshot),
  putFile: ({ taskId, ...file }) => putFile(connection, taskId, file),
  async importTask(params) {
    await importTask(connection, params);
    wake.tell(params.taskId);
  },
});

type Claiming = "claim" | "readySince" | "renew" | "release" | "letLapse" | "letGo" | "readInbox";

const claiming = (connection: Connection, wake: Wake): Pick<Store, Claiming> => ({
  claim: claimsOf(connection),
  readySince: (params) => readySince(connection, params),
  renew: (params) => renew(connection, params),
  letLapse: (params) => letLapse(connection, params),
  async release(params) {
    await release(connection, params);
    if (params.kind !== "parked") wake.tell(params.taskId);
  },
  async letGo({ taskId }) {
    await letGo(connection, taskId);
    wake.tell(taskId);
  },
  readInbox: (params) => readInbox(connection, params),
});

type Reading = Exclude<keyof Store, Writing | Claiming | "name" | "guard" | "follow" | "subscribe" | "close">;

const reading = (connection: Connection): Pick<Store, Reading> => ({
  read: (params) => read(connection, params),
  readRedactions: ({ taskId }) => readRedactions(connection, connection, taskId),
  readDecisions: ({ taskId }) => readDecisions(connection, taskId),
  getTask: ({ taskId }) => getTask(connection, connection, taskId),
  listTasks: (params) => listTasks(connection, params),
  readRows: ({ taskId, table }) => readRows(connection, taskId, table),
  getDefinitions: ({ hashes }) => getDefinitions(connection, hashes),
  getSecret: ({ taskId }) => getSecret(connection, taskId),
  getSnapshot: ({ taskId, version }) => getSnapshot(connection, taskId, version),
  getFile: ({ taskId, name }) => getFile(connection, taskId, name),
  listFiles: ({ taskId }) => listFiles(connection, taskId),
  exportTask: ({ taskId }) => exportTask(connection, taskId),
  prune: (params) => prune(connection, params),
  check: () => check(connection),
  stats: () => stats(connection),
  async now() {
    const row = await connection.first<{ now: number }>(
      "SELECT coalesce(($1::bigint[])[1], perdure.clock_ms()) AS now",
      connection.clock,
    );
    if (row === undefined) throw new Error(`${connection.name}: the clock gave no row`);
    return row.now;
  },
});

/** A store over a connection whose schema is the one that this code knows, and which it closes. */
export const storeOver = (connection: Connection, wake: Wake): Store => {
  const closing = new AbortController();
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing.abort();
    // Idle connections keep no process alive; one that waits for them to close is not to end before.
    const alive = setInterval(() => undefined, 60_000);
    try {
      await wake.close();
      await connection.close();
    } finally {
      clearInterval(alive);
    }
  };
  return {
    name: connection.name,
    ...writing(connection, wake),
    ...claiming(connection, wake),
    ...reading(connection),
    async *follow({ signal, ...params }) {
      if (closing.signal.aborted) throw connection.closedError();
      yield* follow(connection, wake, params, AbortSignal.any([signal, closing.signal]));
    },
    subscribe: (hint) => wake.subscribe(hint),
    close: () => (closed ??= close()),
  };
};

/**
 * Opens a store over a Postgres database in UTF8, and makes its schema when there is none. Any number may be open on one
 * schema. Codes: `damaged` (the schema is another's), `newer_version`, `unavailable`, `not_found` (`create` only), `conflict`
 * (`partitions` only).
 */
export const openPostgresStore = async (options: PostgresOptions): Promise<Store> => {
  const { url, ...given } = fromUrl(options.url);
  const { schema = given.schema ?? "perdure", notify = given.notify ?? true, max = given.max ?? 8 } = options;
  const { pollMs = 1_000, timeoutMs = 30_000, seal = plainSeal, clock, prepared = notify } = options;
  const { partitions = given.partitions } = options;
  const known = migrations.length;
  const connection = new Connection({ url, schema, max, timeoutMs, seal, clock, known, prepared, partitions });
  try {
    if (options.create === false) await requireSchema(connection);
    await migrate(connection);
    await comeHome(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  return storeOver(connection, new Wake(connection, { notify, pollMs }));
};
