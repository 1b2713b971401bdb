-- What the plan plugin's records project: pointers to the newest record of a plan, a goal and a note.

CREATE TABLE plans (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  version INTEGER,
  seq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE goals (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  status TEXT,
  seq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;

CREATE TABLE notes (
  task INTEGER NOT NULL REFERENCES tasks,
  key TEXT NOT NULL,
  seq INTEGER,
  PRIMARY KEY (task, key)
) WITHOUT ROWID;
