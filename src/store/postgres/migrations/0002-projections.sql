-- One table per entry of `projections` in core/project.ts, with its columns in the names that they have there: a row comes
-- and goes as JSON. They can be made again from the logs, so a value must never fail an append: numbers are doubles.

CREATE TABLE perdure.actions (
  task bigint NOT NULL,
  "attempt" double precision,
  "startedSeq" double precision,
  "unknownSeq" double precision,
  "settledSeq" double precision,
  "finishedSeq" double precision,
  key text COLLATE "C" NOT NULL,
  "name" text COLLATE "C",
  "effect" text COLLATE "C",
  "status" text COLLATE "C",
  "invocationId" text COLLATE "C",
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.approvals (
  task bigint NOT NULL,
  "expiresAt" double precision,
  "requestedSeq" double precision,
  "settledSeq" double precision,
  key text COLLATE "C" NOT NULL,
  "callId" text COLLATE "C",
  "status" text COLLATE "C",
  "decides" text COLLATE "C",
  "inputHash" text COLLATE "C",
  "definition" text COLLATE "C",
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.usage (
  task bigint NOT NULL,
  "calls" double precision,
  "failed" double precision,
  "unknown" double precision,
  "input" double precision,
  "output" double precision,
  "cacheRead" double precision,
  "cacheWrite" double precision,
  "reasoning" double precision,
  "durationMs" double precision,
  "priceEstimate" double precision,
  key text COLLATE "C" NOT NULL,
  "purpose" text COLLATE "C",
  "model" text COLLATE "C",
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.sources (
  task bigint NOT NULL,
  "seq" double precision,
  key text COLLATE "C" NOT NULL,
  "version" text COLLATE "C",
  "cursor" text COLLATE "C",
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.evidence (
  task bigint NOT NULL,
  "seq" double precision,
  key text COLLATE "C" NOT NULL,
  "callId" text COLLATE "C",
  "source" text COLLATE "C",
  "version" text COLLATE "C",
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.collaborators (
  task bigint NOT NULL,
  "seq" double precision,
  key text COLLATE "C" NOT NULL,
  "by" text COLLATE "C",
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.plans (
  task bigint NOT NULL,
  "version" double precision,
  "seq" double precision,
  key text COLLATE "C" NOT NULL,
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.goals (
  task bigint NOT NULL,
  "seq" double precision,
  key text COLLATE "C" NOT NULL,
  "status" text COLLATE "C",
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.notes (
  task bigint NOT NULL,
  "seq" double precision,
  key text COLLATE "C" NOT NULL,
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);

CREATE TABLE perdure.timers (
  task bigint NOT NULL,
  "dueAt" double precision,
  "seq" double precision,
  key text COLLATE "C" NOT NULL,
  "callId" text COLLATE "C",
  -- Beside the projection: the inbox seq it was given when it was due.
  inbox_seq integer,
  PRIMARY KEY (task, key)
) WITH (fillfactor = 70);
-- Sets, changes and removes rows of one task, whose row is locked. What a row does not name stays as it is.
CREATE FUNCTION perdure.write_rows(p_task bigint, p_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_rows ? 'gone' THEN
    DELETE FROM perdure.actions WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'actions');
    DELETE FROM perdure.approvals WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'approvals');
    DELETE FROM perdure.usage WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'usage');
    DELETE FROM perdure.sources WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'sources');
    DELETE FROM perdure.evidence WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'evidence');
    DELETE FROM perdure.collaborators WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'collaborators');
    DELETE FROM perdure.plans WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'plans');
    DELETE FROM perdure.goals WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'goals');
    DELETE FROM perdure.notes WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'notes');
    DELETE FROM perdure.timers WHERE task = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_rows -> 'gone') r WHERE r ->> 'table' = 'timers');
  END IF;
  IF p_rows ? 'actions' THEN
    INSERT INTO perdure.actions (task, key, "name", "effect", "status", "invocationId", "attempt", "startedSeq", "unknownSeq", "settledSeq", "finishedSeq")
      SELECT p_task, r ->> 'key', x."name", x."effect", x."status", x."invocationId", x."attempt", x."startedSeq", x."unknownSeq", x."settledSeq", x."finishedSeq"
      FROM jsonb_array_elements(p_rows -> 'actions') r
      LEFT JOIN perdure.actions old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "name" = excluded."name", "effect" = excluded."effect", "status" = excluded."status", "invocationId" = excluded."invocationId", "attempt" = excluded."attempt", "startedSeq" = excluded."startedSeq", "unknownSeq" = excluded."unknownSeq", "settledSeq" = excluded."settledSeq", "finishedSeq" = excluded."finishedSeq";
  END IF;
  IF p_rows ? 'approvals' THEN
    INSERT INTO perdure.approvals (task, key, "callId", "status", "decides", "inputHash", "definition", "expiresAt", "requestedSeq", "settledSeq")
      SELECT p_task, r ->> 'key', x."callId", x."status", x."decides", x."inputHash", x."definition", x."expiresAt", x."requestedSeq", x."settledSeq"
      FROM jsonb_array_elements(p_rows -> 'approvals') r
      LEFT JOIN perdure.approvals old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "callId" = excluded."callId", "status" = excluded."status", "decides" = excluded."decides", "inputHash" = excluded."inputHash", "definition" = excluded."definition", "expiresAt" = excluded."expiresAt", "requestedSeq" = excluded."requestedSeq", "settledSeq" = excluded."settledSeq";
  END IF;
  IF p_rows ? 'usage' THEN
    INSERT INTO perdure.usage (task, key, "purpose", "model", "calls", "failed", "unknown", "input", "output", "cacheRead", "cacheWrite", "reasoning", "durationMs", "priceEstimate")
      SELECT p_task, r ->> 'key', x."purpose", x."model", x."calls", x."failed", x."unknown", x."input", x."output", x."cacheRead", x."cacheWrite", x."reasoning", x."durationMs", x."priceEstimate"
      FROM jsonb_array_elements(p_rows -> 'usage') r
      LEFT JOIN perdure.usage old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "purpose" = excluded."purpose", "model" = excluded."model", "calls" = excluded."calls", "failed" = excluded."failed", "unknown" = excluded."unknown", "input" = excluded."input", "output" = excluded."output", "cacheRead" = excluded."cacheRead", "cacheWrite" = excluded."cacheWrite", "reasoning" = excluded."reasoning", "durationMs" = excluded."durationMs", "priceEstimate" = excluded."priceEstimate";
  END IF;
  IF p_rows ? 'sources' THEN
    INSERT INTO perdure.sources (task, key, "version", "cursor", "seq")
      SELECT p_task, r ->> 'key', x."version", x."cursor", x."seq"
      FROM jsonb_array_elements(p_rows -> 'sources') r
      LEFT JOIN perdure.sources old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "version" = excluded."version", "cursor" = excluded."cursor", "seq" = excluded."seq";
  END IF;
  IF p_rows ? 'evidence' THEN
    INSERT INTO perdure.evidence (task, key, "callId", "source", "version", "seq")
      SELECT p_task, r ->> 'key', x."callId", x."source", x."version", x."seq"
      FROM jsonb_array_elements(p_rows -> 'evidence') r
      LEFT JOIN perdure.evidence old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "callId" = excluded."callId", "source" = excluded."source", "version" = excluded."version", "seq" = excluded."seq";
  END IF;
  IF p_rows ? 'collaborators' THEN
    INSERT INTO perdure.collaborators (task, key, "seq", "by")
      SELECT p_task, r ->> 'key', x."seq", x."by"
      FROM jsonb_array_elements(p_rows -> 'collaborators') r
      LEFT JOIN perdure.collaborators old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "seq" = excluded."seq", "by" = excluded."by";
  END IF;
  IF p_rows ? 'plans' THEN
    INSERT INTO perdure.plans (task, key, "version", "seq")
      SELECT p_task, r ->> 'key', x."version", x."seq"
      FROM jsonb_array_elements(p_rows -> 'plans') r
      LEFT JOIN perdure.plans old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "version" = excluded."version", "seq" = excluded."seq";
  END IF;
  IF p_rows ? 'goals' THEN
    INSERT INTO perdure.goals (task, key, "status", "seq")
      SELECT p_task, r ->> 'key', x."status", x."seq"
      FROM jsonb_array_elements(p_rows -> 'goals') r
      LEFT JOIN perdure.goals old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "status" = excluded."status", "seq" = excluded."seq";
  END IF;
  IF p_rows ? 'notes' THEN
    INSERT INTO perdure.notes (task, key, "seq")
      SELECT p_task, r ->> 'key', x."seq"
      FROM jsonb_array_elements(p_rows -> 'notes') r
      LEFT JOIN perdure.notes old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "seq" = excluded."seq";
  END IF;
  IF p_rows ? 'timers' THEN
    INSERT INTO perdure.timers (task, key, "dueAt", "callId", "seq")
      SELECT p_task, r ->> 'key', x."dueAt", x."callId", x."seq"
      FROM jsonb_array_elements(p_rows -> 'timers') r
      LEFT JOIN perdure.timers old ON old.task = p_task AND old.key = r ->> 'key',
      LATERAL jsonb_populate_record(old, r) x
      ON CONFLICT (task, key) DO UPDATE SET "dueAt" = excluded."dueAt", "callId" = excluded."callId", "seq" = excluded."seq", inbox_seq = NULL;
  END IF;
END $$;
