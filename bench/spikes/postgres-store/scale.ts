// Claims and lists among 224,000 tasks: parked, waiting for a time, not to be served here, and 200 that are ready.
import pg from "pg";
import { openPostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { ClaimParams } from "../../../src/store/store.ts";
import { median } from "../postgres/measure.ts";
import { offers } from "./loop.ts";

const READY = 200;

const fill = async (client: pg.Client): Promise<void> => {
  await client.query(
    "INSERT INTO perdure.lanes (queue, requires) VALUES ('scale', '{agent:demo}'), ('scale', '{agent:none}')",
  );
  const add = async (count: number, agent: string, status: string, timer: string): Promise<void> => {
    await client.query(`INSERT INTO perdure.tasks (created_at, updated_at, since, priority, lane, last_seq, first_seq, private,
        head, id, key_place, agent, owner, front_end, place, conversation, root, mode, status, next_timer_at, epoch)
      SELECT 1, 1, n, n % 3, lane, 0, 1, true, '', concat_ws(' ', n, lane, '${status}', ${timer}::text), 'p', 'demo',
        'owner ' || n % 100, 'f', 'p', 'c', 'x', 'run', '${status}', ${timer}, 1
      FROM generate_series(1, ${String(count)}) n, perdure.lanes WHERE queue = 'scale' AND requires = '{agent:${agent}}'`);
  };
  await add(200_000, "demo", "waiting", "NULL");
  await add(20_000, "demo", "waiting", "9999999999999");
  await add(4_000, "none", "running", "NULL");
  await add(READY, "demo", "running", "NULL");
  await client.query(
    "INSERT INTO perdure.secrets SELECT task, sha256(id::bytea) FROM perdure.tasks ON CONFLICT DO NOTHING",
  );
  await client.query("ANALYZE");
};

const timed = async (name: string, count: number, work: () => Promise<unknown>): Promise<void> => {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  console.log(`  ${name}: ${median(times).toFixed(2)} ms`);
};

export const measureScale = async (url: string): Promise<void> => {
  const store = await openPostgresStore({ url, notify: false });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await fill(client);
  await client.end();
  const params: ClaimParams = {
    ...{ worker: "w", leaseMs: 3_600_000, offers, snapshotVersions: {}, build: "b", queues: ["scale"] },
  };
  console.log("224,200 tasks, median:");
  await timed("a claim of the next", READY, async () => {
    if ((await store.claim(params)) === null) throw new Error("a task was not found");
  });
  await timed("a claim where nothing is ready", 100, () => store.claim(params));
  await timed("a claim that can serve none", 100, () => store.claim({ ...params, offers: ["agent:other"] }));
  await timed("the newest 50", 20, () => store.listTasks({ limit: 50 }));
  await timed("the newest 50 of an owner", 20, () => store.listTasks({ owner: "owner 5", limit: 50 }));
  await timed("50 that run", 20, () => store.listTasks({ status: "running", limit: 50 }));
  await store.close();
};
