// Many connections at once: nothing is lost, doubled or left half-done, and nobody waits for ever.
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLog } from "../../src/core/check-log.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { Claim, Store } from "../../src/store/store.ts";
import { createDatabase, withClient, type Database } from "./database.ts";
import { startProxy } from "./proxy.ts";
import { appending, claiming, claimTask, createTask, creation, endOf, told } from "./tasks.ts";

let database: Database;
let stores: Store[];

beforeAll(async () => {
  database = await createDatabase();
  stores = [];
  // Opened at once on an empty database: one makes the schema, and the others wait for it.
  stores = await Promise.all(Array.from({ length: 8 }, () => openPostgresStore({ url: database.url, max: 2 })));
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await database[Symbol.asyncDispose]();
});

const one = (): Store => stores[0] as Store;

test("of eight stores that claim, each task goes to one, and each event is there once", async () => {
  const ids = await Promise.all(Array.from({ length: 60 }, () => createTask(one(), "race")));
  const claimed: string[] = [];
  await Promise.all(
    stores.map(async (store) => {
      for (;;) {
        const claim = await store.claim(claiming({ queues: ["race"] }));
        if (claim === null) return;
        claimed.push(claim.taskId);
        let log = endOf(claim);
        for (let n = 0; n < 5; n += 1) {
          const params = appending(claim, log, [told(String(n)), told("and on")]);
          await store.append(params);
          log = params.drafts.at(-1) ?? log;
        }
      }
    }),
  );
  expect(claimed.sort()).toEqual(ids.sort());
  for (const taskId of ids) {
    const [entries, row] = [await one().read({ taskId }), await one().getTask({ taskId })];
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 11 }, (_, index) => index + 1));
    if (row === null) throw new Error("a task is gone");
    expect(checkLog({ taskId, entries, redactions: [], row, hasher: nodeHasher })).toEqual([]);
  }
  expect(await one().check()).toEqual([]);
});

test("claims of one moment that ask for the same take their tasks in one commit; others are not mixed in", async () => {
  for (let n = 0; n < 8; n += 1) await createTask(one(), "together");
  const asked = Array.from({ length: 8 }, (_, n) =>
    one().claim(claiming({ queues: ["together"], worker: n < 6 ? "many" : "few" })),
  );
  const claims = (await Promise.all(asked)).filter((claim) => claim !== null);
  expect(new Set(claims.map(({ taskId }) => taskId)).size).toBe(8);
  const { rows } = await withClient(database.url, (client) =>
    client.query<{ worker: string; tasks: number; commits: number }>(
      `SELECT claimed_by AS worker, count(*)::integer AS tasks, count(DISTINCT xmin::text)::integer AS commits
       FROM perdure.tasks WHERE claimed_by IN ('few', 'many') GROUP BY 1 ORDER BY 1`,
    ),
  );
  expect(rows).toEqual([
    { worker: "few", tasks: 2, commits: 1 },
    { worker: "many", tasks: 6, commits: 1 },
  ]);
});

test("a claim looks at few rows, however many its owner has, also by plans that were made when there were none", async () => {
  await using fresh = await createDatabase();
  const [claimer, others] = [1, 2].map(() => openPostgresStore({ url: fresh.url, max: 1 }));
  const [early, late] = [await claimer, await others] as [Store, Store];
  await fresh.query("ALTER TABLE perdure.tasks SET (autovacuum_enabled = false)");
  await createTask(late);
  expect(await early.claim(claiming())).not.toBeNull();
  for (let n = 0; n < 400; n += 1) await createTask(late, "elsewhere");
  for (let n = 0; n < 10; n += 1) await createTask(late);
  /** By connections that have ended. */
  const looked = async (): Promise<number> => {
    const counted = await fresh.query(
      "SELECT (idx_tup_fetch + seq_tup_read)::integer AS rows FROM pg_stat_user_tables WHERE relname = 'tasks'",
    );
    return Number(counted[0]?.["rows"]);
  };
  await late.close();
  const before = await looked();
  for (let n = 0; n < 10; n += 1) expect(await early.claim(claiming())).not.toBeNull();
  await early.close();
  expect((await looked()) - before).toBeLessThan(10 * 100);
});

test("a claim of a task with a short log is one statement, and of one with a long log two", async () => {
  await using fresh = await createDatabase();
  await using proxy = await startProxy(fresh.url);
  const store = await openPostgresStore({ url: proxy.url, max: 1, notify: false });
  const claimed = async (): Promise<{ claim: Claim | null; statements: number }> => {
    const before = proxy.count(/./);
    const claim = await store.claim(claiming());
    return { claim, statements: proxy.count(/./) - before };
  };
  await createTask(store);
  await claimed();
  const taskId = await createTask(store);
  const short = await claimed();
  expect(short).toMatchObject({ claim: { taskId, lastSeq: 1 }, statements: 1 });
  const claim = short.claim as Claim;
  await store.append(
    appending(
      claim,
      endOf(claim),
      Array.from({ length: 64 }, (_, n) => told(String(n))),
    ),
  );
  await store.release({ taskId, fence: claim.fence, kind: "stop" });
  const long = await claimed();
  expect(long).toMatchObject({ claim: { taskId, lastSeq: 65 }, statements: 2 });
  expect(long.claim?.entries).toHaveLength(65);
  await store.close();
});

test("a claim whose load breaks off is committed, and loaded by itself", async () => {
  await using fresh = await createDatabase();
  const store = await openPostgresStore({ url: fresh.url });
  const taskId = await createTask(store);
  await fresh.query("UPDATE perdure.events SET body = '\\xff22'");
  const claim = await claimTask(store, taskId);
  expect(claim).toMatchObject({ fence: 1, attempts: 1, entries: [{ seq: 1, body: '\ufffd"' }] });
  expect((await store.getTask({ taskId }))?.fence).toBe(1);
  await store.close();
});

test("of eight appends to one log at the same seq one is taken, plain or carrying", async () => {
  const taskId = await createTask(one());
  const claim = await claimTask(one(), taskId);
  let log = endOf(claim);
  for (const more of [{}, { columns: { priority: 3 } }, { taken: 0 }, { inboxSeen: 0 }]) {
    const tried = stores.map((store, n) => ({ store, params: appending(claim, log, [told(String(n))], more) }));
    const outcomes = await Promise.allSettled(tried.map(({ store, params }) => store.append(params)));
    const taken = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
    expect(taken).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "conflict" });
    }
    log = tried[taken[0] ?? 0]?.params.drafts.at(-1) ?? log;
  }
  expect(await one().read({ taskId })).toHaveLength(5);
});

test("tasks that post to each other, all at once, do not wait in a circle", async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => createTask(one())));
  const claims = await Promise.all(ids.map((taskId) => claimTask(one(), taskId)));
  const logs = claims.map(endOf);
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(
      stores.map(async (store, index) => {
        const claim = claims[index];
        const log = logs[index];
        if (claim === undefined || log === undefined) throw new Error("a claim for each store");
        const posts = ids.map((taskId) => ({
          ...{ taskId, by: claim.taskId, key: `${String(index)} ${String(round)}` },
          item: { type: "Say" as const, text: "hello" },
        }));
        // In an order of its own.
        const params = appending(claim, log, [told("all")], {
          posts: posts.slice(index).concat(posts.slice(0, index)),
        });
        await store.append(params);
        logs[index] = params.drafts.at(-1) ?? log;
      }),
    );
  }
  for (const claim of claims) {
    const inbox = await one().readInbox(claim);
    expect(inbox.map(({ seq }) => seq)).toEqual(Array.from({ length: 32 }, (_, index) => index + 1));
    expect(new Set(inbox.map(({ key }) => key)).size).toBe(32);
  }
});

test("a post that races with the Waiting of its task wakes it, or is seen by it", async () => {
  const queue = "parks";
  for (let round = 0; round < 12; round += 1) {
    const taskId = await createTask(one(), queue);
    const claim = await claimTask(one(), taskId);
    const columns = { status: "waiting", waitingOn: "input" } as const;
    const waits = { type: "Waiting", on: "input", detail: {} } as const;
    const parking = async (): Promise<"parked" | "seen"> => {
      try {
        await one().append(appending(claim, endOf(claim), [waits], { columns, inboxSeen: 0 }));
        await one().release({ ...claim, kind: "parked", inboxSeen: 0 });
        return "parked";
      } catch (error) {
        expect(error).toMatchObject({ code: "inbox_moved" });
        return "seen";
      }
    };
    const item = { type: "Say", text: "a" } as const;
    const [how] = await Promise.all([parking(), stores[1]?.post({ taskId, by: "local:root", key: "k", item })]);
    if (how === "parked") expect((await one().claim(claiming({ queues: [queue] })))?.taskId).toBe(taskId);
    else expect(await one().readInbox(claim)).toHaveLength(1);
  }
});

test("a redaction that races with appends is seen by the next of them", async () => {
  const taskId = await createTask(one());
  const claim = await claimTask(one(), taskId);
  const first = appending(claim, endOf(claim), [told("secret")]);
  await one().append(first);
  const redacting = one().redact({ taskId, seqs: [2], secret: new Uint8Array(32) });
  let log: { seq: number; chain: Uint8Array } = first.drafts.at(-1) ?? endOf(claim);
  const refusal = await (async (): Promise<unknown> => {
    for (;;) {
      const params = appending(claim, log, [told("more")]);
      try {
        await (stores[1] as Store).append(params);
      } catch (error) {
        return error;
      }
      log = params.drafts.at(-1) ?? log;
    }
  })();
  expect(refusal).toMatchObject({ code: "redacted" });
  const { revision } = await redacting;
  await one().append(appending({ ...claim, revision }, log, [told("again")]));
});

test("a fork that is made while its source is redacted waits for that", async () => {
  const source = await createTask(one());
  const { task, ...rest } = creation("default");
  const fork = { ...rest, task: { ...task, columns: { ...task.columns, historyFrom: source } } };
  let made = false;
  await withClient(database.url, async (client) => {
    // As a redaction holds it, from before it looks for forks until it commits.
    await client.query("BEGIN");
    await client.query("SELECT FROM perdure.tasks WHERE id = $1 FOR NO KEY UPDATE", [source]);
    const making = one()
      .createTask(fork)
      .then(() => (made = true));
    const waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    while (!made && (await database.query(waits)).length === 0);
    expect(made).toBe(false);
    await client.query("COMMIT");
    await making;
  });
  await one().redact({ taskId: source, seqs: [1], secret: new Uint8Array(32) });
  expect(await one().getTask({ taskId: task.taskId })).toMatchObject({ revision: 1 });
});

test("a redaction vacuums the tables that held the words", async () => {
  const taskId = await createTask(one());
  const claim = await claimTask(one(), taskId);
  await one().append(appending(claim, endOf(claim), [told("secret")]));
  const counts = async (): Promise<Record<string, unknown>[]> =>
    database.query(`SELECT relname, vacuum_count::integer AS n FROM pg_stat_user_tables
      WHERE relname IN ('events', 'inbox', 'secrets', 'snapshots') ORDER BY relname`);
  const before = await counts();
  await one().redact({ taskId, seqs: [2], secret: new Uint8Array(32) });
  expect(await counts()).toEqual(before.map(({ relname, n }) => ({ relname, n: Number(n) + 1 })));
});
