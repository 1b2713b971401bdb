// Hints across processes: by NOTIFY, sent after the commit and bundled; by a poll where one is lost or none may be sent.
import { afterAll, beforeAll, expect, test } from "vitest";
import pg from "pg";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { Store } from "../../src/store/store.ts";
import { createDatabase, type Database } from "./database.ts";
import { appending, claimTask, createTask, endOf, told } from "./tasks.ts";

/** So long that no test sees a poll where it waits for a notification. */
const NEVER_MS = 3_600_000;

let database: Database;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const post = (store: Store, taskId: string, key: string) =>
  store.post({ taskId, by: "local:root", key, item: { type: "Say", text: "a" } });

/** Resolves once a store's listener is there. */
const listening = (store: Store): Promise<void> =>
  new Promise((resolve) => {
    const stop = store.subscribe((taskId) => {
      if (taskId !== null) return;
      stop();
      resolve();
    });
  });

const hinted = (store: Store, taskId: string | null): Promise<"log" | undefined> =>
  new Promise((resolve) => {
    const stop = store.subscribe((id, only) => {
      if (id !== taskId) return;
      stop();
      resolve(only);
    });
  });

test("a post is told to another store by its task, and an append as one of the log alone", async () => {
  const url = database.url;
  const [store, other] = [await openPostgresStore({ url }), await openPostgresStore({ url, pollMs: NEVER_MS })];
  await listening(other);
  const taskId = await createTask(store);
  const posted = hinted(other, taskId);
  await post(store, taskId, "k");
  expect(await posted).toBeUndefined();
  const claim = await claimTask(store, taskId);
  // What was told before may be on its way yet.
  const logged = new Promise<void>((resolve) =>
    other.subscribe((id, only) => id === taskId && only === "log" && resolve()),
  );
  await store.append(appending(claim, endOf(claim), [told("a")]));
  await logged;
  await Promise.all([store.close(), other.close()]);
});

test("a process that posts and closes at once has told it", async () => {
  const url = database.url;
  const [store, other] = [await openPostgresStore({ url }), await openPostgresStore({ url, pollMs: NEVER_MS })];
  await listening(other);
  const taskId = await createTask(other);
  const posted = hinted(other, taskId);
  await post(store, taskId, "k");
  await store.close();
  await posted;
  await other.close();
});

test("many commits at once are told in few notifications, each task in one of them", async () => {
  const url = database.url;
  const store = await openPostgresStore({ url });
  const listener = new pg.Client({ connectionString: url });
  await listener.connect();
  const payloads: string[] = [];
  listener.on("notification", ({ payload }) => payloads.push(payload ?? ""));
  await listener.query('LISTEN "perdure.perdure"');
  const ids = await Promise.all(Array.from({ length: 40 }, () => createTask(store)));
  await store.close();
  // What was notified before this answer came before it.
  await listener.query("SELECT 1");
  await listener.end();
  const named = payloads.flatMap((payload) => (JSON.parse(payload) as { tasks: string[] }).tasks);
  expect(named.sort()).toEqual(ids.sort());
  expect(payloads.length).toBeLessThan(30);
});

test("more tasks than a notification holds are told as anything", async () => {
  const url = database.url;
  const [store, other] = [await openPostgresStore({ url, max: 2 }), await openPostgresStore({ url, pollMs: NEVER_MS })];
  await listening(other);
  const parent = await createTask(store);
  const ids = await Promise.all(Array.from({ length: 300 }, () => createTask(store)));
  const claim = await claimTask(store, parent);
  const anything = hinted(other, null);
  const posts = ids.map((taskId) => ({ taskId, by: parent, key: "all", item: { type: "Say", text: "a" } as const }));
  await store.append(appending(claim, endOf(claim), [told("a")], { posts }));
  await anything;
  await Promise.all([store.close(), other.close()]);
});

test("what nobody told is found by the poll: a lost notification, or a store that sends none", async () => {
  const url = database.url;
  const silent = await openPostgresStore({ url, notify: false });
  const taskId = await createTask(silent);
  for (const notify of [true, false]) {
    const store = await openPostgresStore({ url, notify, pollMs: 100 });
    const signal = new AbortController();
    const entries = store.follow({ taskId, after: notify ? 1 : 2, signal: signal.signal })[Symbol.asyncIterator]();
    const next = entries.next();
    const claim = await claimTask(silent, taskId);
    await silent.append(appending(claim, endOf(claim), [told("a")]));
    expect((await next).value).toMatchObject({ seq: notify ? 2 : 3 });
    await silent.release({ ...claim, kind: "stop" });
    signal.abort();
    await store.close();
  }
  await silent.close();
});

test("without NOTIFY nothing is sent and nobody listens", async () => {
  const url = `${database.url}?notify=off`;
  const store = await openPostgresStore({ url });
  const listener = new pg.Client({ connectionString: database.url });
  await listener.connect();
  const payloads: string[] = [];
  listener.on("notification", ({ payload }) => payloads.push(payload ?? ""));
  await listener.query('LISTEN "perdure.perdure"');
  await listening(store);
  await createTask(store);
  await listener.query("SELECT 1");
  const found = await database.query(
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'perdure listener' AND datname = current_database()",
  );
  expect([payloads, found]).toEqual([[], []]);
  await listener.end();
  await store.close();
});
