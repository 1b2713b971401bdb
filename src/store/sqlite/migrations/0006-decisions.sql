-- What is known of a request for a decision beside its projection (decision 0010): the newest controls of each front end,
-- and the decision that counts. Ids, numbers and who decided; no words.

CREATE TABLE showings (
  task INTEGER NOT NULL REFERENCES tasks,
  request TEXT NOT NULL,
  frontEnd TEXT NOT NULL,
  showing INTEGER NOT NULL,
  PRIMARY KEY (task, request, frontEnd)
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
  task INTEGER NOT NULL REFERENCES tasks,
  request TEXT NOT NULL,
  decision TEXT NOT NULL,
  by TEXT NOT NULL,
  at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (task, request)
) STRICT, WITHOUT ROWID;
