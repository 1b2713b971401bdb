-- Append and post as functions: one statement of the caller. In a volatile function every statement sees what was
-- committed when that statement began, so all that follows the lock is current, and an append pays only for what it has.
-- The bytes of all events travel as two values: the bodies one after the other, and 80 bytes each of salt, digest and chain.
CREATE FUNCTION append(
  p_task text, p_fence integer, p_revision integer, p_expected integer,
  p_types text[], p_lengths integer[], p_bodies bytea, p_proofs bytea,
  p_columns jsonb, p_usage jsonb, p_timers jsonb, p_taken integer, p_seen integer,
  p_sources text[], p_posts jsonb, p_children jsonb,
  OUT code text, OUT at bigint, OUT inbox_seq integer, OUT timer_due boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t tasks%ROWTYPE;
  item record;
  child record;
  unfit text;
  taken_before integer;
  due bigint;
  n integer := cardinality(p_lengths);
  start integer := 1;
  head bytea := substr(p_proofs, n * 80 - 31, 32);
BEGIN
  -- Whoever locks several rows locks tasks by id first and sources by name next, so that nobody waits in a circle.
  IF p_posts IS NOT NULL OR p_sources IS NOT NULL OR p_taken IS NOT NULL THEN
    PERFORM 1 FROM tasks
      WHERE task_id = p_task OR task_id IN (SELECT p ->> 'task_id' FROM jsonb_array_elements(p_posts) p)
      ORDER BY task_id FOR NO KEY UPDATE;
    SELECT inbox_taken INTO taken_before FROM tasks WHERE task_id = p_task;
  END IF;
  IF p_sources IS NOT NULL THEN
    SELECT CASE WHEN bool_or(deleted) THEN 'redacted' WHEN count(*) < cardinality(p_sources) THEN 'unknown_source' END
      INTO unfit
      FROM (SELECT deleted FROM source_states WHERE source = ANY (p_sources) ORDER BY source FOR SHARE) s;
  END IF;
  UPDATE tasks SET last_seq = p_expected + n, chain = head, updated_at = greatest(clock_ms(), updated_at)
    WHERE task_id = p_task AND fence = p_fence AND status NOT IN ('ended', 'forgotten') AND last_seq = p_expected
      AND revision = p_revision AND unfit IS NULL
      AND (p_seen IS NULL OR inbox_seq <= p_seen AND (next_timer_at IS NULL OR next_timer_at > clock_ms()))
    RETURNING updated_at, inbox_seq, next_timer_at INTO at, inbox_seq, due;
  IF NOT FOUND THEN
    SELECT * INTO t FROM tasks WHERE task_id = p_task;
    code := CASE
      WHEN t.task_id IS NULL THEN 'not_found'
      WHEN t.status = 'forgotten' THEN 'forgotten'
      WHEN t.fence <> p_fence THEN 'not_owner'
      WHEN t.status = 'ended' THEN 'ended'
      WHEN t.last_seq <> p_expected THEN 'conflict'
      WHEN t.revision <> p_revision THEN 'redacted'
      ELSE coalesce(unfit, 'inbox_moved')
    END;
    RETURN;
  END IF;
  code := 'ok';
  FOR i IN 1 .. n LOOP
    INSERT INTO events (task_id, seq, at, type, body, salt, digest, chain) VALUES (
      p_task, p_expected + i, at, p_types[i],
      substr(p_bodies, start, p_lengths[i]), substr(p_proofs, i * 80 - 79, 16), substr(p_proofs, i * 80 - 63, 32),
      substr(p_proofs, i * 80 - 31, 32));
    start := start + p_lengths[i];
  END LOOP;
  IF p_usage IS NOT NULL THEN
    INSERT INTO usage (task_id, key, purpose, model, calls, input, output, duration_ms)
      SELECT p_task, r.key, r.purpose, r.model, r.calls, r.input, r.output, r.duration_ms
      FROM jsonb_populate_recordset(NULL::usage, p_usage) r
      ON CONFLICT (task_id, key) DO UPDATE SET
        calls = coalesce(excluded.calls, usage.calls), input = coalesce(excluded.input, usage.input),
        output = coalesce(excluded.output, usage.output),
        duration_ms = coalesce(excluded.duration_ms, usage.duration_ms);
  END IF;
  IF p_timers IS NOT NULL THEN
    DELETE FROM timers WHERE task_id = p_task AND key IN (
      SELECT r ->> 'key' FROM jsonb_array_elements(p_timers) r WHERE r ->> 'due_at' IS NULL);
    INSERT INTO timers (task_id, key, due_at, seq)
      SELECT p_task, r.key, r.due_at, r.seq FROM jsonb_populate_recordset(NULL::timers, p_timers) r
      WHERE r.due_at IS NOT NULL
      ON CONFLICT (task_id, key) DO UPDATE SET due_at = excluded.due_at, seq = excluded.seq, moved = false;
    SELECT min(due_at) INTO due FROM timers WHERE task_id = p_task AND NOT moved;
  END IF;
  timer_due := coalesce(due <= at, false);
  IF p_taken IS NOT NULL THEN
    UPDATE inbox SET body = NULL WHERE task_id = p_task AND seq > taken_before AND seq <= p_taken;
  END IF;
  IF p_columns IS NOT NULL OR p_taken IS NOT NULL OR p_timers IS NOT NULL THEN
    UPDATE tasks SET inbox_taken = coalesce(p_taken, inbox_taken), next_timer_at = due,
      status = CASE WHEN p_columns ? 'status' THEN p_columns ->> 'status' ELSE status END,
      waiting_on = CASE WHEN p_columns ? 'waitingOn' THEN p_columns ->> 'waitingOn' ELSE waiting_on END,
      outcome = CASE WHEN p_columns ? 'outcome' THEN p_columns ->> 'outcome' ELSE outcome END,
      reason = CASE WHEN p_columns ? 'reason' THEN p_columns ->> 'reason' ELSE reason END
      WHERE task_id = p_task;
  END IF;
  IF p_posts IS NOT NULL THEN
    FOR item IN SELECT * FROM jsonb_to_recordset(p_posts)
      AS p (task_id text, author text, key text, body text, salt text, hash text)
    LOOP
      PERFORM post(item.task_id, item.author, item.key, decode(item.body, 'base64'), decode(item.salt, 'base64'),
        decode(item.hash, 'base64'));
    END LOOP;
  END IF;
  IF p_children IS NOT NULL THEN
    FOR child IN SELECT * FROM jsonb_to_recordset(p_children) AS c (task_id text, events jsonb) LOOP
      INSERT INTO tasks (task_id, agent, owner, place, root, parent, status, lane, created_at, updated_at, ready_at,
          last_seq, chain)
        SELECT child.task_id, p.agent, p.owner, p.place, p.root, p.task_id, 'ready', p.lane, at, at, at,
          jsonb_array_length(child.events), decode(child.events -> -1 ->> 'chain', 'base64')
        FROM tasks p WHERE p.task_id = p_task;
      INSERT INTO events (task_id, seq, at, type, body, salt, digest, chain)
        SELECT child.task_id, e.seq, at, e.type, decode(e.body, 'base64'), decode(e.salt, 'base64'),
          decode(e.digest, 'base64'), decode(e.chain, 'base64')
        FROM jsonb_to_recordset(child.events)
          AS e (seq integer, type text, body text, salt text, digest text, chain text);
    END LOOP;
  END IF;
  IF p_columns ->> 'status' = 'ended' THEN
    DELETE FROM snapshots WHERE task_id = p_task;
    DELETE FROM timers WHERE task_id = p_task;
  END IF;
END $$;

-- A key that is there gives its first receipt, with what recognises the body: the caller compares.
CREATE FUNCTION post(
  p_task text, p_by text, p_key text, p_body bytea, p_salt bytea, p_hash bytea,
  OUT code text, OUT seq integer, OUT duplicate boolean, OUT salt bytea, OUT hash bytea
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t tasks%ROWTYPE;
  now bigint;
BEGIN
  SELECT * INTO t FROM tasks WHERE task_id = p_task FOR NO KEY UPDATE;
  SELECT i.seq, i.salt, i.hash INTO seq, salt, hash FROM inbox i WHERE i.task_id = p_task AND i.key = p_key;
  duplicate := seq IS NOT NULL;
  code := CASE
    WHEN t.task_id IS NULL THEN 'not_found'
    WHEN t.status = 'forgotten' THEN 'forgotten'
    WHEN t.status = 'ended' AND (seq IS NULL OR seq > t.inbox_taken) THEN 'ended'
    ELSE 'ok'
  END;
  IF code <> 'ok' OR duplicate THEN RETURN; END IF;
  seq := t.inbox_seq + 1;
  now := greatest(clock_ms(), t.updated_at);
  INSERT INTO inbox (task_id, seq, at, by, key, body, salt, hash)
    VALUES (p_task, seq, now, p_by, p_key, p_body, p_salt, p_hash);
  UPDATE tasks SET inbox_seq = t.inbox_seq + 1,
    ready_at = CASE WHEN inbox_seq > inbox_taken THEN ready_at ELSE now END WHERE task_id = p_task;
END $$;
