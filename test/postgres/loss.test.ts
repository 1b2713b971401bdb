// Connections that end, servers that stop, answers that do not come: all `unavailable`, with the cause, and the store goes
// on by itself once the server is back.
import { afterAll, beforeAll, expect, test } from "vitest";
import pg from "pg";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import { StoreError, type Store } from "../../src/store/store.ts";
import { withClient } from "./database.ts";
import { startServer, type Server } from "./server.ts";
import { appending, claimTask, createTask, creation, endOf, told } from "./tasks.ts";

let server: Server;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const unavailable = expect.objectContaining({ name: "StoreError", code: "unavailable", cause: expect.anything() });

/** Tries until it is not `unavailable` any more. Anything else is an error. */
const untilBack = async <T>(work: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "unavailable") throw error;
    }
  }
};

const backends = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'perdure%'";

/** Ends every connection of a store while `work` is under way: the row of `taskId` is locked, so that it waits. */
const cut = async (taskId: string, work: () => Promise<unknown>): Promise<unknown> => {
  const outcome = await withClient(server.url, async (client) => {
    await client.query("BEGIN");
    await client.query("SELECT FROM perdure.tasks WHERE id = $1 FOR UPDATE", [taskId]);
    const working = work().catch((error: unknown) => error);
    await withClient(server.url, async (other) => {
      const waits = `${backends} AND wait_event_type = 'Lock'`;
      while ((await other.query(waits)).rows.length === 0);
      await other.query(`SELECT pg_terminate_backend(pid) FROM (${backends}) b`);
    });
    return working;
  });
  return outcome;
};

test.each([
  ["a plain append", {}],
  ["an append that carries", { columns: { priority: 1 } }],
  ["an append to be looked into", { inboxSeen: 0 }],
])("%s whose backend is terminated is unavailable, did nothing, and can be sent again", async (_, more) => {
  const store = await openPostgresStore({ url: server.url });
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  const params = appending(claim, endOf(claim), [told("a")], more);
  expect(await cut(taskId, () => store.append(params))).toEqual(unavailable);
  // Another connection of the pool may have been ended too, and not know it yet.
  expect((await untilBack(() => store.append(params))).lastSeq).toBe(2);
  expect(await store.read({ taskId })).toHaveLength(2);
  await store.close();
});

test("an append with a child, of several statements, whose backend is terminated did nothing, child included", async () => {
  const store = await openPostgresStore({ url: server.url });
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  const child = creation("default");
  const params = appending(claim, endOf(claim), [told("a")], { children: [child] });
  expect(await cut(taskId, () => store.append(params))).toEqual(unavailable);
  expect(await untilBack(() => store.getTask({ taskId: child.task.taskId }))).toBeNull();
  await untilBack(() => store.append(params));
  expect(await store.getTask({ taskId: child.task.taskId })).toMatchObject({ lastSeq: 1 });
  await store.close();
});

test("a transaction of several statements whose backend is terminated did nothing", async () => {
  const store = await openPostgresStore({ url: server.url });
  const taskId = await createTask(store);
  const redacting = () => store.redact({ taskId, seqs: [1], secret: new Uint8Array(32) });
  expect(await cut(taskId, redacting)).toEqual(unavailable);
  expect(await untilBack(() => store.readRedactions({ taskId }))).toEqual([]);
  expect(await untilBack(redacting)).toEqual({ revision: 1 });
  await store.close();
});

test("idle connections that end cost nothing", async () => {
  const store = await openPostgresStore({ url: server.url });
  const taskId = await createTask(store);
  await withClient(server.url, (client) => client.query(`SELECT pg_terminate_backend(pid) FROM (${backends}) b`));
  expect(await untilBack(() => store.getTask({ taskId }))).toMatchObject({ taskId });
  await store.close();
});

test("a server that dies and comes back: what was acknowledged is there, and stores and hints go on", async () => {
  const [store, other] = [await openPostgresStore({ url: server.url }), await openPostgresStore({ url: server.url })];
  const taskId = await createTask(store);
  const claim = await claimTask(store, taskId);
  const [heard, hears] = [new Set<string | null>(), Promise.withResolvers<undefined>()];
  const following = new AbortController();
  const followed: number[] = [];
  const follower = (async (): Promise<void> => {
    for await (const { seq } of other.follow({ taskId, signal: following.signal })) followed.push(seq);
  })();
  const stop = other.subscribe((id, only) => {
    heard.add(id);
    if (id === taskId && only === "log") hears.resolve(undefined);
  });
  let log = endOf(claim);
  let acknowledged = 1;
  const writer = (async (): Promise<unknown> => {
    for (;;) {
      const params = appending(claim, log, [told("x")]);
      try {
        await store.append(params);
      } catch (error) {
        return error;
      }
      acknowledged += 1;
      log = params.drafts.at(-1) ?? log;
    }
  })();
  await hears.promise;
  await server.kill();
  expect(await writer).toEqual(unavailable);
  await expect(store.post({ taskId, by: "a:b", key: "k", item: { type: "Say", text: "a" } })).rejects.toEqual(
    unavailable,
  );
  await expect(openPostgresStore({ url: server.url })).rejects.toMatchObject({ code: "unavailable" });
  await server.start();
  const entries = await untilBack(() => store.read({ taskId }));
  // The one whose answer was lost may be there.
  expect(entries.length - acknowledged).toBeGreaterThanOrEqual(0);
  expect(entries.length - acknowledged).toBeLessThanOrEqual(1);
  const last = entries.at(-1);
  if (last === undefined) throw new Error("the log is gone");
  const again = Promise.withResolvers<undefined>();
  other.subscribe((id) => {
    if (id === taskId) again.resolve(undefined);
  });
  // Hints name the task only by NOTIFY: the listener is back. Sent until it is.
  let done = false;
  void again.promise.then(() => (done = true));
  for (let key = 0; !done; key += 1) {
    await untilBack(() => store.post({ taskId, by: "a:b", key: `k${String(key)}`, item: { type: "Say", text: "a" } }));
  }
  await store.append(appending(claim, last, [{ type: "TaskEnded", outcome: "done" }]));
  // It was not told that the server was gone for a while, and missed nothing.
  await follower;
  expect(followed).toEqual(Array.from({ length: last.seq + 1 }, (_, index) => index + 1));
  stop();
  await Promise.all([store.close(), other.close()]);
});

test("a server that has become read-only is unavailable, and its connection is not used again", async () => {
  const database = "perdure_read_only";
  await withClient(server.url, (client) => client.query(`CREATE DATABASE ${database} TEMPLATE template0`));
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  const store = await openPostgresStore({ url: url.href, max: 1 });
  const taskId = await createTask(store);
  const pid = async (): Promise<unknown> =>
    withClient(
      server.url,
      async (client) => (await client.query<{ pid: number }>(`${backends} AND datname = $1`, [database])).rows,
    );
  const before = await pid();
  const set = (to: string) =>
    withClient(server.url, async (client) => {
      await client.query(`ALTER DATABASE ${database} ${to}`);
      await client.query(`SELECT pg_terminate_backend(pid) FROM (${backends} AND datname = $1) b`, [database]);
    });
  await set("SET default_transaction_read_only = on");
  const posting = () => store.post({ taskId, by: "a:b", key: "k", item: { type: "Say", text: "a" } });
  for (;;) {
    const refusal: unknown = await posting().catch((error: unknown) => error);
    expect(refusal).toEqual(unavailable);
    if ((refusal as StoreError).message.includes("read-only")) break;
  }
  await withClient(server.url, (client) =>
    client.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`),
  );
  // No connection was ended this time: the store has dropped the one that answered so.
  expect(await untilBack(posting)).toMatchObject({ seq: 1 });
  expect(await pid()).not.toEqual(before);
  await store.close();
});

test("a statement that is not answered in time is unavailable", async () => {
  const store = await openPostgresStore({ url: server.url, timeoutMs: 3_000 });
  const taskId = await createTask(store);
  await withClient(server.url, async (client) => {
    await client.query("BEGIN");
    await client.query("SELECT FROM perdure.tasks WHERE id = $1 FOR UPDATE", [taskId]);
    const posting = store.post({ taskId, by: "a:b", key: "k", item: { type: "Say", text: "a" } });
    await expect(posting).rejects.toEqual(unavailable);
    await client.query("ROLLBACK");
  });
  await store.close();
});

test("a pool with no connection free is unavailable after a while, and good again after", async () => {
  const store = await openPostgresStore({ url: server.url, max: 1, timeoutMs: 3_000 });
  const taskId = await createTask(store);
  await withClient(server.url, async (client) => {
    await client.query("BEGIN");
    await client.query("SELECT FROM perdure.tasks WHERE id = $1 FOR UPDATE", [taskId]);
    const item = { type: "Say", text: "a" } as const;
    const posts = ["k1", "k2"].map((key) => store.post({ taskId, by: "a:b", key, item }));
    for (const outcome of await Promise.allSettled(posts)) expect(outcome).toMatchObject({ reason: unavailable });
  });
  expect(await untilBack(() => store.getTask({ taskId }))).toMatchObject({ taskId });
  await store.close();
});

test("a password that is refused, and a database that is not there, say so without the password", async () => {
  const wrong = new URL(server.url);
  wrong.password = "wrong-secret";
  const none = new URL(server.url);
  none.pathname = "/none";
  for (const [url, says] of [
    [wrong.href, "does not let this user in"],
    [none.href, "no such database"],
  ] as const) {
    const refusal: unknown = await openPostgresStore({ url }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "unavailable", message: expect.stringContaining(says) });
    expect((refusal as Error).message).not.toMatch(/wrong-secret|:perdure@/);
  }
});

test("an idle store that listens holds one connection, and a closed one holds none", async () => {
  const store: Store = await openPostgresStore({ url: server.url });
  const listening = Promise.withResolvers<undefined>();
  store.subscribe((id) => id === null && listening.resolve(undefined));
  await listening.promise;
  const watcher = new pg.Client({ connectionString: server.url });
  await watcher.connect();
  const count = async (): Promise<number> => (await watcher.query(backends)).rows.length;
  // The pool lets idle connections go; what is left is the one that listens.
  while ((await count()) > 1);
  expect((await watcher.query(`${backends} AND application_name = 'perdure listener'`)).rows).toHaveLength(1);
  await store.close();
  while ((await count()) > 0);
  await watcher.end();
});
