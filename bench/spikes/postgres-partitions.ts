// What dividing the events into partitions costs and gains: the same work on one table and on so many, in turns on one server.
// `node bench/spikes/postgres-partitions.ts [events] [partitions]`
import { randomUUID } from "node:crypto";
import pg from "pg";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { Store } from "../../src/store/store.ts";
import { startServer } from "../../test/postgres/server.ts";
import { appending, claiming, creation, draftsAfter, told } from "../../test/postgres/tasks.ts";
import { median } from "./postgres/measure.ts";

const [events = 1_000_000, partitions = 16] = process.argv.slice(2).map(Number);
const LOG = 100;
const TASKS = events / LOG;
/** Tasks that one prune takes: a tenth of all, and as many as the command line takes at a time. */
const [BULK, SOME] = [TASKS / 10, 50];
const [BULKS, SOMES] = [2, 20];
const ENDED = BULK * BULKS + SOME * SOMES;

type Way = "one table" | "partitions";
const ways: readonly Way[] = ["one table", "partitions"];
const schemaOf = (way: Way): string => way.replace(" ", "_");

/** Tasks of 100 events each; those that will be pruned ended long ago. */
const fill = async (client: pg.Client, schema: string): Promise<void> => {
  await client.query(`INSERT INTO ${schema}.lanes (queue, requires) VALUES ('filled', '{agent:demo}')`);
  await client.query(`INSERT INTO ${schema}.tasks (created_at, updated_at, since, priority, lane, last_seq, first_seq, private,
      head, id, key_place, agent, owner, front_end, place, conversation, root, mode, status, epoch)
    SELECT n, n, n, 0, lane, ${String(LOG)}, 1, true, '', 'task ' || n, 'p', 'demo', 'owner', 'f', 'p', 'c', 'x', 'run',
      CASE WHEN n <= ${String(ENDED)} THEN 'ended' ELSE 'waiting' END, 1
    FROM generate_series(1, ${String(TASKS)}) n, ${schema}.lanes`);
  await client.query(`INSERT INTO ${schema}.secrets SELECT task, sha256(id::bytea) FROM ${schema}.tasks`);
  // As they come: task by task within a hundred that are worked on at the same time.
  await client.query(`INSERT INTO ${schema}.events (task, at, seq, type, salt, chain, body)
    SELECT task, 1, seq, 4, substr(secret, 1, 16), secret, convert_to(repeat(md5(task::text || seq), 10), 'UTF8')
    FROM generate_series(0, ${String(TASKS / 100 - 1)}) g, generate_series(1, ${String(LOG)}) seq,
      LATERAL (SELECT * FROM ${schema}.secrets WHERE task > g * 100 AND task <= g * 100 + 100) t`);
  await client.query("VACUUM ANALYZE");
};

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

/** Runs the work of both ways in turns, and shows the median of each and their ratio. */
const compare = async (
  name: string,
  rounds: number,
  work: (way: Way, round: number) => Promise<unknown>,
): Promise<void> => {
  const times: Record<Way, number[]> = { "one table": [], partitions: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) times[way].push(await timed(() => work(way, round)));
  }
  const [one, many] = ways.map((way) => median(times[way])) as [number, number];
  console.log(`${name}: ${one.toFixed(2)} ms, ${many.toFixed(2)} ms; ratio ${(many / one).toFixed(2)}`);
};

/** Tasks to append to, claimed, and where their logs end. */
const begin = async (store: Store, count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const { taskId } = await store.createTask(creation("default", randomUUID()));
      const claim = await store.claim(claiming({ taskId }));
      if (claim === null) throw new Error("a task that was just made is not to be had");
      const { lastSeq: seq, chain } = claim;
      return { claim, end: { seq, chain } };
    }),
  );

const measure = async (stores: Readonly<Record<Way, Store>>): Promise<void> => {
  const text = "x".repeat(300);
  const begun = { "one table": await begin(stores["one table"], 8), partitions: await begin(stores.partitions, 8) };
  const append = async (way: Way, n: number): Promise<void> => {
    const task = begun[way][n];
    if (task === undefined) throw new Error("no such task");
    const drafts = draftsAfter(task.end, [told(text), told(text)]);
    await stores[way].append({ ...appending(task.claim, task.end, []), drafts });
    task.end = drafts.at(-1) ?? task.end;
  };
  const idOf = (round: number): string => `task ${String(ENDED + 1 + ((round * 7919) % (TASKS - ENDED)))}`;
  await compare("append of two events", 400, (way) => append(way, 0));
  await compare("eight appends at once", 100, (way) => Promise.all(begun[way].map((_, n) => append(way, n))));
  await compare("read of a task of 100 events", 400, (way, round) => stores[way].read({ taskId: idOf(round) }));
  await compare("read of its last event", 400, (way, round) =>
    stores[way].read({ taskId: idOf(round), after: LOG - 1 }),
  );
  const prune = (limit: number, rounds: number): Promise<void> =>
    compare(`prune of ${String(limit)} tasks, ${String(limit * LOG)} events`, rounds, async (way) => {
      const gone = await stores[way].prune({ endedBefore: TASKS, limit });
      if (gone.length !== limit) throw new Error(`pruned ${String(gone.length)}`);
    });
  await prune(SOME, SOMES);
  await prune(BULK, BULKS);
  await compare("check of the store", 1, (way) => stores[way].check());
};

const server = await startServer({ quick: false });
try {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const stores = {
    "one table": await openPostgresStore({ url: server.url, schema: schemaOf("one table") }),
    partitions: await openPostgresStore({ url: server.url, schema: schemaOf("partitions"), partitions }),
  };
  for (const way of ways)
    console.log(`${way} filled in ${(await timed(() => fill(client, schemaOf(way)))).toFixed(0)} ms`);
  console.log(`${String(events)} events; median on one table, in ${String(partitions)} partitions:`);
  await measure(stores);
  await client.end();
  for (const way of ways) await stores[way].close();
} catch (error) {
  console.error(error);
  throw error;
} finally {
  await server.stop();
}
