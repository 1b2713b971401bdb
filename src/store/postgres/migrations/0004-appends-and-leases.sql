-- The functions of who holds a claim: append, read the inbox, renew, give back. See 0003.

-- The guards stand in the documented order where a refusal is told; the update itself asks all of them at once.
-- `p_expected` is -1 where the drafts do not follow one another.
CREATE FUNCTION perdure.append(
  p_id text, p_fence bigint, p_revision integer, p_expected integer,
  p_types smallint[], p_lengths integer[], p_bodies bytea, p_proofs bytea, p_clock bigint[],
  p_columns jsonb, p_rows jsonb, p_taken integer, p_seen integer, p_ends boolean, p_definitions jsonb,
  p_to text[], p_by text[], p_keys text[], p_item_lengths integer[], p_items bytea, p_digests bytea,
  OUT code text, OUT fact bigint, OUT at bigint, OUT inbox_seq integer, OUT timer_due boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
  v_task bigint;
  taken_before integer;
  due bigint;
  origin jsonb := p_columns -> 'origin';
  n integer := cardinality(p_types);
BEGIN
  IF p_to IS NOT NULL THEN
    PERFORM 1 FROM perdure.tasks WHERE id = ANY (p_id || p_to) ORDER BY id FOR NO KEY UPDATE;
  END IF;
  IF p_taken IS NOT NULL THEN
    SELECT inbox_taken INTO taken_before FROM perdure.tasks WHERE id = p_id FOR NO KEY UPDATE;
  END IF;
  IF p_columns IS NULL AND p_taken IS NULL AND NOT p_ends THEN
    UPDATE perdure.tasks SET last_seq = p_expected + n, head = substr(p_proofs, n * 48 - 31, 32),
        updated_at = greatest(coalesce(p_clock[1], perdure.clock_ms()), updated_at)
      WHERE id = p_id AND fence = p_fence AND claimed_by IS NOT NULL AND status <> 'ended' AND last_seq = p_expected
        AND revision = p_revision AND (p_seen IS NULL OR inbox_seq <= greatest(p_seen, inbox_taken)
          AND (next_timer_at IS NULL OR next_timer_at > coalesce(p_clock[1], perdure.clock_ms())))
      RETURNING task, updated_at, inbox_seq, next_timer_at INTO v_task, at, inbox_seq, due;
  ELSE
    UPDATE perdure.tasks SET last_seq = p_expected + n, head = substr(p_proofs, n * 48 - 31, 32),
        updated_at = greatest(coalesce(p_clock[1], perdure.clock_ms()), updated_at),
        inbox_taken = greatest(inbox_taken, p_taken),
        next_timer_at = CASE WHEN p_ends THEN NULL ELSE next_timer_at END,
        -- Nobody gives an ended task back: its lease would lapse, and be found by a claim that then writes the row again.
        lease_until = CASE WHEN p_ends THEN NULL ELSE lease_until END,
        status = CASE WHEN p_ends THEN 'ended' ELSE coalesce(p_columns ->> 'status', status) END,
        waiting_on = CASE WHEN p_columns ? 'waitingOn' THEN p_columns ->> 'waitingOn' ELSE waiting_on END,
        outcome = CASE WHEN p_columns ? 'outcome' THEN p_columns ->> 'outcome' ELSE outcome END,
        reason = CASE WHEN p_columns ? 'reason' THEN p_columns ->> 'reason' ELSE reason END,
        agent = coalesce(p_columns ->> 'agent', agent),
        owner = coalesce(p_columns ->> 'owner', owner),
        front_end = coalesce(origin ->> 'frontEnd', front_end),
        place = coalesce(origin ->> 'place', place),
        conversation = coalesce(origin ->> 'conversation', conversation),
        private = coalesce((origin ->> 'private')::boolean, private),
        parent = CASE WHEN p_columns ? 'parent' THEN p_columns ->> 'parent' ELSE parent END,
        root = coalesce(p_columns ->> 'root', root),
        history_from = CASE WHEN p_columns ? 'historyFrom' THEN p_columns ->> 'historyFrom' ELSE history_from END,
        mode = coalesce(p_columns ->> 'mode', mode),
        priority = coalesce((p_columns ->> 'priority')::bigint, priority),
        lane = CASE WHEN p_columns IS NULL THEN lane ELSE perdure.next_lane(lane, p_columns) END
      WHERE id = p_id AND fence = p_fence AND claimed_by IS NOT NULL AND status <> 'ended' AND last_seq = p_expected
        AND (p_taken IS NULL OR p_taken <= inbox_seq)
        AND revision = p_revision AND (p_seen IS NULL OR inbox_seq <= greatest(p_seen, p_taken, inbox_taken)
          AND (next_timer_at IS NULL OR next_timer_at > coalesce(p_clock[1], perdure.clock_ms())))
      RETURNING task, updated_at, inbox_seq, next_timer_at INTO v_task, at, inbox_seq, due;
  END IF;
  IF NOT FOUND THEN
    SELECT * INTO t FROM perdure.tasks WHERE id = p_id;
    code := CASE
      WHEN t.task IS NULL THEN perdure.absence(p_id)
      WHEN t.fence <> p_fence OR t.claimed_by IS NULL THEN 'not_owner'
      WHEN t.status = 'ended' THEN 'ended'
      WHEN t.last_seq <> p_expected OR p_taken > t.inbox_seq THEN 'conflict'
      WHEN t.revision <> p_revision THEN 'redacted'
      ELSE 'inbox_moved'
    END;
    fact := CASE code
      WHEN 'not_owner' THEN CASE WHEN t.claimed_by IS NOT NULL THEN t.fence END
      WHEN 'conflict' THEN CASE WHEN t.last_seq <> p_expected THEN t.last_seq ELSE t.inbox_seq END
      WHEN 'redacted' THEN t.revision
    END;
    RETURN;
  END IF;
  PERFORM perdure.write_events(v_task, at, p_expected, p_types, p_lengths, p_bodies, p_proofs);
  IF p_rows IS NOT NULL THEN
    PERFORM perdure.write_rows(v_task, p_rows);
    IF p_rows ? 'timers' OR p_rows ? 'gone' THEN
      due := perdure.next_timer(v_task);
      UPDATE perdure.tasks SET next_timer_at = due WHERE task = v_task AND next_timer_at IS DISTINCT FROM due;
    END IF;
  END IF;
  IF p_ends THEN
    DELETE FROM perdure.timers WHERE task = v_task;
    DELETE FROM perdure.snapshots WHERE task = v_task;
    UPDATE perdure.tasks SET next_timer_at = NULL WHERE task = v_task AND next_timer_at IS NOT NULL;
    due := NULL;
  END IF;
  IF p_taken > taken_before THEN
    UPDATE perdure.inbox SET body = NULL WHERE task = v_task AND seq > taken_before AND seq <= p_taken;
  END IF;
  IF p_definitions IS NOT NULL THEN
    PERFORM perdure.use_definitions(v_task, p_definitions);
  END IF;
  IF p_to IS NOT NULL THEN
    PERFORM perdure.post_all(p_to, p_by, p_keys, p_item_lengths, p_items, p_digests, p_clock);
    SELECT tasks.inbox_seq INTO inbox_seq FROM perdure.tasks WHERE task = v_task;
  END IF;
  timer_due := due IS NOT NULL AND due <= coalesce(p_clock[1], perdure.clock_ms());
END $$;

-- Moves due timers into the inbox of a task whose row is locked, each under a key of its own, so that one time fires once.
CREATE FUNCTION perdure.move_timers(p_task bigint, p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  timer record;
  item_key text;
  item_seq integer;
BEGIN
  FOR timer IN
    SELECT key, "dueAt"::bigint AS due_at FROM perdure.timers
    WHERE task = p_task AND inbox_seq IS NULL AND "dueAt" <= p_now ORDER BY "dueAt", key
  LOOP
    item_key := 'core:timer:' || timer.key || ':' || timer.due_at;
    SELECT seq INTO item_seq FROM perdure.inbox WHERE task = p_task AND key = item_key;
    IF NOT FOUND THEN
      UPDATE perdure.tasks SET inbox_seq = inbox_seq + 1 WHERE task = p_task RETURNING inbox_seq INTO item_seq;
      INSERT INTO perdure.inbox (task, at, due_at, seq, by, key)
        VALUES (p_task, p_now, timer.due_at, item_seq, 'core', item_key);
    END IF;
    UPDATE perdure.timers SET inbox_seq = item_seq WHERE task = p_task AND key = timer.key;
  END LOOP;
  UPDATE perdure.tasks SET next_timer_at = perdure.next_timer(p_task) WHERE task = p_task;
END $$;

-- The untaken items of one take: not much more than a take holds. Bodies as text, or (sealed) in base64.
CREATE FUNCTION perdure.untaken(p_task bigint, p_after integer, p_items integer, p_bytes bigint, p_plain boolean)
RETURNS TABLE (seq integer, at bigint, due_at bigint, by text, key text, body text) LANGUAGE sql STABLE AS $$
  SELECT seq, at, due_at, by, key, CASE WHEN p_plain THEN convert_from(body, 'UTF8') ELSE encode(body, 'base64') END
  FROM (
    SELECT i.*, sum(octet_length(i.body)) OVER (ORDER BY i.seq) - octet_length(i.body) AS before
    FROM (SELECT * FROM perdure.inbox WHERE task = p_task AND seq > p_after ORDER BY seq LIMIT p_items) i
  ) first
  WHERE body IS NULL OR before <= p_bytes ORDER BY seq
$$;

-- The first row bears the refusal alone, where there is one.
CREATE FUNCTION perdure.read_inbox(
  p_id text, p_fence bigint, p_items integer, p_bytes bigint, p_plain boolean, p_clock bigint[]
) RETURNS TABLE (code text, fact bigint, seq integer, at bigint, due_at bigint, by text, key text, body text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
  now bigint;
BEGIN
  SELECT task, fence, claimed_by, inbox_taken, next_timer_at INTO t FROM perdure.tasks WHERE id = p_id;
  IF t.next_timer_at <= coalesce(p_clock[1], perdure.clock_ms()) THEN
    SELECT task, fence, claimed_by, inbox_taken, next_timer_at INTO t FROM perdure.tasks
      WHERE id = p_id FOR NO KEY UPDATE;
  END IF;
  IF t.task IS NULL THEN
    code := perdure.absence(p_id);
  ELSIF t.fence <> p_fence OR t.claimed_by IS NULL THEN
    code := 'not_owner';
    fact := CASE WHEN t.claimed_by IS NOT NULL THEN t.fence END;
  END IF;
  IF code IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  now := coalesce(p_clock[1], perdure.clock_ms());
  IF t.next_timer_at <= now THEN
    PERFORM perdure.move_timers(t.task, now);
  END IF;
  RETURN QUERY SELECT NULL::text, NULL::bigint, u.* FROM perdure.untaken(
    t.task, t.inbox_taken, p_items, p_bytes, p_plain) u;
END $$;

-- Makes tasks whose lease ran out ready, where they have something to do. Their holders may still come back.
CREATE FUNCTION perdure.end_lapsed(p_id text, p_now bigint, p_lease_now bigint) RETURNS void LANGUAGE sql AS $$
  WITH lapsed AS MATERIALIZED (
    SELECT task FROM perdure.tasks WHERE lease_until <= p_lease_now AND (p_id IS NULL OR id = p_id)
    ORDER BY lease_until LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE perdure.tasks t SET previous_ended_at = p_now - (p_lease_now - lease_until), since = p_now, lease_until = NULL
    FROM lapsed WHERE t.task = lapsed.task
$$;

CREATE FUNCTION perdure.renew(p_id text, p_fence bigint, p_lease_ms bigint, p_clock bigint[], OUT code text, OUT fact bigint)
LANGUAGE plpgsql AS $$
DECLARE
  t record;
BEGIN
  UPDATE perdure.tasks SET lease_until = coalesce(p_clock[2], perdure.clock_ms()) + p_lease_ms
    WHERE id = p_id AND fence = p_fence AND claimed_by IS NOT NULL;
  IF NOT FOUND THEN
    SELECT task, fence, claimed_by INTO t FROM perdure.tasks WHERE id = p_id;
    code := CASE WHEN t.task IS NULL THEN perdure.absence(p_id) ELSE 'not_owner' END;
    fact := CASE WHEN t.claimed_by IS NOT NULL THEN t.fence END;
  END IF;
END $$;

CREATE FUNCTION perdure.release(
  p_id text, p_fence bigint, p_kind text, p_seen integer, p_reason text, p_build text, p_retry_ms bigint,
  p_clock bigint[], OUT code text, OUT fact bigint
) LANGUAGE plpgsql AS $$
DECLARE
  t record;
  now bigint;
BEGIN
  SELECT * INTO t FROM perdure.tasks WHERE id = p_id FOR NO KEY UPDATE;
  now := coalesce(p_clock[1], perdure.clock_ms());
  code := CASE
    WHEN t.task IS NULL THEN perdure.absence(p_id)
    WHEN t.fence <> p_fence OR t.claimed_by IS NULL THEN 'not_owner'
    WHEN p_kind = 'parked' AND (t.inbox_seq > greatest(p_seen, t.inbox_taken) OR t.next_timer_at <= now) THEN 'inbox_moved'
  END;
  IF code IS NOT NULL THEN
    fact := CASE WHEN t.claimed_by IS NOT NULL THEN t.fence END;
    RETURN;
  END IF;
  IF p_kind = 'held' THEN
    INSERT INTO perdure.holds AS h (task, at, until, count, build, reason)
      VALUES (t.task, now, now + p_retry_ms, 1, p_build, p_reason)
      ON CONFLICT (task, build) DO UPDATE SET hold = excluded.hold, at = excluded.at, until = excluded.until,
        count = h.count + 1, reason = excluded.reason;
  ELSE
    DELETE FROM perdure.holds WHERE task = t.task;
  END IF;
  UPDATE perdure.tasks SET claimed_by = NULL, lease_until = NULL, attempts = 0, previous_ended_at = now, since = now
    WHERE task = t.task;
END $$;

-- Keeps the newest of each version, and of two versions at most: whatever was not written for longest goes.
CREATE FUNCTION perdure.put_snapshot(p_id text, p_version text, p_seq integer, p_revision integer, p_bytes bytea)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_task bigint;
BEGIN
  SELECT task INTO v_task FROM perdure.tasks
    WHERE id = p_id AND status <> 'ended' AND revision = p_revision FOR NO KEY UPDATE;
  IF NOT FOUND OR EXISTS (
    SELECT FROM perdure.snapshots WHERE task = v_task AND version = p_version AND seq > p_seq) THEN
    RETURN false;
  END IF;
  DELETE FROM perdure.snapshots WHERE task = v_task AND version = p_version;
  INSERT INTO perdure.snapshots (task, version, seq, revision, bytes)
    VALUES (v_task, p_version, p_seq, p_revision, p_bytes);
  DELETE FROM perdure.snapshots WHERE task = v_task AND snapshot NOT IN (
    SELECT snapshot FROM perdure.snapshots WHERE task = v_task ORDER BY snapshot DESC LIMIT 2);
  RETURN true;
END $$;
