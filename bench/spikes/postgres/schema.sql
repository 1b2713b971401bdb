-- The store's tables as the spike proves them. Every key leads with the task id; text compares by bytes (COLLATE "C").
-- Bodies, hashes and keys' hashes are bytea: JSON text may hold what a text column refuses once it is sealed.

-- Tasks that the same workers may claim: one queue and one set of requirements (sorted). Few.
CREATE TABLE lanes (
  lane integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue text NOT NULL,
  requires text[] NOT NULL,
  UNIQUE (queue, requires)
);

CREATE TABLE tasks (
  task_id text COLLATE "C" PRIMARY KEY,
  agent text NOT NULL,
  owner text NOT NULL,
  place text NOT NULL,
  root text NOT NULL,
  parent text,
  history_from text COLLATE "C",
  status text NOT NULL,
  waiting_on text,
  outcome text,
  reason text,
  lane integer NOT NULL,
  priority integer NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  last_seq integer NOT NULL,
  chain bytea NOT NULL,
  revision integer NOT NULL DEFAULT 0,
  redactions integer NOT NULL DEFAULT 0,
  inbox_seq integer NOT NULL DEFAULT 0,
  inbox_taken integer NOT NULL DEFAULT 0,
  next_timer_at bigint,
  fence integer NOT NULL DEFAULT 0,
  claimed_by text,
  -- When the newest claim ends or ended; 0 before the first.
  lease_until bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  held_build text,
  held_until bigint,
  -- Since when there has been something to do.
  ready_at bigint NOT NULL,
  -- From when the task may be claimed; null while there is nothing to do. No statement can forget to keep it.
  wake_at bigint GENERATED ALWAYS AS (
    CASE
      WHEN status IN ('ended', 'forgotten') THEN NULL
      WHEN inbox_seq > inbox_taken OR status IN ('ready', 'running') THEN greatest(ready_at, lease_until)
      WHEN next_timer_at IS NULL THEN NULL
      ELSE greatest(next_timer_at, lease_until)
    END
  ) STORED
) WITH (fillfactor = 70);
CREATE INDEX tasks_wake ON tasks (lane, priority DESC, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX tasks_forks ON tasks (history_from) WHERE history_from IS NOT NULL;

CREATE TABLE creation_keys (
  owner text COLLATE "C",
  place text COLLATE "C",
  key text COLLATE "C",
  task_id text NOT NULL,
  PRIMARY KEY (owner, place, key)
);

CREATE TABLE events (
  task_id text COLLATE "C",
  seq integer,
  at bigint NOT NULL,
  type text NOT NULL,
  body bytea NOT NULL,
  salt bytea,
  digest bytea NOT NULL,
  chain bytea NOT NULL,
  PRIMARY KEY (task_id, seq)
);

-- A moved timer has no body: its words are its id and time, which are no content.
CREATE TABLE inbox (
  task_id text COLLATE "C",
  seq integer,
  at bigint NOT NULL,
  by text NOT NULL,
  key text COLLATE "C" NOT NULL,
  salt bytea,
  hash bytea,
  body bytea,
  PRIMARY KEY (task_id, seq),
  UNIQUE (task_id, key)
) WITH (fillfactor = 70);

CREATE TABLE redactions (
  task_id text COLLATE "C",
  n integer,
  seq integer NOT NULL,
  digest bytea NOT NULL,
  chain bytea NOT NULL,
  PRIMARY KEY (task_id, n)
);

CREATE TABLE snapshots (
  task_id text COLLATE "C",
  version text COLLATE "C",
  seq integer NOT NULL,
  revision integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (task_id, version)
);

CREATE TABLE secrets (task_id text COLLATE "C" PRIMARY KEY, secret bytea NOT NULL);

CREATE TABLE timers (
  task_id text COLLATE "C",
  key text COLLATE "C",
  due_at bigint NOT NULL,
  call_id text,
  seq integer NOT NULL,
  -- Already in the inbox, not yet taken.
  moved boolean NOT NULL DEFAULT false,
  PRIMARY KEY (task_id, key)
);

CREATE TABLE actions (
  task_id text COLLATE "C",
  key text COLLATE "C",
  name text,
  effect text,
  status text,
  invocation_id text,
  attempt integer,
  started_seq integer,
  unknown_seq integer,
  settled_seq integer,
  finished_seq integer,
  PRIMARY KEY (task_id, key)
);

CREATE TABLE usage (
  task_id text COLLATE "C",
  key text COLLATE "C",
  purpose text,
  model text,
  calls integer,
  input bigint,
  output bigint,
  duration_ms bigint,
  PRIMARY KEY (task_id, key)
);

-- One row per source, shared by all tasks: the newest version that is known, or that it was deleted.
CREATE TABLE source_states (
  source text COLLATE "C" PRIMARY KEY,
  version text,
  deleted boolean NOT NULL DEFAULT false
);

-- Milliseconds of the database's own clock, read when it is called and not when the transaction began.
CREATE FUNCTION clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
  RETURN (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
CREATE FUNCTION statement_ms() RETURNS bigint LANGUAGE sql STABLE
  RETURN (extract(epoch FROM statement_timestamp()) * 1000)::bigint;
