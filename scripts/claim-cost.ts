// What a claim costs in a big SQLite file: node scripts/claim-cost.ts [--rows N]. Prints the plans, then claims under several
// loads. The figures stand in docs/decisions/0021-workers.md.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { LEASED, NEXT_OWNER, READY_BY_AGE, READY_OF_OWNER, nextTask } from "../src/store/sqlite/next-task.ts";
import { openConnection } from "../src/store/sqlite/open-connection.ts";
import { openSqliteStore } from "../src/store/sqlite/sqlite-store.ts";

const { values } = parseArgs({ options: { rows: { type: "string", default: "200000" } } });
const rows = Number(values.rows);
const CLAIMS = 300;

const folder = mkdtempSync(join(tmpdir(), "perdure-claims-"));
const path = join(folder, "tasks.db");

/** Tasks without a log: of `principals` principals in turn; `ready` are ready, the others are as `parked` says. */
const fill = (database: DatabaseSync, load: { principals: number; ready: number; timers: boolean; leased: number }) => {
  database.exec("DELETE FROM secrets; DELETE FROM tasks; DELETE FROM lanes");
  database.exec(`INSERT INTO lanes VALUES (1, 'default', '["agent:a"]')`);
  const now = Date.now();
  const sql = `INSERT INTO tasks (task, id, keyPlace, firstSeq, agent, owner, frontEnd, place, conversation, private, root,
      mode, status, lane, priority, createdAt, updatedAt, lastSeq, head, readyAt, nextTimerAt, leaseUntil)
    VALUES (:task, :id, '', 1, 'a', :owner, 'f', 'p', 'c', 0, :id, 'run', :status, 1, 0, 1, 1, 0, x'', :readyAt,
      :nextTimerAt, :leaseUntil)`;
  const insert = database.prepare(sql);
  const secret = database.prepare("INSERT INTO secrets VALUES (?, zeroblob(32))");
  const { principals, ready, timers, leased } = load;
  database.exec("BEGIN");
  for (let task = 1; task <= rows; task += 1) {
    const [isReady, isLeased] = [task <= ready, task > ready && task <= ready + leased];
    // One principal has all that is ready, but for the last of it.
    const owner = isReady && task < ready ? "busy" : `p:${String(task % principals)}`;
    const timer = isReady || !timers ? null : now + 1e9;
    insert.run({
      ...{ task, id: `t${String(task)}`, owner, status: isReady ? "ready" : "waiting" },
      ...{ readyAt: isReady ? now - 1e6 + task : timer, nextTimerAt: timer, leaseUntil: isLeased ? 1e15 : null },
    });
    secret.run(task);
  }
  database.exec("COMMIT");
};

const claiming = { worker: "w", leaseMs: 1e9, offers: ["agent:a"], snapshotVersions: {}, build: "b" };

/** The look for the next task alone, without the commit that takes it. */
const lookTimes = async (): Promise<number[]> => {
  const connection = await openConnection({ path });
  const times: number[] = [];
  let principal = "";
  for (let n = 0; n < CLAIMS; n += 1) {
    const start = performance.now();
    const next = await connection.read((now) => nextTask(connection, { ...claiming, served: { 0: principal } }, now));
    times.push(performance.now() - start);
    principal = next?.principal ?? "";
  }
  connection.close();
  return times.toSorted((a, b) => a - b);
};

const claimTimes = async (): Promise<number[]> => {
  const store = await openSqliteStore({ path });
  const served: Record<number, string> = {};
  const times: number[] = [];
  for (let n = 0; n < CLAIMS; n += 1) {
    const start = performance.now();
    const claim = await store.claim({ ...claiming, served });
    times.push(performance.now() - start);
    if (claim !== null) served[claim.served.priority] = claim.served.principal;
  }
  await store.close();
  return times.toSorted((a, b) => a - b);
};

const first = await openSqliteStore({ path });
await first.close();
const database = new DatabaseSync(path);
database.exec("PRAGMA foreign_keys = OFF");
for (const sql of [READY_BY_AGE, NEXT_OWNER, READY_OF_OWNER, LEASED]) {
  for (const { detail } of database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) console.log(String(detail));
}
const loads = {
  "nothing ready": { principals: 1_000, ready: 0, timers: false, leased: 0 },
  "10 ready": { principals: 1_000, ready: 10, timers: true, leased: 0 },
  "half ready, of one principal but for one": { principals: 1_000, ready: rows / 2, timers: false, leased: 0 },
  "the same, all others wait for a time": { principals: 20_000, ready: rows / 2, timers: true, leased: 0 },
  "the same, and 400 run": { principals: 20_000, ready: rows / 2, timers: true, leased: 400 },
};
for (const [name, load] of Object.entries(loads)) {
  fill(database, load);
  const [looks, claims] = [await lookTimes(), await claimTimes()];
  const at = (times: readonly number[], share: number): string =>
    (times[Math.floor(times.length * share)] ?? 0).toFixed(2);
  const look = `look p50 ${at(looks, 0.5)} ms, p99 ${at(looks, 0.99)} ms`;
  console.log(`${String(rows)} tasks, ${name}: ${look}; claim with its commit p50 ${at(claims, 0.5)} ms`);
}
database.close();
rmSync(folder, { recursive: true });
