-- One table per entry of `projections` in core/project.ts, with its columns. They can be made again from the logs, so a
-- value of an unexpected type must never fail an append: the tables are not STRICT.

CREATE TABLE actions (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  name TEXT,
  effect TEXT,
  status TEXT,
  invocationId TEXT,
  attempt INTEGER,
  startedSeq INTEGER,
  unknownSeq INTEGER,
  settledSeq INTEGER,
  finishedSeq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE approvals (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  callId TEXT,
  status TEXT,
  decides TEXT,
  inputHash TEXT,
  definition TEXT,
  expiresAt INTEGER,
  requestedSeq INTEGER,
  settledSeq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE usage (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  purpose TEXT,
  model TEXT,
  calls INTEGER,
  failed INTEGER,
  unknown INTEGER,
  input INTEGER,
  output INTEGER,
  cacheRead INTEGER,
  cacheWrite INTEGER,
  reasoning INTEGER,
  durationMs INTEGER,
  priceEstimate REAL,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE sources (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  version TEXT,
  cursor TEXT,
  seq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE evidence (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  callId TEXT,
  source TEXT,
  version TEXT,
  seq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE collaborators (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  seq INTEGER,
  by TEXT,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE timers (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  dueAt INTEGER,
  callId TEXT,
  seq INTEGER,
  -- Beside the projection: the inbox seq it was given when it was due.
  inboxSeq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;
