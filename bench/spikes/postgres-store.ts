// What the Postgres store costs beside the same work written by hand, in turns on one server: appends with 1 and with 8
// connections, the claim of a long log, bytes per event. `node bench/spikes/postgres-store.ts [rounds]`
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import pg from "pg";
import { columnsOf, type Row } from "../../src/core/project.ts";
import { createState } from "../../src/core/fold.ts";
import type { Event } from "../../src/core/events.ts";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { AppendParams, Claim, Store } from "../../src/store/store.ts";
import { startServer } from "../../test/postgres/server.ts";
import { cycle, draftsAfter } from "./postgres/fixture.ts";
import { best, median } from "./postgres/measure.ts";

const CYCLES = 60;
const LONG = 20_000;
const offers = ["agent:demo"];

const usageOf = (count: number): Row => ({
  table: "usage",
  key: "turn m",
  set: {
    ...{ purpose: "turn", model: "m", calls: count, failed: 0, unknown: 0, input: count * 4000, output: count },
    ...{ cacheRead: count, cacheWrite: 0, reasoning: 0, durationMs: count, priceEstimate: null },
  },
});

type Claimed = Pick<Claim, "taskId" | "fence" | "revision">;

/** The two appends of one model-and-tool cycle after `seq`. */
const appendsOf = (claim: Claimed, seq: number, outputChars = 450): AppendParams[] => {
  const { taskId, fence, revision } = claim;
  const [called, replied, started, finished] = cycle(seq, outputChars) as [Event, Event, Event, Event];
  const one = { taskId, fence, revision, columns: {} };
  return [
    { ...one, drafts: draftsAfter(seq, [replied, started]), rows: [usageOf(seq)] },
    { ...one, drafts: draftsAfter(seq + 2, [finished, called]), rows: [] },
  ];
};

const created: Event = {
  type: "TaskCreated",
  agent: "demo",
  config: { model: "m" },
  objective: "loop",
  owner: "local:root",
  origin: { frontEnd: "cli", place: "here", conversation: "one", private: true },
  root: "task",
  onInterrupt: "continue",
  mode: "run",
};

const begin = async (store: Store, taskId: string): Promise<Claimed> => {
  const columns = { ...columnsOf(createState(taskId, { seq: 1, at: 0, event: created })), requires: offers };
  const task = { taskId, secret: randomBytes(32), columns: { ...columns, status: "running" as const }, rows: [] };
  await store.createTask({ task, drafts: draftsAfter(0, [created]), items: [] });
  const claim = await claimOf(store, taskId);
  if (claim === null) throw new Error("the task was not claimed");
  return claim;
};

const claimOf = (store: Store, taskId: string): Promise<Claim | null> =>
  store.claim({ worker: "w", leaseMs: 3_600_000, offers, snapshotVersions: {}, build: "b", taskId });

/** What a person would write for just this append: no function, no array, only the guards of a fence and a seq. */
const byHand = async (client: pg.Client, task: number, { fence, drafts, rows }: AppendParams): Promise<void> => {
  const [one, two] = drafts as [AppendParams["drafts"][0], AppendParams["drafts"][0]];
  const usage = rows[0]?.set;
  const columns = Object.keys(usage ?? {}).map((name) => `"${name}"`);
  const upsert = `, u AS (INSERT INTO perdure.usage (task, key, ${columns.join()})
    SELECT $1, $11, ${columns.map((_, n) => `$${String(n + 12)}`).join()} FROM row
    ON CONFLICT (task, key) DO UPDATE SET ${columns.map((name) => `${name} = excluded.${name}`).join()})`;
  const text = `WITH row AS (UPDATE perdure.tasks SET last_seq = $3, head = $4,
        updated_at = greatest(updated_at, perdure.clock_ms())
      WHERE task = $1 AND fence = $2 AND last_seq = $3 - 2 RETURNING updated_at AS at, inbox_seq),
    e AS (INSERT INTO perdure.events (task, seq, at, type, body, salt, chain) SELECT $1, v.* FROM row, LATERAL (VALUES
      ($3 - 1, row.at, $5::smallint, $6::bytea, $7::bytea, $4::bytea),
      ($3, row.at, $8::smallint, $9::bytea, $10::bytea, $4::bytea)) v)
    ${usage === undefined ? "" : upsert} SELECT * FROM row`;
  const values = [
    task,
    fence,
    two.seq,
    two.chain,
    4,
    Buffer.from(one.body),
    one.salt,
    5,
    Buffer.from(two.body),
    two.salt,
  ];
  const more = usage == null ? [] : ["turn m", ...Object.values(usage)];
  const name = usage === undefined ? "hand" : "hand-usage";
  const answer = await client.query({ name, text, values: [...values, ...more] });
  if (answer.rowCount !== 1) throw new Error("the append by hand was refused");
};

/** CPU time (us) so far: of this process, and of these backends. A busy machine changes it less than the clock's. */
const cpuOf = (pids: readonly number[]): readonly [client: number, server: number] => {
  const { user, system } = process.cpuUsage();
  const used = pids.map((pid) => Number(readFileSync(`/proc/${String(pid)}/schedstat`, "utf8").split(" ")[0]) / 1000);
  return [user + system, used.reduce((sum, one) => sum + one, 0)];
};

const appends = async (url: string, connections: number, rounds: number): Promise<void> => {
  const store = await openPostgresStore({
    url,
    max: connections,
    notify: false,
    prepared: process.env["PREPARED"] !== "no",
  });
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  const numbers = Array.from({ length: connections }, (_, n) => n);
  const named = (way: string, n: number): string => `${way}-${String(connections)}-${String(n)}`;
  const tasks = {
    hand: await Promise.all(numbers.map((n) => begin(store, named("hand", n)))),
    store: await Promise.all(numbers.map((n) => begin(store, named("store", n)))),
  };
  const ids = await Promise.all(
    numbers.map(async (n) => {
      const found = await clients[n]?.query("SELECT task FROM perdure.tasks WHERE id = $1", [named("hand", n)]);
      return Number((found?.rows[0] as { task: string }).task);
    }),
  );
  const speeds = { hand: [] as number[], store: [] as number[] };
  const costs = { hand: [[], []] as [number[], number[]], store: [[], []] as [number[], number[]] };
  const backends = await clients[0]?.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'");
  const pids = (backends?.rows as { pid: number }[]).map(({ pid }) => pid);
  for (let round = 0; round <= rounds; round += 1) {
    for (const way of ["hand", "store"] as const) {
      const [began, used] = [performance.now(), cpuOf(pids)];
      await Promise.all(
        numbers.map(async (n) => {
          const claim = tasks[way][n] as Claimed;
          for (let done = 0; done < CYCLES; done += 1) {
            for (const params of appendsOf(claim, 1 + (round * CYCLES + done) * 4)) {
              if (way === "store") await store.append(params);
              else await byHand(clients[n] as pg.Client, ids[n] as number, params);
            }
          }
        }),
      );
      if (round === 0) continue;
      speeds[way].push((CYCLES * connections * 1000) / (performance.now() - began));
      for (const [side, after] of cpuOf(pids).entries()) {
        costs[way][side]?.push((after - (used[side] ?? 0)) / (CYCLES * connections));
      }
    }
  }
  const ratios = speeds.store.map((speed, round) => speed / (speeds.hand[round] ?? speed));
  console.log(
    `appends, ${String(connections)} connections: by hand ${median(speeds.hand).toFixed(0)} cycles/s, store`,
    `${median(speeds.store).toFixed(0)}, ratio ${median(ratios).toFixed(2)} (${ratios.map((r) => r.toFixed(2)).join(" ")});`,
    `CPU per cycle (us, best of client, of server): by hand ${costs.hand.map((each) => best(each).toFixed(0)).join(" ")},`,
    `store ${costs.store.map((each) => best(each).toFixed(0)).join(" ")}`,
  );
  for (const client of clients) await client.end();
  await store.close();
};

const longLog = async (url: string, rounds: number): Promise<void> => {
  const store = await openPostgresStore({ url, notify: false });
  const claim = await begin(store, "long");
  let [bytes, seq] = [0, 1];
  while (seq < LONG) {
    for (const params of appendsOf(claim, seq, 1000)) {
      await store.append(params);
      for (const draft of params.drafts) bytes += Buffer.byteLength(draft.body);
    }
    seq += 4;
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found = await client.query("SELECT task FROM perdure.tasks WHERE id = 'long'");
  const task = (found.rows[0] as { task: string }).task;
  await client.query("CREATE TABLE own (LIKE perdure.events INCLUDING ALL)");
  await client.query("INSERT INTO own SELECT * FROM perdure.events WHERE task = $1 ORDER BY seq", [task]);
  await client.query("VACUUM ANALYZE own");
  await client.query("VACUUM ANALYZE perdure.events");
  const size = await client.query("SELECT pg_total_relation_size('own')::float8 AS n");
  const stored = (size.rows[0] as { n: number }).n;
  console.log(
    `stored: ${(stored / bytes).toFixed(2)} of the JSON,`,
    `${((stored - bytes) / seq).toFixed(0)} bytes beyond it per event of ${(bytes / seq).toFixed(0)}`,
  );
  const parts = await client.query(`SELECT pg_relation_size('own')::float8 / count(*) AS heap,
    pg_indexes_size('own')::float8 / count(*) AS index, avg(pg_column_size(own.*)) AS tuple, avg(octet_length(body)) AS body FROM own`);
  console.log("per event:", parts.rows[0]);
  const times = { floor: [] as number[], claim: [] as number[] };
  const end = { taskId: "long", revision: 0, kind: "stop" } as const;
  let { fence } = claim;
  for (let round = 0; round <= rounds; round += 1) {
    await store.release({ ...end, fence });
    let began = performance.now();
    const rows = await client.query(
      "SELECT seq, at, type, convert_from(body, 'UTF8') AS body FROM perdure.events WHERE task = $1 ORDER BY seq",
      [task],
    );
    for (const { body } of rows.rows as { body: string }[]) JSON.parse(body);
    times.floor.push(performance.now() - began);
    began = performance.now();
    const again = await claimOf(store, "long");
    for (const { body } of again?.entries ?? []) JSON.parse(body);
    times.claim.push(performance.now() - began);
    fence = again?.fence ?? 0;
  }
  const ratios = times.claim.map((ms, round) => ms / (times.floor[round] ?? ms));
  console.log(
    `claim and parse of ${String(seq)} events: ${median(times.claim).toFixed(0)} ms; reading and parsing`,
    `${median(times.floor).toFixed(0)} ms; ratio ${median(ratios).toFixed(2)}`,
  );
  await client.end();
  await store.close();
};

const rounds = Number(process.argv[2] ?? 6);
const only = process.argv[3];
const server = await startServer({ quick: false });
try {
  for (const connections of [1, 8]) await appends(server.url, connections, rounds);
  if (only !== "appends") await longLog(server.url, rounds);
} finally {
  await server.stop();
}
