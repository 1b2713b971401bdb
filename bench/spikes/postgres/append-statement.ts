// The append as one statement of common table expressions, composed of just the parts that an append needs.
// Everything is decided from rows that this statement has locked: a table that is only read shows the statement's
// snapshot, which is older than the lock whenever the lock had to be waited for.
import type { Append } from "./shapes.ts";

/** Columns of `tasks` by their names in the port. */
const columnNames = { status: "status", waitingOn: "waiting_on", outcome: "outcome", reason: "reason" } as const;

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

class Parameters {
  readonly values: unknown[] = [];
  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${String(this.values.length)}::${type}`;
  }
}

/** Locks the task and whatever it posts to, in one order for everyone, so that no two appends wait for each other. */
const lockPart = (append: Append, task: string, $: Parameters): string => {
  const columns =
    "task_id, status, fence, last_seq, revision, inbox_seq, inbox_taken, next_timer_at, updated_at, ready_at";
  const posts = append.posts ?? [];
  const which =
    posts.length === 0
      ? `task_id = ${task}`
      : `task_id = ANY(${$.add([append.taskId, ...posts.map((post) => post.taskId)], "text[]")}) ORDER BY task_id`;
  return `locked AS MATERIALIZED (SELECT ${columns} FROM tasks WHERE ${which} FOR NO KEY UPDATE)`;
};

/** Shares the lock of every source that the drafts carry; a deletion waits for this append, or this append sees it. */
const sourcesPart = (append: Append, $: Parameters): string[] => {
  if (append.sources === undefined) return [];
  return [
    `source AS MATERIALIZED (SELECT count(*) AS known, count(*) FILTER (WHERE deleted) AS deleted FROM (
       SELECT deleted FROM source_states WHERE source = ANY(${$.add(append.sources, "text[]")})
         AND (SELECT count(*) FROM locked) > 0 ORDER BY source FOR SHARE) seen)`,
  ];
};

const guardPart = (append: Append, task: string, $: Parameters): string => {
  const sources = append.sources ?? [];
  const seen = append.inboxSeen === undefined ? undefined : $.add(append.inboxSeen, "integer");
  const whens = [
    "WHEN l.task_id IS NULL THEN 'not_found'",
    "WHEN l.status = 'forgotten' THEN 'forgotten'",
    `WHEN l.fence <> ${$.add(append.fence, "integer")} THEN 'not_owner'`,
    "WHEN l.status = 'ended' THEN 'ended'",
    `WHEN l.last_seq <> ${$.add((append.drafts[0]?.seq ?? 1) - 1, "integer")} THEN 'conflict'`,
    `WHEN l.revision <> ${$.add(append.revision, "integer")} THEN 'redacted'`,
    ...(sources.length === 0
      ? []
      : [
          "WHEN source.deleted > 0 THEN 'redacted'",
          `WHEN source.known <> ${$.add(sources.length, "integer")} THEN 'unknown_source'`,
        ]),
    ...(seen === undefined ? [] : [`WHEN l.inbox_seq > ${seen} OR l.next_timer_at <= clock.now THEN 'inbox_moved'`]),
  ];
  return `clock AS MATERIALIZED (SELECT clock_ms() AS now, count(*) FROM locked),
    guard AS MATERIALIZED (SELECT CASE ${whens.join(" ")} ELSE 'ok' END AS code, l.*,
      greatest(clock.now, l.updated_at) AS at
      FROM clock LEFT JOIN locked l ON l.task_id = ${task}${sources.length === 0 ? "" : " CROSS JOIN source"})`;
};

const eventsPart = (append: Append, task: string, $: Parameters): string => {
  const { drafts } = append;
  const arrays = [
    $.add(
      drafts.map((draft) => draft.seq),
      "integer[]",
    ),
    $.add(
      drafts.map((draft) => draft.type),
      "text[]",
    ),
    $.add(
      drafts.map((draft) => Buffer.from(draft.body)),
      "bytea[]",
    ),
    ...(["salt", "digest", "chain"] as const).map((name) =>
      $.add(
        drafts.map((draft) => draft[name]),
        "bytea[]",
      ),
    ),
  ];
  return `event AS (INSERT INTO events (task_id, seq, at, type, body, salt, digest, chain)
    SELECT ${task}, e.seq, guard.at, e.type, e.body, e.salt, e.digest, e.chain
    FROM guard, unnest(${arrays.join(", ")}) AS e (seq, type, body, salt, digest, chain) WHERE guard.code = 'ok')`;
};

const rowPart = (append: Append, task: string, $: Parameters): string => {
  const last = append.drafts.at(-1);
  const sets = [
    `last_seq = ${$.add(last?.seq, "integer")}`,
    `chain = ${$.add(last?.chain, "bytea")}`,
    "updated_at = guard.at",
    ...Object.entries(append.columns ?? {}).map(
      ([name, value]) => `${columnNames[name as keyof typeof columnNames]} = ${$.add(value, "text")}`,
    ),
    ...(append.taken === undefined ? [] : [`inbox_taken = ${$.add(append.taken, "integer")}`]),
    // Timers change only under this fence and at this seq, so the statement's snapshot of them is no older than the lock.
    ...(append.timers === undefined
      ? []
      : [
          `next_timer_at = (SELECT min(due_at) FROM (
             SELECT due_at FROM timers WHERE task_id = ${task} AND NOT moved AND key <> ALL(${$.add(
               append.timers.map((timer) => timer.key),
               "text[]",
             )})
             UNION ALL SELECT unnest(${$.add(
               append.timers.flatMap((timer) => timer.dueAt ?? []),
               "bigint[]",
             )})) AS due)`,
        ]),
  ];
  return `row AS (UPDATE tasks t SET ${sets.join(", ")} FROM guard WHERE t.task_id = ${task} AND guard.code = 'ok'
    RETURNING t.next_timer_at)`;
};

const takenPart = (append: Append, task: string, $: Parameters): string[] => {
  if (append.taken === undefined) return [];
  return [
    `taken AS (UPDATE inbox i SET body = NULL FROM guard WHERE guard.code = 'ok' AND i.task_id = ${task}
       AND i.seq > guard.inbox_taken AND i.seq <= ${$.add(append.taken, "integer")})`,
  ];
};

/** The rows of a projection, as JSON: `{"key": …, <column>: …}`; a column that is absent stays as it is. */
const upsertPart = (
  table: string,
  columns: readonly (readonly [name: string, type: string])[],
  rows: readonly unknown[],
  task: string,
  $: Parameters,
): string => {
  const names = columns.map(([name]) => name);
  const merged = names.map((name) => `${name} = coalesce(excluded.${name}, ${table}.${name})`);
  const record = columns.map(([name, type]) => `${name} ${type}`);
  return `${table}_row AS (INSERT INTO ${table} (task_id, key, ${names.join(", ")})
    SELECT ${task}, r.key, ${names.map((name) => `r.${name}`).join(", ")} FROM guard,
      jsonb_to_recordset(${$.add(JSON.stringify(rows), "jsonb")}) AS r (key text, ${record.join(", ")})
    WHERE guard.code = 'ok' ON CONFLICT (task_id, key) DO UPDATE SET ${merged.join(", ")})`;
};

const projectionParts = (append: Append, task: string, $: Parameters): string[] => {
  const parts: string[] = [];
  if (append.usage !== undefined) {
    const counts = ["calls", "input", "output", "duration_ms"].map((name) => [name, "bigint"] as const);
    parts.push(upsertPart("usage", [["purpose", "text"], ["model", "text"], ...counts], append.usage, task, $));
  }
  const set = append.timers?.filter((timer) => timer.dueAt !== null) ?? [];
  const gone = append.timers?.filter((timer) => timer.dueAt === null).map((timer) => timer.key) ?? [];
  if (set.length > 0) {
    const rows = set.map(({ key, dueAt, seq }) => ({ key, due_at: dueAt, seq }));
    const columns = [
      ["due_at", "bigint"],
      ["seq", "integer"],
    ] as const;
    parts.push(upsertPart("timers", columns, rows, task, $));
  }
  if (gone.length > 0) {
    const keys = $.add(gone, "text[]");
    parts.push(
      `gone AS (DELETE FROM timers x USING guard WHERE guard.code = 'ok' AND x.task_id = ${task} AND x.key = ANY(${keys}))`,
    );
  }
  return parts;
};

/** Items for other tasks. One that is gone or ended, and a key that is there already, drop theirs. */
const postsPart = (append: Append, $: Parameters): string[] => {
  const posts = append.posts ?? [];
  if (posts.length === 0) return [];
  const arrays = [
    ...(["taskId", "by", "key"] as const).map((name) =>
      $.add(
        posts.map((post) => post[name]),
        "text[]",
      ),
    ),
    ...(["body", "salt", "hash"] as const).map((name) =>
      $.add(
        posts.map((post) => post[name]),
        "bytea[]",
      ),
    ),
  ];
  return [
    `item AS (INSERT INTO inbox (task_id, seq, at, by, key, body, salt, hash)
       SELECT l.task_id, l.inbox_seq + row_number() OVER (PARTITION BY l.task_id ORDER BY p.n), guard.at,
         p.by, p.key, p.body, p.salt, p.hash
       FROM guard, unnest(${arrays.join(", ")}) WITH ORDINALITY AS p (task_id, by, key, body, salt, hash, n)
       JOIN locked l ON l.task_id = p.task_id AND l.status NOT IN ('ended', 'forgotten')
       WHERE guard.code = 'ok' ON CONFLICT (task_id, key) DO NOTHING RETURNING task_id, seq, at)`,
    `woken AS (UPDATE tasks t SET inbox_seq = n.seq,
         ready_at = CASE WHEN t.inbox_seq > t.inbox_taken THEN t.ready_at ELSE n.at END
       FROM (SELECT task_id, max(seq) AS seq, max(at) AS at FROM item GROUP BY task_id) n WHERE t.task_id = n.task_id)`,
  ];
};

const childrenParts = (append: Append, $: Parameters): string[] => {
  const children = append.children ?? [];
  if (children.length === 0) return [];
  const child = children.map(({ taskId, drafts }) => ({
    task_id: taskId,
    last_seq: drafts.length,
    chain: Buffer.from(drafts.at(-1)?.chain ?? []).toString("hex"),
  }));
  const events = children.flatMap(({ taskId, drafts }) =>
    drafts.map((draft) => ({
      task_id: taskId,
      seq: draft.seq,
      type: draft.type,
      body: draft.body,
      ...Object.fromEntries(
        (["salt", "digest", "chain"] as const).map((name) => [name, Buffer.from(draft[name]).toString("hex")]),
      ),
    })),
  );
  return [
    `child AS (INSERT INTO tasks (task_id, agent, owner, place, root, parent, status, lane, created_at, updated_at,
         ready_at, last_seq, chain)
       SELECT c.task_id, p.agent, p.owner, p.place, p.root, p.task_id, 'ready', p.lane, g.at, g.at, g.at,
         c.last_seq, decode(c.chain, 'hex')
       FROM guard g JOIN tasks p ON p.task_id = g.task_id, jsonb_to_recordset(${$.add(JSON.stringify(child), "jsonb")})
         AS c (task_id text, last_seq integer, chain text) WHERE g.code = 'ok')`,
    `child_event AS (INSERT INTO events (task_id, seq, at, type, body, salt, digest, chain)
       SELECT e.task_id, e.seq, g.at, e.type, convert_to(e.body, 'UTF8'), decode(e.salt, 'hex'),
         decode(e.digest, 'hex'), decode(e.chain, 'hex')
       FROM guard g, json_to_recordset(${$.add(JSON.stringify(events), "json")}) AS e (task_id text, seq integer,
         type text, body text, salt text, digest text, chain text) WHERE g.code = 'ok')`,
  ];
};

const endParts = (append: Append, task: string): string[] =>
  append.columns?.status === "ended"
    ? [
        `snapshot AS (DELETE FROM snapshots s USING guard WHERE guard.code = 'ok' AND s.task_id = ${task})`,
        `timer AS (DELETE FROM timers x USING guard WHERE guard.code = 'ok' AND x.task_id = ${task})`,
      ]
    : [];

/** One statement that does all of `append` or nothing, and returns one row: the code, and the receipt when it is `ok`. */
export const appendStatement = (append: Append): Statement => {
  const $ = new Parameters();
  const task = $.add(append.taskId, "text");
  const parts = [
    lockPart(append, task, $),
    ...sourcesPart(append, $),
    guardPart(append, task, $),
    eventsPart(append, task, $),
    rowPart(append, task, $),
    ...takenPart(append, task, $),
    ...projectionParts(append, task, $),
    ...postsPart(append, $),
    ...childrenParts(append, $),
    ...endParts(append, task),
  ];
  const text = `WITH ${parts.join(",\n")}
    SELECT guard.code, guard.at, guard.inbox_seq, coalesce(row.next_timer_at <= guard.at, false) AS timer_due
    FROM guard LEFT JOIN row ON true`;
  return { text, values: $.values };
};
