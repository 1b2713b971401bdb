-- Tasks, their logs and inboxes, and what is kept beside them. `perdure.` stands for the schema of the store; whoever
-- applies this file puts the real one in its place. Columns bear the names of the store port.
--
-- Content (what people, models and tools said) stands in events, inbox, snapshots and chunks alone, as bytes. Text compares
-- by bytes. NUL and lone surrogates, which no text column takes, are written as \x1a and four hex digits (text.ts).

-- One row: the epoch, the schema's version, the cluster that this is and when its server started (0003), and how many
-- partitions the events were made with (partitions.ts). Null: one table.
CREATE TABLE perdure.place (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL,
  version integer NOT NULL,
  partitions integer,
  server_started timestamptz,
  system_id text
);
INSERT INTO perdure.place (epoch, version) VALUES (1, 0);

-- The journal of erasures stands in a schema of its own, which no backup holds and which stays when the other is replaced.
CREATE TABLE IF NOT EXISTS perdure_erasures.journal (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  line text COLLATE "C" NOT NULL
);

-- Restores since the first epoch, each with the time of its backup.
CREATE TABLE perdure.restores (
  epoch bigint PRIMARY KEY,
  backup_at bigint NOT NULL
);

-- Tasks that the same workers may claim: one queue and one set of requirements (sorted). Few.
CREATE TABLE perdure.lanes (
  lane integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue text COLLATE "C" NOT NULL,
  requires text[] COLLATE "C" NOT NULL,
  UNIQUE (queue, requires)
);

-- A row is changed by every append and stays on its page when no indexed column changes: hence the room on the pages, and
-- `is_over` in an index where `status` would change with every turn.
CREATE TABLE perdure.tasks (
  task bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- The earliest timer that is not in the inbox yet.
  next_timer_at bigint,
  fence bigint NOT NULL DEFAULT 0,
  -- The end of the lease. Null when it is over.
  lease_until bigint,
  previous_ended_at bigint,
  -- Since when an unleased task with something to do has had it.
  since bigint NOT NULL,
  priority bigint NOT NULL,
  lane integer NOT NULL REFERENCES perdure.lanes,
  last_seq integer NOT NULL,
  -- The last seq of the first receipt.
  first_seq integer NOT NULL,
  revision integer NOT NULL DEFAULT 0,
  redactions integer NOT NULL DEFAULT 0,
  inbox_seq integer NOT NULL DEFAULT 0,
  inbox_taken integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  -- The one that it was created in, until its log tells of a later one.
  epoch bigint NOT NULL,
  -- Of a task that was imported, until its log tells of it: the time of the bundle.
  bundle_at bigint,
  private boolean NOT NULL,
  -- Its turn may have gone on after the backup that it was restored from, and its log does not tell of that yet.
  untold boolean NOT NULL DEFAULT false,
  head bytea NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE,
  -- The key of its creation, and the place it was given at.
  key text COLLATE "C",
  key_place text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  front_end text COLLATE "C" NOT NULL,
  place text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  parent text COLLATE "C",
  root text COLLATE "C" NOT NULL,
  history_from text COLLATE "C",
  mode text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  waiting_on text COLLATE "C",
  outcome text COLLATE "C",
  reason text COLLATE "C",
  -- Whoever holds the fence, also after the lease ran out; null once it was given back.
  claimed_by text COLLATE "C",
  -- Since when, or from when on, it may be claimed. Null while it is leased, waits for something to come, or has ended.
  ready_at bigint GENERATED ALWAYS AS (
    CASE
      WHEN lease_until IS NOT NULL OR status = 'ended' THEN NULL
      WHEN status <> 'waiting' OR inbox_seq > inbox_taken OR untold THEN since
      ELSE next_timer_at
    END
  ) STORED,
  is_over boolean GENERATED ALWAYS AS (status = 'ended') STORED
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX tasks_by_key ON perdure.tasks (owner, key_place, key) WHERE key IS NOT NULL;
CREATE INDEX tasks_ready ON perdure.tasks (lane, priority DESC, ready_at, task) WHERE ready_at IS NOT NULL;
CREATE INDEX tasks_ready_by_owner ON perdure.tasks (lane, priority DESC, owner, ready_at, task) WHERE ready_at IS NOT NULL;
CREATE INDEX tasks_leased ON perdure.tasks (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tasks_leased_by_owner ON perdure.tasks (owner, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tasks_by_owner ON perdure.tasks (owner, task);
CREATE INDEX tasks_by_place ON perdure.tasks (place, task);
CREATE INDEX tasks_by_parent ON perdure.tasks (parent, task) WHERE parent IS NOT NULL;
CREATE INDEX tasks_by_source ON perdure.tasks (history_from) WHERE history_from IS NOT NULL;
CREATE INDEX tasks_open ON perdure.tasks (task) WHERE NOT is_over;

-- Kept outside the log, so that hashes of content die with it.
CREATE TABLE perdure.secrets (
  task bigint PRIMARY KEY,
  secret bytea NOT NULL
);

-- Ids that were forgotten: no late writer may bring one back.
CREATE TABLE perdure.forgotten (
  id text COLLATE "C" PRIMARY KEY
);

-- Ids of tasks that were pruned. They may not come back.
CREATE TABLE perdure.pruned (
  id text COLLATE "C" PRIMARY KEY
);

-- The builds that set a task aside. The newest hold has the greatest number.
CREATE TABLE perdure.holds (
  hold bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  task bigint NOT NULL,
  at bigint NOT NULL,
  until bigint NOT NULL,
  count integer NOT NULL,
  build text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  UNIQUE (task, build)
);

CREATE TABLE perdure.types (
  type smallint PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);
INSERT INTO perdure.types VALUES
  (1, 'TaskCreated'), (2, 'InputTaken'), (3, 'ModelCalled'), (4, 'ModelReplied'), (5, 'ToolStarted'),
  (6, 'ToolFinished'), (7, 'Compacted'), (8, 'Waiting'), (9, 'TaskEnded'), (10, 'ExtensionRecorded');

-- The digest is not kept: it is SHA-256 (salt, body), and the chain covers it. A redacted event has no salt, its skeleton
-- as its body, and its digest in redactions. Columns stand in an order that needs no padding.
CREATE TABLE perdure.events (
  task bigint NOT NULL,
  at bigint NOT NULL,
  seq integer NOT NULL,
  type smallint NOT NULL,
  salt bytea,
  chain bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (task, seq)
);

CREATE TABLE perdure.redactions (
  task bigint NOT NULL,
  n integer NOT NULL,
  seq integer NOT NULL,
  event_digest bytea NOT NULL,
  digest bytea NOT NULL,
  chain bytea NOT NULL,
  PRIMARY KEY (task, n)
);
CREATE UNIQUE INDEX redactions_by_seq ON perdure.redactions (task, seq);

-- A taken item's body is blank. Its hash is kept until a redaction makes it incomparable. A timer that was moved in has its
-- time in place of both.
CREATE TABLE perdure.inbox (
  task bigint NOT NULL,
  at bigint NOT NULL,
  due_at bigint,
  seq integer NOT NULL,
  by text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  hash bytea,
  body bytea,
  PRIMARY KEY (task, seq),
  UNIQUE (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.snapshots (
  snapshot bigint GENERATED BY DEFAULT AS IDENTITY,
  task bigint NOT NULL,
  seq integer NOT NULL,
  revision integer NOT NULL,
  version text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (task, version)
);
-- They come compressed.
ALTER TABLE perdure.snapshots ALTER bytes SET STORAGE EXTERNAL;

CREATE TABLE perdure.files (
  file bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task bigint NOT NULL,
  size bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  media_type text COLLATE "C" NOT NULL,
  UNIQUE (task, name)
);

CREATE TABLE perdure.chunks (
  file bigint NOT NULL REFERENCES perdure.files ON DELETE CASCADE,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (file, n)
);

CREATE TABLE perdure.definitions (
  definition bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  text text COLLATE "C" NOT NULL
);

CREATE TABLE perdure.definition_uses (
  task bigint NOT NULL,
  definition bigint NOT NULL REFERENCES perdure.definitions,
  PRIMARY KEY (task, definition)
);
