// Figures on Postgres: each beside the floor that it is a ratio of, taken in turns in the same run.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type pg from "pg";
import { pidOf } from "./arena.ts";
import { claim, claimAndLoadText, claimText, claimValues, eventsText, loadText, renew } from "./claim.ts";
import { addTask, append, cycle, draftsAfter, itemOf, laneOf, post, type Way } from "./fixture.ts";
import type { Server } from "./server.ts";
import type { Append } from "./shapes.ts";

/** For what only this process does: the machine is shared, and a disturbed round says nothing. */
export const best = (values: readonly number[]): number => Math.min(...values);
export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

const usageOf = (count: number) => [
  { key: "turn m", purpose: "turn", model: "m", calls: count, input: count * 4000, output: count, duration_ms: count },
];

/** The two appends of one model-and-tool cycle after `seq`. */
const appendsOf = (taskId: string, seq: number): [Append, Append] => {
  const [called, replied, started, finished] = cycle(seq / 4 + 1);
  const one = { taskId, fence: 1, revision: 0 };
  const pick = (events: (typeof called)[]) => events.filter((event) => event !== undefined);
  return [
    { ...one, drafts: draftsAfter(seq, pick([replied, started])), usage: usageOf(seq) },
    { ...one, drafts: draftsAfter(seq + 2, pick([finished, called])) },
  ];
};

/** What a person would write for just this append: no function, no array, only the guards of a fence and a seq. */
const byHand = async (client: pg.Client, { taskId, fence, drafts, usage }: Append): Promise<void> => {
  const [one, two] = drafts;
  if (one === undefined || two === undefined) throw new Error("two events at a time");
  const counted = usage as ReturnType<typeof usageOf> | undefined;
  const upsert = `, u AS (INSERT INTO usage (task_id, key, purpose, model, calls, input, output, duration_ms)
    SELECT $1, $14, $15, $16, $17::integer, $18::bigint, $19::bigint, $20::bigint FROM row
    ON CONFLICT (task_id, key) DO UPDATE SET calls = excluded.calls, input = excluded.input, output = excluded.output,
      duration_ms = excluded.duration_ms)`;
  const text = `WITH row AS (UPDATE tasks SET last_seq = $3, chain = $4, updated_at = greatest(updated_at, clock_ms())
      WHERE task_id = $1 AND fence = $2 AND last_seq = $3 - 2 RETURNING updated_at AS at, inbox_seq),
    e AS (INSERT INTO events SELECT $1, v.* FROM row, LATERAL (VALUES
      ($3 - 1, row.at, $5::text, $6::bytea, $7::bytea, $8::bytea, $9::bytea),
      ($3, row.at, $10::text, $11::bytea, $12::bytea, $13::bytea, $4::bytea)) v)
    ${counted === undefined ? "" : upsert} SELECT * FROM row`;
  const values: unknown[] = [taskId, fence, two.seq, two.chain, one.type, Buffer.from(one.body)];
  values.push(one.salt, one.digest, one.chain, two.type, Buffer.from(two.body), two.salt, two.digest);
  for (const row of counted ?? []) values.push(...Object.values(row));
  const name = counted === undefined ? "hand" : "hand-usage";
  const answer = await client.query({ name, text, values });
  if (answer.rowCount !== 1) throw new Error("the append by hand was refused");
};

const run = async (client: pg.Client, way: Way | "hand", params: Append): Promise<void> => {
  if (way === "hand") return await byHand(client, params);
  const answer = await append(client, way, params);
  if (answer.code !== "ok") throw new Error(answer.code);
};

export interface AppendFigure {
  readonly way: Way | "hand";
  readonly connections: number;
  readonly cyclesPerSecond: number;
  /** Of the append by hand in the same round; the median over the rounds. */
  readonly ofHand: number;
  /** CPU time of a cycle (us), this process and its connections' backends, in the best round: a busy machine changes it less. */
  readonly cpuPerCycle: number;
}

/** CPU time (us) that this process and these backends have used so far. */
const cpuOf = (pids: readonly number[]): number => {
  const { user, system } = process.cpuUsage();
  const backends = pids.map(
    (pid) => Number(readFileSync(`/proc/${String(pid)}/schedstat`, "utf8").split(" ")[0]) / 1000,
  );
  return user + system + backends.reduce((sum, used) => sum + used, 0);
};

/** Cycles per second, each connection with a task of its own; the ways take turns so that they meet the same machine. */
export const measureAppends = async (server: Server, connections: number, rounds: number): Promise<AppendFigure[]> => {
  const clients = await Promise.all(Array.from({ length: connections }, () => server.connect()));
  const pids = await Promise.all(clients.map(pidOf));
  const ways = ["hand", "statement", "function"] as const;
  const cpu = new Map<string, number[]>(ways.map((way) => [way, []]));
  const seqs = new Map<string, number>();
  for (const way of ways) {
    for (const [n, client] of clients.entries()) {
      const taskId = `${way}-${String(connections)}-${String(n)}`;
      await addTask(client, taskId);
      seqs.set(taskId, 0);
    }
  }
  const speeds = new Map<string, number[]>(ways.map((way) => [way, []]));
  const cycles = 40;
  for (let round = 0; round < rounds; round += 1) {
    for (const way of ways) {
      const began = performance.now();
      const used = cpuOf(pids);
      const work = clients.map(async (client, n) => {
        const taskId = `${way}-${String(connections)}-${String(n)}`;
        for (let done = 0; done < cycles; done += 1) {
          const seq = seqs.get(taskId) ?? 0;
          for (const params of appendsOf(taskId, seq)) await run(client, way, params);
          seqs.set(taskId, seq + 4);
        }
      });
      await Promise.all(work);
      if (round === 0) continue;
      speeds.get(way)?.push((cycles * connections * 1000) / (performance.now() - began));
      cpu.get(way)?.push((cpuOf(pids) - used) / (cycles * connections));
    }
  }
  for (const client of clients) await client.end();
  const hand = speeds.get("hand") ?? [];
  return ways.map((way) => {
    const own = speeds.get(way) ?? [];
    const ratios = own.map((speed, index) => speed / (hand[index] ?? speed));
    const cpuPerCycle = best(cpu.get(way) ?? []);
    return { way, connections, cyclesPerSecond: median(own), ofHand: median(ratios), cpuPerCycle };
  });
};

/** Fills one task with `count` events, outputs of 1,000 characters. */
export const fillLog = async (client: pg.Client, taskId: string, count: number): Promise<void> => {
  await addTask(client, taskId);
  for (let seq = 0; seq < count; seq += 1000) {
    const events = Array.from({ length: 250 }, (_, n) => cycle(seq / 4 + n, 1000)).flat();
    await run(client, "function", { taskId, fence: 1, revision: 0, drafts: draftsAfter(seq, events) });
  }
  await client.query("VACUUM ANALYZE events");
};

export interface ReadFigure {
  readonly name: string;
  readonly ms: number;
}

/** Reading a whole log and parsing it: as one writes it first, and as a claim's load does it. */
export const measureReads = async (server: Server, taskId: string, rounds: number): Promise<ReadFigure[]> => {
  const client = await server.connect();
  const bytea = "SELECT seq, at, type, body FROM events WHERE task_id = $1 AND seq > $2 ORDER BY seq";
  const values = [taskId, 0];
  const ways: Record<string, () => Promise<unknown[]>> = {
    "rows with bytea, as the driver gives them (the floor)": async () => {
      const { rows } = await client.query<{ body: Buffer }>(bytea, values);
      return rows.map((row) => JSON.parse(row.body.toString()) as unknown);
    },
    "claim, load and rows with text, as arrays": async () => {
      const claimed = await claim(client, { worker: "w", leaseMs: 0, offers: ["agent:demo"], taskId });
      await client.query({ name: "load", text: loadText, values: [claimed?.task_id] });
      const query = { name: "events", text: eventsText, values, rowMode: "array" as const };
      const { rows } = await client.query<[number, string, string, string]>(query);
      return rows.map((row) => JSON.parse(row[3]) as unknown);
    },
  };
  await client.query("UPDATE tasks SET lease_until = 0 WHERE task_id = $1", [taskId]);
  const times = new Map<string, number[]>();
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, read] of Object.entries(ways)) {
      const began = performance.now();
      if ((await read()).length < 1000) throw new Error("the log was not read");
      if (round > 0) times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
    }
  }
  await client.end();
  return [...times].map(([name, values]) => ({ name, ms: median(values) }));
};

/** Times of small statements, in turns; ms each. */
export const measureSmall = async (server: Server, rounds: number): Promise<ReadFigure[]> => {
  const client = await server.connect();
  const taskId = "small";
  await addTask(client, taskId, { lease_until: 0 });
  const twenty = Array.from({ length: 5 }, (_, n) => cycle(n)).flat();
  await append(client, "function", { taskId, fence: 1, revision: 0, drafts: draftsAfter(0, twenty) });
  await client.query(
    "CREATE TABLE showings (task_id text, request text, front_end text, showing integer, PRIMARY KEY (task_id, request, front_end))",
  );
  const params = { worker: "w", leaseMs: 0, offers: ["agent:demo"], taskId };
  const ways: Record<string, (n: number) => Promise<unknown>> = {
    claim: () => claim(client, params),
    "load after a claim, 20 events": async () => {
      await client.query({ name: "load", text: loadText, values: [taskId] });
      await client.query({ name: "events", text: eventsText, values: [taskId, 0], rowMode: "array" });
    },
    "claim and load in one statement, 20 events": () =>
      client.query({ name: "claim-and-load", text: claimAndLoadText("one"), values: claimValues(params) }),
    renew: () => renew(client, taskId, 0, 0),
    post: (n) => post(client, itemOf(taskId, `k${String(n)}`, "hello")),
    "raise a showing: one row": (n) =>
      client.query({
        name: "showing",
        text: `INSERT INTO showings VALUES ($1, 'c1_0', 'discord', $2)
          ON CONFLICT (task_id, request, front_end) DO UPDATE SET showing = excluded.showing`,
        values: [taskId, n],
      }),
  };
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, work] of Object.entries(ways)) {
      const began = performance.now();
      await work(round);
      if (round > 10) times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
    }
  }
  await client.end();
  return [...times].map(([name, values]) => ({ name, ms: median(values) }));
};

/** 200,000 tasks: parked ones, some with a timer to come, some leased, 4,000 that nobody here can serve, 200 ready. */
export const fillTasks = async (client: pg.Client): Promise<void> => {
  const lanes = [await laneOf(client, ["agent:demo"]), await laneOf(client, ["agent:demo", "plugin:elsewhere"])];
  await client.query(
    `INSERT INTO tasks (task_id, agent, owner, place, root, status, lane, created_at, updated_at, ready_at, last_seq,
       chain, inbox_seq, next_timer_at, lease_until, priority)
     SELECT 'idle-' || n, 'demo', 'local:root', 'cli', 'idle-' || n,
       CASE WHEN n % 100 = 1 THEN 'running' ELSE 'waiting' END,
       CASE WHEN n % 50 = 2 THEN $2 ELSE $3 END::integer,
       0, 0, n, 10, $1, CASE WHEN n % 50 = 2 OR n % 1000 = 3 THEN 1 ELSE 0 END,
       CASE WHEN n % 10 = 4 THEN clock_ms() + 10000000 + n END,
       CASE WHEN n % 100 = 1 THEN clock_ms() + 10000000 ELSE 0 END, n % 3
     FROM generate_series(1, 200000) n`,
    [randomBytes(32), lanes[1], lanes[0]],
  );
  await client.query("VACUUM ANALYZE tasks");
};

/** The plan of a claim among those, and its time; everything is rolled back. */
export const explainClaim = async (client: pg.Client, offers: readonly string[]): Promise<string> => {
  await client.query("BEGIN");
  const plan = await client.query<{ "QUERY PLAN": string }>(
    `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ${claimText("next")}`,
    claimValues({ worker: "w", leaseMs: 1000, offers }),
  );
  await client.query("ROLLBACK");
  return plan.rows.map((row) => row["QUERY PLAN"]).join("\n");
};
