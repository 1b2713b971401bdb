// Appends of a steady loop through the store, and the same written by hand, in turns.
import { readFileSync } from "node:fs";
import pg from "pg";
import { openPostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { AppendParams } from "../../../src/store/store.ts";
import { costPerCycle, runLoop } from "../../steady-loop.ts";
import { best, median } from "../postgres/measure.ts";
import { appendsOf, begin, type Claimed } from "./loop.ts";

const CYCLES = 60;

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
  const used = pids.map((pid) => Number(openStat(pid).split(" ")[0]) / 1000);
  return [user + system, used.reduce((sum, one) => sum + one, 0)];
};

const openStat = (pid: number): string => {
  try {
    return readFileSync(`/proc/${String(pid)}/schedstat`, "utf8");
  } catch {
    return "0"; // A connection that the pool has let go.
  }
};

const ways = ["hand", "store"] as const;
type Way = (typeof ways)[number];

interface Arena {
  readonly clients: readonly pg.Client[];
  readonly pids: readonly number[];
  /** One append of the task with this number. */
  readonly run: (way: Way, n: number, params: AppendParams) => Promise<unknown>;
  readonly tasks: Readonly<Record<Way, readonly Claimed[]>>;
  readonly close: () => Promise<void>;
}

/** Parts that share a database have tasks of their own, by `part`. */
const openArena = async (url: string, part: string, connections: number): Promise<Arena> => {
  const prepared = process.env["PREPARED"] !== "no";
  const store = await openPostgresStore({ url, max: connections, notify: false, prepared });
  const numbers = Array.from({ length: connections }, (_, n) => n);
  const clients = await Promise.all(
    numbers.map(async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  const beginAll = (way: Way) =>
    Promise.all(numbers.map((n) => begin(store, `${part}-${way}-${String(connections)}-${String(n)}`)));
  const tasks = { hand: await beginAll("hand"), store: await beginAll("store") };
  const ids = await Promise.all(
    clients.map(async (client, n) => {
      const found = await client.query("SELECT task FROM perdure.tasks WHERE id = $1", [tasks.hand[n]?.taskId]);
      return Number((found.rows[0] as { task: string }).task);
    }),
  );
  const backends = await clients[0]?.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'");
  return {
    clients,
    tasks,
    pids: (backends?.rows as { pid: number }[]).map(({ pid }) => pid),
    run: (way, n, params) =>
      way === "store" ? store.append(params) : byHand(clients[n] as pg.Client, ids[n] as number, params),
    close: async () => {
      for (const client of clients) await client.end();
      await store.close();
    },
  };
};

/** One turn: each task's cycles, all tasks at once. Cycles per second, and CPU time per cycle of client and server. */
const turn = async (arena: Arena, way: Way, round: number) => {
  const { tasks, pids, run } = arena;
  const cycles = CYCLES * tasks[way].length;
  const [began, used] = [performance.now(), cpuOf(pids)];
  const loops = tasks[way].map(async (claim, n) => {
    for (let done = 0; done < CYCLES; done += 1) {
      for (const params of appendsOf(claim, 1 + (round * CYCLES + done) * 4)) await run(way, n, params);
    }
  });
  await Promise.all(loops);
  const after = cpuOf(pids);
  return {
    speed: (cycles * 1000) / (performance.now() - began),
    client: (after[0] - used[0]) / cycles,
    server: (after[1] - used[1]) / cycles,
  };
};

export const measureAppends = async (url: string, connections: number, rounds: number): Promise<void> => {
  const arena = await openArena(url, "appends", connections);
  const turns: Record<Way, Awaited<ReturnType<typeof turn>>[]> = { hand: [], store: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const way of ways) {
      const figures = await turn(arena, way, round);
      if (round > 0) turns[way].push(figures);
    }
  }
  await arena.close();
  const ratios = turns.store.map(({ speed }, round) => speed / (turns.hand[round]?.speed ?? speed));
  console.log(`appends, ${String(connections)} connections: ratio of cycles per second ${median(ratios).toFixed(2)}`);
  for (const way of ways) {
    const speed = median(turns[way].map((each) => each.speed)).toFixed(0);
    const [client, server] = (["client", "server"] as const).map((side) => best(turns[way].map((each) => each[side])));
    console.log(
      `  ${way}: ${speed} cycles/s; CPU us per cycle, client ${client?.toFixed(0)}, server ${server?.toFixed(0)}`,
    );
  }
};

const LOOP = 300;
const WARM = 50;

/** One task run by the runner, of the appends that it makes when they are written by hand. */
export const measureSteadyLoop = async (url: string, rounds: number): Promise<void> => {
  const arena = await openArena(url, "loop", 1);
  const store = await openPostgresStore({ url });
  const figures: { readonly hand: number; readonly loop: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { speed: hand } = await turn(arena, "hand", round);
    const loop = 1_000 / costPerCycle(await runLoop(store, { cycles: LOOP }), WARM, LOOP);
    figures.push({ hand, loop });
  }
  await arena.close();
  await store.close();
  const ratio = median(figures.map(({ hand, loop }) => loop / hand)).toFixed(2);
  const [loop, hand] = [median(figures.map((each) => each.loop)), median(figures.map((each) => each.hand))];
  console.log(`steady loop, one task: ${loop.toFixed(0)} cycles/s, by hand ${hand.toFixed(0)}, ratio ${ratio}`);
};
