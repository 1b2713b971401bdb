// Where races are run. A holder keeps a task's row locked until every contender is seen to wait for it; so each contender's
// statement has a snapshot older than what the one before it commits, which is the case that goes wrong.
import { strict as assert } from "node:assert";
import type pg from "pg";
import { addTask, type Way } from "./fixture.ts";
import type { Server } from "./server.ts";

export interface Arena {
  readonly server: Server;
  /** Five connections. */
  readonly clients: readonly [pg.Client, pg.Client, pg.Client, pg.Client, pg.Client];
}

const isWaiting = async (watcher: pg.Client, pid: number): Promise<boolean> => {
  const text = "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'";
  return (await watcher.query(text, [pid])).rowCount === 1;
};

const pids = new WeakMap<pg.Client, number>();
export const pidOf = async (client: pg.Client): Promise<number> => {
  const known = pids.get(client);
  if (known !== undefined) return known;
  const answer = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const pid = answer.rows[0]?.pid ?? 0;
  pids.set(client, pid);
  return pid;
};

/** Until the client's statement is seen to wait for a lock; an error when it ends without. */
export const seenWaiting = async (
  watcher: pg.Client,
  client: pg.Client,
  statement: Promise<unknown>,
): Promise<void> => {
  const pid = await pidOf(client);
  let ended = false;
  const end = (): void => void (ended = true);
  statement.then(end, end);
  while (!(await isWaiting(watcher, pid))) assert.ok(!ended, "the statement did not wait for the lock");
};

type Contender<T> = (client: pg.Client) => Promise<T>;

/** Starts the contenders one after the other behind a lock of `taskId`'s row, then lets them go in that order. */
export const race = async <A, B>(
  { clients: [holder, watcher, one, two] }: Arena,
  taskId: string,
  first: Contender<A>,
  second: Contender<B>,
): Promise<[A, B]> => {
  await Promise.all([pidOf(one), pidOf(two)]);
  await holder.query("BEGIN");
  await holder.query("SELECT FROM tasks WHERE task_id = $1 FOR UPDATE", [taskId]);
  const a = first(one);
  await seenWaiting(watcher, one, a);
  const b = second(two);
  await seenWaiting(watcher, two, b);
  await holder.query("COMMIT");
  return await Promise.all([a, b]);
};

let count = 0;
export const freshTask = async ({ clients: [client] }: Arena, columns?: Record<string, unknown>): Promise<string> => {
  const taskId = `race-${String((count += 1))}`;
  await addTask(client, taskId, columns);
  return taskId;
};

export const rowOf = async ({ clients: [client] }: Arena, taskId: string): Promise<Record<string, unknown>> =>
  (await client.query<Record<string, unknown>>("SELECT * FROM tasks WHERE task_id = $1", [taskId])).rows[0] ?? {};

export const eventsOf = async ({ clients: [client] }: Arena, taskId: string): Promise<number> =>
  (await client.query("SELECT FROM events WHERE task_id = $1", [taskId])).rowCount ?? 0;

export const free = { fence: 1, lease_until: 1, status: "running" };
export const worker = { worker: "w2", leaseMs: 60_000, offers: ["agent:demo"] };

export type Race = readonly [name: string, run: (arena: Arena, way: Way) => Promise<void>];
