// Races of appends with everything that may come between: run for both ways to append.
import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { eventsOf, free, freshTask, pidOf, race, rowOf, seenWaiting, worker, type Race } from "./arena.ts";
import { claim } from "./claim.ts";
import { append, draft, itemOf, post, waiting } from "./fixture.ts";
import { redact } from "./redact.ts";

export const appendRaces: readonly Race[] = [
  [
    "two appends at one seq: one is kept, the other is a conflict",
    async (arena, way) => {
      const taskId = await freshTask(arena);
      const params = { taskId, fence: 1, revision: 0, drafts: draft(1) };
      const answers = await race(
        arena,
        taskId,
        (client) => append(client, way, params),
        (client) => append(client, way, { ...params, drafts: draft(1) }),
      );
      assert.deepEqual(
        answers.map((answer) => answer.code),
        ["ok", "conflict"],
      );
      assert.equal(await eventsOf(arena, taskId), 1);
    },
  ],
  [
    "an append behind a takeover is refused: not_owner",
    async (arena, way) => {
      const taskId = await freshTask(arena, free);
      const [claimed, answer] = await race(
        arena,
        taskId,
        (client) => claim(client, { ...worker, taskId }),
        (client) => append(client, way, { taskId, fence: 1, revision: 0, drafts: draft(1) }),
      );
      assert.equal(claimed?.fence, 2);
      assert.equal(answer.code, "not_owner");
      assert.equal(await eventsOf(arena, taskId), 0);
    },
  ],
  [
    "a Waiting behind a post is refused: inbox_moved",
    async (arena, way) => {
      const taskId = await freshTask(arena);
      const columns = { status: "waiting", waitingOn: "input" };
      const [posted, answer] = await race(
        arena,
        taskId,
        (client) => post(client, itemOf(taskId, "k", "hello")),
        (client) => append(client, way, { taskId, fence: 1, revision: 0, drafts: waiting(1), columns, inboxSeen: 0 }),
      );
      assert.equal(posted.code, "ok");
      assert.equal(answer.code, "inbox_moved");
      assert.equal((await rowOf(arena, taskId))["status"], "running");
    },
  ],
  [
    "a post behind a Waiting finds the parked row and makes it claimable",
    async (arena, way) => {
      const taskId = await freshTask(arena, { lease_until: 1 });
      const columns = { status: "waiting", waitingOn: "input" };
      const [answer, posted] = await race(
        arena,
        taskId,
        (client) => append(client, way, { taskId, fence: 1, revision: 0, drafts: waiting(1), columns, inboxSeen: 0 }),
        (client) => post(client, itemOf(taskId, "k", "hello")),
      );
      assert.equal(answer.code, "ok");
      assert.equal(posted.seq, 1);
      const row = await rowOf(arena, taskId);
      assert.equal(row["status"], "waiting");
      assert.notEqual(row["wake_at"], null);
    },
  ],
  [
    "an append behind a redaction is refused: redacted",
    async (arena, way) => {
      const taskId = await freshTask(arena);
      const one = { taskId, fence: 1, revision: 0 };
      await append(arena.clients[0], way, { ...one, drafts: draft(1) });
      const [, answer] = await race(
        arena,
        taskId,
        (client) => redact(client, taskId, [{ seq: 1, body: "{}", digest: randomBytes(32) }], randomBytes(32)),
        (client) => append(client, way, { ...one, drafts: draft(2) }),
      );
      assert.equal(answer.code, "redacted");
      assert.equal((await rowOf(arena, taskId))["revision"], 1);
    },
  ],
  [
    "an append behind the deletion of a source that it carries is refused; one before it is found by the deletion",
    async (arena, way) => {
      const [client, , , , deleter] = arena.clients;
      await pidOf(client);
      const taskId = await freshTask(arena);
      const source = `source of ${taskId}`;
      const params = { taskId, fence: 1, revision: 0, drafts: draft(1), sources: [source] };
      assert.equal((await append(client, way, params)).code, "unknown_source");
      await client.query("INSERT INTO source_states (source, version) VALUES ($1, '1')", [source]);
      assert.equal((await append(client, way, params)).code, "ok");
      await deleter.query("BEGIN");
      await deleter.query("UPDATE source_states SET deleted = true WHERE source = $1", [source]);
      const late = append(client, way, { ...params, drafts: draft(2) });
      await seenWaiting(deleter, client, late);
      await deleter.query("COMMIT");
      assert.equal((await late).code, "redacted");
    },
  ],
  [
    "two tasks that post to each other at once do not wait in a circle",
    async (arena, way) => {
      const parent = await freshTask(arena);
      const child = await freshTask(arena);
      const send = (from: string, to: string) => (client: pg.Client) =>
        append(client, way, { taskId: from, fence: 1, revision: 0, drafts: draft(1), posts: [itemOf(to, "k", "hi")] });
      const answers = await race(arena, parent, send(parent, child), send(child, parent));
      assert.deepEqual(
        answers.map((answer) => answer.code),
        ["ok", "ok"],
      );
      assert.equal((await rowOf(arena, parent))["inbox_seq"], 1);
      assert.equal((await rowOf(arena, child))["inbox_seq"], 1);
    },
  ],
  [
    "a post that an append carries is dropped when its task has ended, is gone, or knows the key; the append is kept",
    async (arena, way) => {
      const taskId = await freshTask(arena);
      const ended = await freshTask(arena, { status: "ended" });
      const known = await freshTask(arena);
      await post(arena.clients[0], itemOf(known, "k", "first"));
      const posts = [itemOf(ended, "k", "x"), itemOf("nobody", "k", "x"), itemOf(known, "k", "second")];
      const answer = await append(arena.clients[0], way, { taskId, fence: 1, revision: 0, drafts: draft(1), posts });
      assert.equal(answer.code, "ok");
      assert.equal((await rowOf(arena, known))["inbox_seq"], 1);
      assert.equal((await rowOf(arena, ended))["inbox_seq"], 0);
    },
  ],
  [
    "the time of an event never goes back, and a due timer is told and refuses a Waiting",
    async (arena, way) => {
      const ahead = Date.now() + 600_000;
      const taskId = await freshTask(arena, { updated_at: ahead });
      const one = { taskId, fence: 1, revision: 0 };
      const timers = [{ key: "t1", dueAt: ahead - 1000, seq: 1 }];
      const answer = await append(arena.clients[0], way, { ...one, drafts: draft(1), timers });
      assert.ok(answer.at >= ahead);
      assert.equal(answer.timerDue, true);
      const cancel = { ...one, drafts: draft(2), timers: [{ key: "t1", dueAt: null, seq: 2 }] };
      assert.equal((await append(arena.clients[0], way, cancel)).timerDue, false);
      const due = { ...one, drafts: draft(3), timers: [{ key: "t2", dueAt: 1, seq: 3 }] };
      await append(arena.clients[0], way, due);
      const wait = { ...one, drafts: waiting(4), inboxSeen: 0 };
      assert.equal((await append(arena.clients[0], way, wait)).code, "inbox_moved");
    },
  ],
  [
    "items are blanked by the append that takes them, children are there with it, an end answers ended",
    async (arena, way) => {
      const [client] = arena.clients;
      const taskId = await freshTask(arena);
      for (const key of ["a", "b"]) await post(client, itemOf(taskId, key, key));
      const child = `${taskId}.c1_0.1`;
      const children = [{ taskId: child, drafts: draft(1) }];
      await append(client, way, { taskId, fence: 1, revision: 0, drafts: draft(1), taken: 1, children });
      const inbox = await client.query<{ gone: boolean }>(
        "SELECT body IS NULL AS gone FROM inbox WHERE task_id = $1 ORDER BY seq",
        [taskId],
      );
      assert.deepEqual(
        inbox.rows.map((row) => row.gone),
        [true, false],
      );
      assert.equal(await eventsOf(arena, child), 1);
      await append(client, way, { taskId, fence: 1, revision: 0, drafts: draft(2), columns: { status: "ended" } });
      assert.equal((await post(client, itemOf(taskId, "a", "a"))).duplicate, true);
      assert.equal((await post(client, itemOf(taskId, "b", "b"))).code, "ended");
      assert.equal((await rowOf(arena, taskId))["wake_at"], null);
    },
  ],
];
