// Hints and follows across connections, by the watch on the file and by the poll alone.
import { statSync, utimesSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { appendTo, claimLog, createLog, temporaryFolder, told } from "../../../test/sqlite/log-writer.ts";
import type { Envelope, Store } from "../store.ts";
import { openConnection } from "./open-connection.ts";
import { openSqliteStore } from "./sqlite-store.ts";
import { Wake } from "./wake.ts";

let folder: ReturnType<typeof temporaryFolder>;
let stores: Store[];
beforeEach(() => {
  folder = temporaryFolder();
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  folder[Symbol.dispose]();
});

const open = async (pollMs: number): Promise<Store> => {
  const store = await openSqliteStore({ path: folder.path("tasks.db"), pollMs });
  stores.push(store);
  return store;
};

const nextHint = (store: Store): Promise<string | null> =>
  new Promise((resolve) => {
    const stop = store.subscribe((taskId) => {
      stop();
      resolve(taskId);
    });
  });

it("hears of what another connection commits long before the next poll", async () => {
  const [listener, writer] = [await open(3_600_000), await open(50)];
  const hint = nextHint(listener);
  await createLog(writer);
  expect(await hint).toBeNull();
});

it("names the task of its own changes, and tells each listener until it stops", async () => {
  const store = await open(3_600_000);
  const heard: (string | null)[] = [];
  const stop = store.subscribe((taskId) => heard.push(taskId));
  const hint = nextHint(store);
  const log = await createLog(store);
  expect(await hint).toBe(log.taskId);
  stop();
  const next = nextHint(store);
  await createLog(store);
  await next;
  expect(heard).toEqual([log.taskId]);
});

it("shows what others may wait for by the file's own time, once it is committed; an append is nobody else's to hear", async () => {
  const store = await open(3_600_000);
  const log = await createLog(store);
  const [path, past] = [folder.path("tasks.db"), new Date(1_000)];
  const isTouched = async (change: () => Promise<unknown>): Promise<boolean> => {
    utimesSync(path, past, past);
    await change();
    return statSync(path).mtimeMs > past.getTime();
  };
  const item = { type: "Say", text: "hi" } as const;
  const post = () => store.post({ taskId: log.taskId, by: "local:root", key: "k", item });
  expect(await isTouched(post)).toBe(true);
  const claim = await claimLog(store, log);
  expect(await isTouched(() => appendTo(store, log, claim, [told("a")]))).toBe(false);
});

it("looks for others' commits once a poll, at the same cost whatever the database holds", async () => {
  const connection = await openConnection({ path: folder.path("tasks.db") });
  const writer = await open(50);
  const looks: string[] = [];
  const counted = Object.create(connection, {
    name: { value: folder.path("no-such-file") },
    get: {
      value: (sql: string) => {
        looks.push(sql);
        return connection.get(sql);
      },
    },
  }) as typeof connection;
  const wake = new Wake(counted, 1);
  const hint = new Promise<string | null>((resolve) => wake.subscribe(resolve));
  await createLog(writer);
  expect(await hint).toBeNull();
  wake.close();
  expect(new Set(looks)).toEqual(new Set(["PRAGMA data_version"]));
  connection.close();
});

it("follows what another connection appends, with no gap and nothing twice", async () => {
  const [reader, writer] = [await open(50), await open(50)];
  const log = await createLog(writer);
  const claim = await claimLog(writer, log);
  const seen: number[] = [];
  const signal = new AbortController().signal;
  const following = (async (): Promise<void> => {
    const entries: AsyncIterable<Envelope> = reader.follow({ taskId: log.taskId, signal });
    for await (const entry of entries) seen.push(entry.seq);
  })();
  for (let index = 0; index < 20; index += 1) await appendTo(writer, log, claim, [told("a"), told("b")]);
  await appendTo(writer, log, claim, [{ type: "TaskEnded", outcome: "done" }], { columns: { status: "ended" } });
  await following;
  expect(seen).toEqual(Array.from({ length: 42 }, (_, index) => index + 1));
});
