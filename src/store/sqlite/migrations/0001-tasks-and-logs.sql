-- Tasks, their logs and inboxes, and what is kept beside them. Columns bear the names of the store port.
--
-- Content (what people, models and tools said) stands in events, inbox, snapshots and chunks alone. To those tables rows
-- are only added, at the end; a row is blanked in place, never deleted and never made longer. SQLite's secure_delete
-- zeroes what a row gives up, but when rows move between pages it leaves copies behind (measured), and so none may move.

-- One row: the epoch, and the newest time that was given out (see store-clock.ts).
CREATE TABLE place (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  epoch INTEGER NOT NULL,
  wall INTEGER NOT NULL,
  monotonic INTEGER NOT NULL,
  boot TEXT NOT NULL
) STRICT;
INSERT INTO place VALUES (1, 1, 0, 0, '');

-- Tasks that the same workers may claim: one queue and one set of requirements (sorted, JSON). Few.
CREATE TABLE lanes (
  lane INTEGER PRIMARY KEY,
  queue TEXT NOT NULL,
  requires TEXT NOT NULL,
  UNIQUE (queue, requires)
) STRICT;

CREATE TABLE tasks (
  task INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  -- The key of its creation, the place it was given at, and the last seq of the first receipt.
  key TEXT,
  keyPlace TEXT NOT NULL,
  firstSeq INTEGER NOT NULL,
  agent TEXT NOT NULL,
  owner TEXT NOT NULL,
  frontEnd TEXT NOT NULL,
  place TEXT NOT NULL,
  conversation TEXT NOT NULL,
  private INTEGER NOT NULL,
  parent TEXT,
  root TEXT NOT NULL,
  historyFrom TEXT,
  mode TEXT NOT NULL,
  status TEXT NOT NULL,
  waitingOn TEXT,
  outcome TEXT,
  reason TEXT,
  lane INTEGER NOT NULL REFERENCES lanes,
  priority INTEGER NOT NULL,
  createdAt INTEGER NOT NULL,
  updatedAt INTEGER NOT NULL,
  lastSeq INTEGER NOT NULL,
  head BLOB NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  redactions INTEGER NOT NULL DEFAULT 0,
  inboxSeq INTEGER NOT NULL DEFAULT 0,
  inboxTaken INTEGER NOT NULL DEFAULT 0,
  -- The earliest timer that is not in the inbox yet.
  nextTimerAt INTEGER,
  fence INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  -- Whoever holds the fence, also after the lease ran out; null once it was given back.
  claimedBy TEXT,
  -- The lease: its end by the monotonic clock of a boot and by the store's clock. Null when it is over.
  leaseUntil INTEGER,
  leaseBoot TEXT,
  leaseEndsAt INTEGER,
  previousEndedAt INTEGER,
  -- Since when, or from when on, it may be claimed. Null while it is leased, waits for something to come, or has ended.
  readyAt INTEGER
) STRICT;
CREATE UNIQUE INDEX tasksByKey ON tasks (owner, keyPlace, key) WHERE key IS NOT NULL;
CREATE INDEX tasksReady ON tasks (lane, priority DESC, readyAt) WHERE readyAt IS NOT NULL;
CREATE INDEX tasksLeased ON tasks (leaseUntil, leaseBoot, leaseEndsAt) WHERE leaseUntil IS NOT NULL;
CREATE INDEX tasksByOwner ON tasks (owner);
CREATE INDEX tasksByPlace ON tasks (place);
CREATE INDEX tasksByParent ON tasks (parent) WHERE parent IS NOT NULL;
CREATE INDEX tasksBySource ON tasks (historyFrom) WHERE historyFrom IS NOT NULL;
CREATE INDEX tasksByStatus ON tasks (status);

-- Kept outside the log, so that hashes of content die with it.
CREATE TABLE secrets (
  task INTEGER PRIMARY KEY REFERENCES tasks,
  secret BLOB NOT NULL
) STRICT;

-- Ids that were forgotten: no late writer may bring one back.
CREATE TABLE forgotten (
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- The builds that set a task aside. The newest hold has the greatest number.
CREATE TABLE holds (
  hold INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  build TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  until INTEGER NOT NULL,
  UNIQUE (task, build)
) STRICT;

CREATE TABLE types (
  type INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO types (name) VALUES
  ('TaskCreated'), ('InputTaken'), ('ModelCalled'), ('ModelReplied'), ('ToolStarted'),
  ('ToolFinished'), ('Compacted'), ('Waiting'), ('TaskEnded'), ('ExtensionRecorded');

-- The digest is not kept: it is SHA-256 (salt, body), and the chain covers it. Of a redacted event salt and body are
-- blank; its skeleton and its digest stand in redactions.
CREATE TABLE events (
  event INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type INTEGER NOT NULL REFERENCES types,
  salt BLOB,
  chain BLOB NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (task, seq)
) STRICT;

CREATE TABLE redactions (
  redaction INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  n INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  eventDigest BLOB NOT NULL,
  digest BLOB NOT NULL,
  chain BLOB NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (task, n)
) STRICT;

-- A taken item's body is blank. Its hash is kept until a redaction makes it incomparable.
CREATE TABLE inbox (
  item INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  key TEXT NOT NULL,
  hash BLOB,
  body BLOB,
  UNIQUE (task, seq),
  UNIQUE (task, key)
) STRICT;

-- A snapshot that was replaced has no bytes.
CREATE TABLE snapshots (
  snapshot INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  version TEXT NOT NULL,
  seq INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  bytes BLOB
) STRICT;
CREATE UNIQUE INDEX snapshotsKept ON snapshots (task, version) WHERE bytes IS NOT NULL;

CREATE TABLE files (
  file INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks,
  name TEXT NOT NULL,
  mediaType TEXT NOT NULL,
  size INTEGER NOT NULL,
  UNIQUE (task, name)
) STRICT;

-- A chunk of no file is blank: its file was replaced.
CREATE TABLE chunks (
  chunk INTEGER PRIMARY KEY,
  file INTEGER REFERENCES files,
  n INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX chunksOfFile ON chunks (file, n) WHERE file IS NOT NULL;

CREATE TABLE definitions (
  definition INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE definitionUses (
  task INTEGER NOT NULL REFERENCES tasks,
  definition INTEGER NOT NULL REFERENCES definitions,
  PRIMARY KEY (task, definition)
) STRICT, WITHOUT ROWID;
