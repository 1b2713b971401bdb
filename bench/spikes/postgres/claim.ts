// Claim, load, renew, release and redact as the spike proves them.
import type pg from "pg";

export interface Claimed {
  readonly task_id: string;
  readonly fence: number;
  readonly attempts: number;
  readonly last_seq: number;
  readonly revision: number;
  readonly inbox_seq: number;
  readonly previous_ended_at: string;
}

const pick = {
  // The newest version of the row decides: SKIP LOCKED passes over a row that is being changed, and a row that was
  // changed since this statement's snapshot is checked again before it is given out.
  next: `SELECT t.task_id, t.lease_until FROM lanes l, LATERAL (
      SELECT task_id, lease_until, priority, wake_at FROM tasks
      WHERE lane = l.lane AND wake_at <= statement_ms()
        AND (held_build IS NULL OR held_build <> $5 OR held_until <= statement_ms())
      ORDER BY priority DESC, wake_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) t
    WHERE l.requires <@ $3::text[] AND l.queue = ANY ($4::text[])
    ORDER BY t.priority DESC, t.wake_at LIMIT 1`,
  one: `SELECT t.task_id, t.lease_until FROM tasks t JOIN lanes l USING (lane)
    WHERE t.task_id = $4::text AND t.lease_until <= statement_ms() AND t.status NOT IN ('ended', 'forgotten')
      AND l.requires <@ $3::text[] AND (t.held_build IS NULL OR t.held_build <> $5 OR t.held_until <= statement_ms())
    FOR NO KEY UPDATE OF t`,
};

/** Takes one task: fence and attempts grow, the lease begins. Parameters: worker, lease (ms), offers, queues or task, build. */
export const claimText = (which: keyof typeof pick): string => `WITH picked AS MATERIALIZED (${pick[which]})
  UPDATE tasks t SET fence = t.fence + 1, claimed_by = $1, lease_until = clock_ms() + $2::bigint,
    attempts = t.attempts + 1, held_build = NULL, held_until = NULL
  FROM picked p WHERE t.task_id = p.task_id
  RETURNING t.task_id, t.fence, t.attempts, t.last_seq, t.revision, t.inbox_seq, p.lease_until AS previous_ended_at`;

/** The rest of a claim without its log: one row. The secret, and the untaken items in order. */
export const loadText = `SELECT t.last_seq, t.revision, t.inbox_seq, s.secret, i.items
  FROM tasks t LEFT JOIN secrets s USING (task_id), LATERAL (
    SELECT json_agg(json_build_object('seq', seq, 'at', at, 'by', by, 'key', key, 'body', convert_from(body, 'UTF8'))
      ORDER BY seq) AS items FROM inbox WHERE task_id = t.task_id AND body IS NOT NULL) i
  WHERE t.task_id = $1`;

/**
 * The log itself, read after the row: then a redaction in between shows in the log and not in the revision, and the first
 * append is refused. Read before the row, it would be the other way round, and nothing would refuse.
 */
export const eventsText =
  "SELECT seq, at, type, convert_from(body, 'UTF8') AS body FROM events WHERE task_id = $1 AND seq > $2 ORDER BY seq";

/** Claim and log in one statement, to show what it costs and what it misses. `before_*`: the row as its snapshot has it. */
export const claimAndLoadText = (which: keyof typeof pick): string => `WITH claimed AS (${claimText(which)})
  SELECT c.*, b.last_seq AS before_last_seq, e.bodies FROM claimed c LEFT JOIN tasks b ON b.task_id = c.task_id,
    LATERAL (SELECT array_agg(convert_from(body, 'UTF8')) AS bodies
      FROM (SELECT body FROM events WHERE task_id = c.task_id ORDER BY seq) o) e`;

export interface ClaimFor {
  readonly worker: string;
  readonly leaseMs: number;
  readonly offers: readonly string[];
  readonly build?: string;
  readonly taskId?: string;
}

export const claimValues = ({ worker, leaseMs, offers, build, taskId }: ClaimFor): unknown[] => [
  worker,
  leaseMs,
  offers,
  taskId ?? ["default"],
  build ?? "build-1",
];

export const claim = async (client: pg.Client, params: ClaimFor): Promise<Claimed | null> => {
  const which = params.taskId === undefined ? "next" : "one";
  const answer = await client.query<Claimed>({
    name: `claim-${which}`,
    text: claimText(which),
    values: claimValues(params),
  });
  return answer.rows[0] ?? null;
};

export const renew = async (client: pg.Client, taskId: string, fence: number, leaseMs: number): Promise<boolean> => {
  const text = "UPDATE tasks SET lease_until = clock_ms() + $3::bigint WHERE task_id = $1 AND fence = $2";
  const answer = await client.query({ name: "renew", text, values: [taskId, fence, leaseMs] });
  return answer.rowCount === 1;
};

/** Parks: the claim ends unless an item came that was not seen, or a timer is due. */
export const park = async (client: pg.Client, taskId: string, fence: number, seen: number): Promise<boolean> => {
  const text = `UPDATE tasks SET lease_until = clock_ms(), claimed_by = NULL, attempts = 0
    WHERE task_id = $1 AND fence = $2 AND inbox_seq <= $3 AND (next_timer_at IS NULL OR next_timer_at > clock_ms())`;
  const answer = await client.query({ name: "park", text, values: [taskId, fence, seen] });
  return answer.rowCount === 1;
};
