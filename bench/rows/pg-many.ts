// A million tasks in Postgres: parked, waiting for a time, not to be served here, some hundreds ready. How long a claim and
// the lists take, and how the server finds the rows: no table may be read from end to end.
import type pg from "pg";
import { openPostgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { ClaimParams, Store } from "../../src/store/store.ts";
import { figureOf, timed, type Figure } from "../figures.ts";
import { connect, withPostgres } from "../postgres/server.ts";
import { atMost, type Bench, type Measured, type Row } from "../row.ts";

const TASKS = 1_000_000;
const READY = 300;
const UNSERVED = 4_000;
const OWNERS = 1_000;
const CLAIMS = 200;
const LISTS = 50;
/** Rows to a statement. */
const TOGETHER = 50_000;
const YEAR_2286 = 9_999_999_999_999;

const LANES =
  "INSERT INTO perdure.lanes (queue, requires) VALUES ('many', '{agent:looping}'), ('many', '{agent:other}')";

const FILL = `INSERT INTO perdure.tasks (created_at, updated_at, since, priority, lane, last_seq, first_seq, private, head,
    id, key_place, agent, owner, front_end, place, conversation, root, mode, status, next_timer_at)
  SELECT 1, 1, n, n % 3, lane, 0, 1, true, '', concat_ws(' ', $3::text, n), 'p', 'looping', 'owner ' || n % ${String(OWNERS)}, 'f',
    'place ' || n % ${String(OWNERS)}, 'c', 'x', 'run', $4::text, $5::bigint
  FROM generate_series($1::integer, $2::integer) n, perdure.lanes WHERE requires = ARRAY[$6::text]`;

const fill = async (client: pg.Client, progress: (message: string) => void): Promise<void> => {
  await client.query(LANES);
  const add = async (count: number, kind: string, status: string, timer: number | null, requires: string) => {
    for (let from = 1; from <= count; from += TOGETHER) {
      const values = [from, Math.min(count, from + TOGETHER - 1), kind, status, timer, requires];
      await client.query(FILL, values);
      progress(`pg-many: ${String(values[1])} ${kind}`);
    }
  };
  const timers = TASKS / 10;
  await add(TASKS - timers - UNSERVED - READY, "parked", "waiting", null, "agent:looping");
  await add(timers, "timed", "waiting", YEAR_2286, "agent:looping");
  await add(UNSERVED, "unserved", "running", null, "agent:other");
  await add(READY, "ready", "running", null, "agent:looping");
  await client.query("INSERT INTO perdure.secrets SELECT task, sha256(id::bytea) FROM perdure.tasks");
  await client.query("VACUUM ANALYZE");
};

interface Ways {
  readonly [what: string]: { readonly times: number; readonly run: () => Promise<unknown> };
}

const waysOf = (store: Store): Ways => {
  const params: ClaimParams = {
    ...{
      worker: "w",
      leaseMs: 3_600_000,
      offers: ["agent:looping"],
      snapshotVersions: {},
      build: "b",
      queues: ["many"],
    },
  };
  const claim = async (): Promise<void> => {
    if ((await store.claim(params)) === null) throw new Error("no task was found");
  };
  const list = (more: object) => ({ times: LISTS, run: () => store.listTasks({ ...more, limit: 50 }) });
  return {
    "claim of the next": { times: CLAIMS, run: claim },
    "claim that can serve none": { times: CLAIMS, run: () => store.claim({ ...params, offers: ["agent:none"] }) },
    "the newest 50": list({}),
    "the newest 50 of an owner": list({ owner: "owner 5" }),
    "the newest 50 of a place": list({ place: "place 5" }),
    "50 that run": list({ status: "running" }),
    "50 in the middle": list({ after: "parked 500000" }),
    "50 by the beginning of their id": list({ idPrefix: "timed 99" }),
  };
};

/** How often each table was read from end to end, and the rows that this gave. */
const SCANS = `SELECT coalesce(sum(seq_tup_read), 0)::float8 AS rows FROM pg_stat_user_tables
  WHERE schemaname = 'perdure' AND relname IN ('tasks', 'secrets', 'events', 'inbox', 'snapshots')`;

const readWhole = async (client: pg.Client): Promise<number> => {
  // What a connection counted is told when it has been idle for a moment, or at once when it is asked to.
  await client.query("SELECT pg_stat_clear_snapshot()");
  return (await client.query<{ rows: number }>(SCANS)).rows[0]?.rows ?? NaN;
};

const measureWays = async (store: Store): Promise<Map<string, Figure>> => {
  const figures = new Map<string, Figure>();
  for (const [what, { times, run }] of Object.entries(waysOf(store))) {
    const took: number[] = [];
    for (let n = 0; n < times; n += 1) took.push(await timed(run));
    figures.set(what, figureOf(took));
  }
  return figures;
};

const EXPLAIN = ["session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"];
const NESTED = "auto_explain.log_nested_statements = on";
const SCAN = /(Seq Scan|Index Only Scan[^:]*|Index Scan[^:]*|Bitmap Heap Scan) on (\w+)/g;

/** Runs each way once while the server logs the plans that it uses, those inside of functions too: how it came to rows. */
const scansOf = async (
  url: string,
  server: { read(): string; next(): Promise<void> },
): Promise<Map<string, string>> => {
  const client = await connect(url);
  const { rows } = await client.query<{ name: string }>("SELECT current_database() AS name");
  for (const setting of [...EXPLAIN, NESTED])
    await client.query(`ALTER DATABASE ${rows[0]?.name ?? ""} SET ${setting}`);
  await client.end();
  const marking = await connect(url);
  const scans = new Map<string, string>();
  const store = await openPostgresStore({ url, notify: false, prepared: true });
  for (const [what, { run }] of Object.entries(waysOf(store))) {
    const from = server.read().length;
    await run();
    const mark = `mark ${String(scans.size)}`;
    await marking.query(`SELECT '${mark}'`);
    while (!server.read().includes(mark, from)) await server.next();
    const found = [...server.read().slice(from).matchAll(SCAN)].map(
      (match) => `${match[1] ?? ""} on ${match[2] ?? ""}`,
    );
    scans.set(what, [...new Set(found)].join("; "));
  }
  await store.close();
  await marking.end();
  return scans;
};

const createLog = () => {
  let text = "";
  let more = Promise.withResolvers<void>();
  return {
    add: (added: string) => {
      text += added;
      more.resolve();
      more = Promise.withResolvers();
    },
    read: () => text,
    next: () => more.promise,
  };
};

const measureMany = async (url: string, log: ReturnType<typeof createLog>, bench: Bench): Promise<Measured> => {
  await (await openPostgresStore({ url })).close();
  const client = await connect(url);
  await fill(client, bench.progress);
  const before = await readWhole(client);
  const store = await openPostgresStore({ url, notify: false, prepared: true });
  const figures = await measureWays(store);
  // Its connections tell the server what they counted when they end.
  await store.close();
  const whole = (await readWhole(client)) - before;
  await client.end();
  const scans = await scansOf(url, log);
  const count = TASKS.toLocaleString("en");
  const results = [...figures].map(([what, figure]) => ({
    what: `Postgres, ${what}, of ${count} tasks`,
    unit: "ms",
    figure,
    note: scans.get(what) ?? "",
  }));
  const all = {
    what: `rows read by going through a whole table, ${count} tasks`,
    unit: "rows",
    figure: figureOf([whole]),
    bar: atMost(0, "rows"),
  };
  return { floors: [], results: [...results, all] };
};

export const pgMany: Row = {
  name: "pg-many",
  measure: (bench) => {
    const log = createLog();
    const options = { settings: ["max_wal_size=4GB"], onLog: log.add };
    return withPostgres(bench, async (server) => measureMany(await server.database(), log, bench), options);
  },
};
