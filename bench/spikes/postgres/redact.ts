// Redaction: several statements in one transaction. The first one locks, so that all others see what came before it.
import type pg from "pg";

/**
 * Locks a task and every task that folds it through `history_from`, and returns their ids. A creation with `history_from`
 * locks its source for share; so a fork that this collection does not see yet is waited for, and seen the next time.
 */
const lockForks = async (client: pg.Client, taskId: string): Promise<string[]> => {
  let known = [taskId];
  for (;;) {
    await client.query("SELECT FROM tasks WHERE task_id = ANY($1) ORDER BY task_id FOR NO KEY UPDATE", [known]);
    const found = await client.query<{ task_id: string }>(
      `WITH RECURSIVE fold AS (
         SELECT $1::text COLLATE "C" AS task_id
         UNION SELECT t.task_id FROM tasks t JOIN fold f ON t.history_from = f.task_id)
       SELECT task_id FROM fold`,
      [taskId],
    );
    if (found.rows.length === known.length) return known;
    known = found.rows.map((row) => row.task_id);
  }
};

export interface Skeleton {
  readonly seq: number;
  readonly body: string;
  readonly digest: Uint8Array;
}

/** Replaces bodies, keeps the list of redactions, and raises every revision that the old words may have reached. */
export const redact = async (
  client: pg.Client,
  taskId: string,
  skeletons: readonly Skeleton[],
  secret: Uint8Array,
): Promise<void> => {
  const seqs = skeletons.map((skeleton) => skeleton.seq);
  await client.query("BEGIN");
  const forks = await lockForks(client, taskId);
  await client.query(
    `UPDATE events e SET body = convert_to(r.body, 'UTF8'), salt = NULL
     FROM unnest($2::integer[], $3::text[]) AS r (seq, body) WHERE e.task_id = $1 AND e.seq = r.seq`,
    [taskId, seqs, skeletons.map((skeleton) => skeleton.body)],
  );
  await client.query(
    `INSERT INTO redactions (task_id, n, seq, digest, chain)
     SELECT $1, t.redactions + r.n, r.seq, r.digest, r.digest
     FROM tasks t, unnest($2::integer[], $3::bytea[]) WITH ORDINALITY AS r (seq, digest, n) WHERE t.task_id = $1`,
    [taskId, seqs, skeletons.map((skeleton) => skeleton.digest)],
  );
  await client.query("DELETE FROM snapshots WHERE task_id = $1", [taskId]);
  await client.query("UPDATE secrets SET secret = $2 WHERE task_id = $1", [taskId, secret]);
  await client.query("UPDATE inbox SET salt = NULL, hash = NULL WHERE task_id = $1 AND body IS NULL", [taskId]);
  await client.query("UPDATE tasks SET redactions = redactions + $2 WHERE task_id = $1", [taskId, seqs.length]);
  await client.query("UPDATE tasks SET revision = revision + 1 WHERE task_id = ANY($1)", [forks]);
  await client.query("COMMIT");
};

/** A fork's row: created only while its source's row is locked for share (see lockForks). */
export const forkText = `WITH source AS MATERIALIZED (SELECT * FROM tasks WHERE task_id = $2 FOR SHARE)
  INSERT INTO tasks (task_id, agent, owner, place, root, history_from, status, lane, created_at, updated_at, ready_at,
    last_seq, chain)
  SELECT $1, agent, owner, place, $1, task_id, 'ready', lane, clock_ms(), clock_ms(), clock_ms(), 0, '' FROM source`;
