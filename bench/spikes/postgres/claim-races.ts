// Races of posts, claims and redactions, and controls: the ways of writing them that lose.
import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import type pg from "pg";
import { free, freshTask, pidOf, race, rowOf, seenWaiting, worker, type Race } from "./arena.ts";
import { claim, claimAndLoadText, claimText, claimValues, eventsText, park, renew } from "./claim.ts";
import { addTask, append, cycle, draft, draftsAfter, itemOf, post } from "./fixture.ts";
import { forkText, redact } from "./redact.ts";
import type { Server } from "./server.ts";

export const otherRaces: readonly Race[] = [
  [
    "one key posted twice at once: one item, and both get its receipt; another body under that key is told",
    async (arena) => {
      const taskId = await freshTask(arena);
      const answers = await race(
        arena,
        taskId,
        (client) => post(client, itemOf(taskId, "k", "hello")),
        (client) => post(client, itemOf(taskId, "k", "hello")),
      );
      assert.deepEqual(answers, [
        { code: "ok", seq: 1, duplicate: false, differs: false },
        { code: "ok", seq: 1, duplicate: true, differs: false },
      ]);
      assert.equal((await post(arena.clients[0], itemOf(taskId, "k", "other"))).differs, true);
      assert.equal((await rowOf(arena, taskId))["inbox_seq"], 1);
    },
  ],
  [
    "a renewal behind a takeover finds its fence gone; a takeover behind a renewal finds the lease",
    async (arena) => {
      const lost = await freshTask(arena, free);
      const [claimed, renewed] = await race(
        arena,
        lost,
        (client) => claim(client, { ...worker, taskId: lost }),
        (client) => renew(client, lost, 1, 60_000),
      );
      assert.deepEqual([claimed?.fence, renewed], [2, false]);
      const kept = await freshTask(arena, free);
      const [extended, refused] = await race(
        arena,
        kept,
        (client) => renew(client, kept, 1, 60_000),
        (client) => claim(client, { ...worker, taskId: kept }),
      );
      assert.deepEqual([extended, refused], [true, null]);
    },
  ],
  [
    "parking behind a post is refused",
    async (arena) => {
      const taskId = await freshTask(arena, { status: "waiting" });
      const [, parked] = await race(
        arena,
        taskId,
        (client) => post(client, itemOf(taskId, "k", "hello")),
        (client) => park(client, taskId, 1, 0),
      );
      assert.equal(parked, false);
    },
  ],
  [
    "a fork that is created while its source is redacted gets the new revision, or reads the new words",
    async (arena) => {
      const source = await freshTask(arena);
      const [first, second] = [`${source}-fork-1`, `${source}-fork-2`];
      await race(
        arena,
        source,
        (client) => client.query(forkText, [first, source]),
        (client) => redact(client, source, [], randomBytes(32)),
      );
      assert.equal((await rowOf(arena, first))["revision"], 1);
      await race(
        arena,
        source,
        (client) => redact(client, source, [], randomBytes(32)),
        (client) => client.query(forkText, [second, source]),
      );
      assert.equal((await rowOf(arena, first))["revision"], 2);
      assert.equal((await rowOf(arena, second))["history_from"], source);
      const third = `${first}-fork`;
      await race(
        arena,
        first,
        (client) => client.query(forkText, [third, first]),
        (client) => redact(client, source, [], randomBytes(32)),
      );
      assert.equal((await rowOf(arena, third))["revision"], 1);
    },
  ],
  [
    "control: a claim that loads in its own statement misses what its lock waited for",
    async (arena) => {
      const taskId = await freshTask(arena, free);
      const loading = { text: claimAndLoadText("one"), values: claimValues({ ...worker, taskId }) };
      const [answer, claimed] = await race(
        arena,
        taskId,
        (client) => append(client, "function", { taskId, fence: 1, revision: 0, drafts: draft(1) }),
        (client) => client.query<{ last_seq: number; before_last_seq: number; bodies: string[] | null }>(loading),
      );
      assert.equal(answer.code, "ok");
      const [row] = claimed.rows;
      assert.deepEqual([row?.last_seq, row?.before_last_seq, row?.bodies], [1, 0, null]);
      assert.equal((await arena.clients[0].query(eventsText, [taskId, 0])).rowCount, 1);
    },
  ],
  [
    "control: a worker that dies while it reads a long log was not counted where claim and load are one statement",
    async (arena) => {
      const [client] = arena.clients;
      const taskId = await freshTask(arena, free);
      const events = Array.from({ length: 20 }, (_, n) => cycle(n, 1_000_000)).flat();
      await append(client, "function", { taskId, fence: 1, revision: 0, drafts: draftsAfter(0, events) });
      const die = async (text: string, values: unknown[]): Promise<number> => {
        const socket = new Socket();
        const dying = await arena.server.connect({ stream: () => socket });
        const pid = await pidOf(dying);
        dying.on("error", () => undefined);
        socket.once("data", () => socket.destroy());
        await dying.query(text, values).catch(() => undefined);
        while ((await client.query("SELECT FROM pg_stat_activity WHERE pid = $1", [pid])).rowCount === 1) continue;
        return Number((await rowOf(arena, taskId))["attempts"]);
      };
      assert.equal(await die(claimAndLoadText("one"), claimValues({ ...worker, taskId })), 0);
      assert.equal((await claim(client, { ...worker, taskId }))?.attempts, 1);
      assert.equal(await die(eventsText, [taskId, 0]), 1);
    },
  ],
  [
    "control: a guard that counts the items themselves lets a Waiting pass the post it waited for",
    async (arena) => {
      const taskId = await freshTask(arena);
      const naive = `WITH locked AS MATERIALIZED (SELECT * FROM tasks WHERE task_id = $1 FOR NO KEY UPDATE)
        UPDATE tasks t SET status = 'waiting' FROM locked l WHERE t.task_id = l.task_id
          AND NOT EXISTS (SELECT FROM inbox i WHERE i.task_id = l.task_id AND i.seq > l.inbox_taken)`;
      const [, parked] = await race(
        arena,
        taskId,
        (client) => post(client, itemOf(taskId, "k", "hello")),
        (client) => client.query(naive, [taskId]),
      );
      assert.equal(parked.rowCount, 1);
    },
  ],
  [
    "control: locking one's own row before the rows one posts to does wait in a circle",
    async (arena) => {
      const [holder, watcher, one, two] = arena.clients;
      const [parent, child] = [await freshTask(arena), await freshTask(arena)];
      const lock = "SELECT FROM tasks WHERE task_id = $1 FOR NO KEY UPDATE";
      await pidOf(holder);
      for (const client of [holder, one]) await client.query("BEGIN");
      await holder.query(lock, [parent]);
      await one.query(lock, [child]);
      const waits = holder.query(lock, [child]);
      await seenWaiting(watcher, holder, waits);
      const codes = await Promise.allSettled([waits, one.query(lock, [parent])]);
      const refused = codes.filter((code) => code.status === "rejected");
      assert.equal((refused[0]?.reason as { code?: string } | undefined)?.code, "40P01");
      for (const client of [holder, one, two]) await client.query("ROLLBACK");
    },
  ],
];

/** Eight connections claim, append once and park until nothing is left: every task is claimed once, in order of priority. */
export const claimAll = async (server: Server, tasks: number): Promise<void> => {
  const clients = await Promise.all(Array.from({ length: 8 }, () => server.connect()));
  const [first] = clients;
  if (first === undefined) return;
  const columns = { status: "waiting", inbox_seq: 1, lease_until: 0, fence: 0, agent: "many" };
  for (let n = 0; n < tasks; n += 1) {
    await addTask(first, `many-${String(n)}`, { ...columns, priority: n % 3 }, ["agent:many"]);
  }
  const claimed: string[] = [];
  const drain = async (client: pg.Client): Promise<void> => {
    for (;;) {
      const one = await client.query<{ task_id: string; fence: number }>({
        name: "claim-next",
        text: claimText("next"),
        values: claimValues({ worker: "w", leaseMs: 60_000, offers: ["agent:many"] }),
      });
      const row = one.rows[0];
      if (row === undefined) return;
      claimed.push(row.task_id);
      const params = { taskId: row.task_id, fence: row.fence, revision: 0, drafts: draft(1), taken: 1 };
      assert.equal((await append(client, "function", params)).code, "ok");
      assert.equal(await park(client, row.task_id, row.fence, 1), true);
    }
  };
  await Promise.all(clients.map(drain));
  assert.equal(new Set(claimed).size, tasks);
  assert.equal(claimed.length, tasks);
  for (const client of clients) await client.end();
};
