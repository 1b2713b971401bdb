-- What is known of a request for a decision beside its projection (decision 0010): the newest controls of each front end,
-- and the decision that counts. Ids, numbers and who decided; no words.

CREATE TABLE perdure.showings (
  task bigint NOT NULL,
  showing bigint NOT NULL,
  request text COLLATE "C" NOT NULL,
  front_end text COLLATE "C" NOT NULL,
  PRIMARY KEY (task, request, front_end)
);

CREATE TABLE perdure.decisions (
  task bigint NOT NULL,
  at bigint NOT NULL,
  seq integer NOT NULL,
  request text COLLATE "C" NOT NULL,
  decision text COLLATE "C" NOT NULL,
  by text COLLATE "C" NOT NULL,
  PRIMARY KEY (task, request)
);

-- Puts a Decide into an inbox, if its request may be decided so: see the store port's `post`. `refusal` and `state` say why
-- not; `decided_at` and what goes with it are those of the decision that came first.
CREATE FUNCTION perdure.post_decision(
  p_id text, p_by text, p_key text, p_body bytea, p_digest bytea, p_clock bigint[],
  p_request text, p_hash text, p_showing bigint, p_decision text,
  OUT code text, OUT seq integer, OUT duplicate boolean, OUT refusal text, OUT state text,
  OUT decision text, OUT decided_by text, OUT decided_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
  asked record;
  now bigint;
  item_seq integer;
BEGIN
  SELECT task, status, owner INTO t FROM perdure.tasks WHERE id = p_id FOR NO KEY UPDATE;
  -- A key that came before, and a task that takes nothing, are no matter of decisions.
  IF NOT FOUND OR t.status = 'ended' OR EXISTS (SELECT FROM perdure.inbox i WHERE i.task = t.task AND i.key = p_key) THEN
    SELECT p.code, p.seq, p.duplicate INTO code, seq, duplicate
      FROM perdure.post(p_id, p_by, p_key, p_body, p_digest, p_clock) p;
    RETURN;
  END IF;
  now := coalesce(p_clock[1], perdure.clock_ms());
  SELECT a.status, a.decides, a."inputHash" AS hash, a."expiresAt" AS expires INTO asked
    FROM perdure.approvals a WHERE a.task = t.task AND a.key = p_request;
  IF NOT FOUND THEN
    refusal := 'not_asked';
    RETURN;
  END IF;
  state := asked.status;
  IF asked.decides IS DISTINCT FROM p_by OR (p_by <> t.owner
    AND EXISTS (SELECT FROM perdure.collaborators c WHERE c.task = t.task AND c.key = p_by)) THEN
    refusal := 'not_yours';
    RETURN;
  END IF;
  SELECT d.seq, d.decision, d.by, d.at INTO seq, decision, decided_by, decided_at
    FROM perdure.decisions d WHERE d.task = t.task AND d.request = p_request;
  IF FOUND THEN
    duplicate := true;
    RETURN;
  END IF;
  refusal := CASE
    WHEN asked.status <> 'pending' THEN 'settled'
    WHEN asked.hash IS DISTINCT FROM p_hash THEN 'changed'
    WHEN asked.expires <= now THEN 'expired'
    WHEN p_showing <> 0 AND NOT EXISTS (SELECT FROM perdure.showings s
      WHERE s.task = t.task AND s.request = p_request AND s.showing = p_showing) THEN 'stale'
  END;
  IF refusal IS NOT NULL THEN
    RETURN;
  END IF;
  SELECT p.code, p.seq, p.duplicate INTO code, item_seq, duplicate
    FROM perdure.post(p_id, p_by, p_key, p_body, p_digest, p_clock) p;
  INSERT INTO perdure.decisions (task, at, seq, request, decision, by)
    SELECT i.task, i.at, i.seq, p_request, p_decision, p_by FROM perdure.inbox i
    WHERE i.task = t.task AND i.seq = item_seq;
  seq := item_seq;
END $$;

-- New controls of a front end: a number greater than any of the request's, and than any of an earlier epoch.
CREATE FUNCTION perdure.show_approval(
  p_id text, p_request text, p_front_end text,
  OUT code text, OUT refusal text, OUT state text, OUT showing bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
BEGIN
  SELECT task, status INTO t FROM perdure.tasks WHERE id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    code := perdure.absence(p_id);
    RETURN;
  END IF;
  IF t.status = 'ended' THEN
    code := 'ended';
    RETURN;
  END IF;
  SELECT a.status INTO state FROM perdure.approvals a WHERE a.task = t.task AND a.key = p_request;
  refusal := CASE WHEN NOT FOUND THEN 'not_asked' WHEN state <> 'pending' THEN 'settled' END;
  IF refusal IS NOT NULL THEN
    RETURN;
  END IF;
  SELECT greatest((SELECT (epoch - 1) * 1000000 + 1 FROM perdure.place), max(s.showing) + 1) INTO showing
    FROM perdure.showings s WHERE s.task = t.task AND s.request = p_request;
  INSERT INTO perdure.showings (task, request, front_end, showing) VALUES (t.task, p_request, p_front_end, showing)
    ON CONFLICT (task, request, front_end) DO UPDATE SET showing = excluded.showing;
END $$;
