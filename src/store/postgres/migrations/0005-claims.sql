-- The functions of who is next, fairly between principals.

CREATE FUNCTION perdure.is_held(p_task bigint, p_build text, p_now bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM perdure.holds h WHERE h.task = p_task AND h.build = p_build AND h.until > p_now)
$$;

-- The lanes that a worker serves.
CREATE FUNCTION perdure.served_lanes(p_offers text[], p_queues text[]) RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(array_agg(lane), '{}') FROM perdure.lanes
    WHERE (p_queues IS NULL OR queue = ANY (p_queues)) AND requires <@ p_offers);
END $$;

-- The next priority below `p_below` (null: the highest) of which a task is ready, or has a time to be.
CREATE FUNCTION perdure.next_priority(p_lanes integer[], p_below bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT max(first.priority) FROM unnest(p_lanes) AS l (lane), LATERAL (
    SELECT t.priority FROM perdure.tasks t WHERE t.lane = l.lane AND t.ready_at IS NOT NULL
      AND t.priority < coalesce(p_below, 9223372036854775807) ORDER BY t.priority DESC LIMIT 1) first);
END $$;

-- The first principal after `p_after` with such a task.
CREATE FUNCTION perdure.next_owner(p_lanes integer[], p_priority bigint, p_after text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT min(first.owner) FROM unnest(p_lanes) AS l (lane), LATERAL (
    SELECT t.owner FROM perdure.tasks t WHERE t.lane = l.lane AND t.priority = p_priority AND t.ready_at IS NOT NULL
      AND t.owner > p_after ORDER BY t.owner LIMIT 1) first);
END $$;

-- Locks the task of a principal (null: of any) that has been ready for longest; one that another worker is taking is passed
-- over. Null where there is none. Lane by lane, the one with the oldest first: each look-up ends at its first entry.
CREATE FUNCTION perdure.lock_ready(p_lanes integer[], p_priority bigint, p_owner text, p_build text, p_now bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  in_lane integer;
  found_task bigint;
BEGIN
  IF p_owner IS NULL THEN
    FOR in_lane IN SELECT l.lane FROM unnest(p_lanes) AS l (lane), LATERAL (
        SELECT t.ready_at, t.task FROM perdure.tasks t WHERE t.lane = l.lane AND t.priority = p_priority
          AND t.ready_at <= p_now ORDER BY t.ready_at, t.task LIMIT 1) first ORDER BY first.ready_at, first.task LOOP
      SELECT t.task INTO found_task FROM perdure.tasks t
        WHERE t.lane = in_lane AND t.priority = p_priority AND t.ready_at <= p_now
          AND NOT perdure.is_held(t.task, p_build, p_now)
        ORDER BY t.ready_at, t.task LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
      EXIT WHEN found_task IS NOT NULL;
    END LOOP;
  ELSE
    FOR in_lane IN SELECT l.lane FROM unnest(p_lanes) AS l (lane), LATERAL (
        SELECT t.ready_at, t.task FROM perdure.tasks t WHERE t.lane = l.lane AND t.priority = p_priority
          AND t.owner = p_owner AND t.ready_at <= p_now ORDER BY t.ready_at, t.task LIMIT 1) first
        ORDER BY first.ready_at, first.task LOOP
      SELECT t.task INTO found_task FROM perdure.tasks t
        WHERE t.lane = in_lane AND t.priority = p_priority AND t.owner = p_owner AND t.ready_at <= p_now
          AND NOT perdure.is_held(t.task, p_build, p_now)
        ORDER BY t.ready_at, t.task LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
      EXIT WHEN found_task IS NOT NULL;
    END LOOP;
  END IF;
  RETURN found_task;
END $$;

-- Of one priority: from principal to principal, beginning after the one served last, to the first that has nothing under a
-- lease; else the one with the fewest. Looks at 64 of them at the most.
CREATE FUNCTION perdure.next_task(
  p_lanes integer[], p_priority bigint, p_served text, p_build text, p_now bigint,
  OUT task bigint, OUT principal text
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  around boolean := p_served IS NULL;
  reached text := coalesce(p_served, '');
  candidate text;
  owners text[] := '{}';
  leases bigint[] := '{}';
  leased bigint;
  seen integer := 0;
BEGIN
  WHILE seen < 64 LOOP
    seen := seen + 1;
    candidate := perdure.next_owner(p_lanes, p_priority, reached);
    IF candidate IS NULL AND NOT around THEN
      around := true;
      candidate := perdure.next_owner(p_lanes, p_priority, '');
    END IF;
    EXIT WHEN candidate IS NULL OR (around AND p_served IS NOT NULL AND candidate > p_served);
    reached := candidate;
    -- In the order of the one index that knows which are leased: that of all tasks of an owner is not to be chosen.
    SELECT count(*) INTO leased FROM (SELECT FROM perdure.tasks t
      WHERE t.owner = candidate AND t.lease_until IS NOT NULL ORDER BY t.lease_until LIMIT 1000) held;
    IF leased = 0 THEN
      task := perdure.lock_ready(p_lanes, p_priority, candidate, p_build, p_now);
      principal := candidate;
      EXIT WHEN task IS NOT NULL;
    ELSE
      owners := owners || candidate;
      leases := leases || leased;
    END IF;
  END LOOP;
  IF task IS NOT NULL THEN
    RETURN;
  END IF;
  FOR candidate IN SELECT o.owner FROM unnest(owners, leases) WITH ORDINALITY AS o (owner, n, place) ORDER BY o.n, o.place LOOP
    task := perdure.lock_ready(p_lanes, p_priority, candidate, p_build, p_now);
    principal := candidate;
    EXIT WHEN task IS NOT NULL;
  END LOOP;
  IF task IS NULL AND seen = 64 THEN
    -- Where the principals that come next only have timers that are not due, the next claim goes on behind them.
    task := perdure.lock_ready(p_lanes, p_priority, NULL, p_build, p_now);
    principal := reached;
  END IF;
END $$;

-- Takes a task: raises its fence, counts the attempt, moves due timers in. No row, and no write,
-- where there is none to take, or `moved`: an epoch has to begin first. Index look-ups alone: parked tasks, and tasks of
-- others, cost nothing.
CREATE FUNCTION perdure.claim(
  p_worker text, p_lease_ms bigint, p_offers text[], p_build text, p_id text, p_queues text[], p_served jsonb,
  p_clock bigint[],
  OUT task bigint, OUT id text, OUT agent text, OUT fence bigint, OUT attempts integer, OUT previous_ended_at bigint,
  OUT now bigint, OUT priority bigint, OUT principal text, OUT moved boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  lease_now bigint;
  found_task bigint;
  found_owner text;
  lanes integer[];
  level bigint;
  due bigint;
BEGIN
  moved := perdure.is_moved();
  IF moved THEN
    RETURN;
  END IF;
  now := coalesce(p_clock[1], perdure.clock_ms());
  lease_now := coalesce(p_clock[2], now);
  lanes := perdure.served_lanes(p_offers, p_queues);
  IF p_id IS NULL THEN
    -- The first entry of an index, whatever the planner thinks of how many have lapsed.
    IF (SELECT min(lease_until) FROM perdure.tasks) <= lease_now THEN
      PERFORM perdure.end_lapsed(NULL, now, lease_now);
    END IF;
    level := perdure.next_priority(lanes, NULL);
    WHILE level IS NOT NULL LOOP
      SELECT n.task, n.principal INTO found_task, found_owner
        FROM perdure.next_task(lanes, level, p_served ->> level::text, p_build, now) n;
      EXIT WHEN found_task IS NOT NULL;
      level := perdure.next_priority(lanes, level);
    END LOOP;
  ELSE
    IF EXISTS (SELECT FROM perdure.tasks WHERE id = p_id AND lease_until <= lease_now) THEN
      PERFORM perdure.end_lapsed(p_id, now, lease_now);
    END IF;
    SELECT t.task, t.owner INTO found_task, found_owner FROM perdure.tasks t
      WHERE t.id = p_id AND t.ready_at <= now AND t.lane = ANY (lanes) AND NOT perdure.is_held(t.task, p_build, now)
      FOR NO KEY UPDATE;
  END IF;
  IF found_task IS NULL THEN
    RETURN;
  END IF;
  principal := found_owner;
  UPDATE perdure.tasks t SET claimed_by = p_worker, lease_until = lease_now + p_lease_ms, fence = fence + 1,
      attempts = attempts + 1
    WHERE t.task = found_task
    RETURNING t.task, t.id, t.agent, t.fence, t.attempts, t.previous_ended_at, t.priority, t.next_timer_at
    INTO task, id, agent, fence, attempts, previous_ended_at, priority, due;
  IF due <= now THEN
    PERFORM perdure.move_timers(task, now);
  END IF;
END $$;

-- All that a claim is given, of one moment: the task (`what` 0), a snapshot of this version (1), untaken items (2), events (3).
-- One query, which the caller's takes in.
CREATE FUNCTION perdure.load(
  p_task bigint, p_version text, p_build text, p_items integer, p_bytes bigint, p_plain boolean
) RETURNS TABLE (what integer, seq integer, at bigint, type smallint, body text) LANGUAGE sql STABLE AS $$
  WITH t AS MATERIALIZED (SELECT * FROM perdure.tasks WHERE task = p_task),
  s AS MATERIALIZED (SELECT seq, revision, bytes FROM perdure.snapshots
    WHERE task = p_task AND version = p_version AND revision = (SELECT revision FROM t))
  SELECT 0, last_seq, revision::bigint, 0::smallint, json_build_object(
    'chain', encode(head, 'hex'), 'secret', (SELECT encode(secret, 'hex') FROM perdure.secrets WHERE task = p_task),
    'epoch', place.epoch, 'version', version, 'inbox_seq', inbox_seq,
    'restored', least(t.bundle_at, (SELECT min(backup_at) FROM perdure.restores r WHERE r.epoch > t.epoch)),
    'holds', (SELECT count FROM perdure.holds WHERE task = p_task AND build = p_build))::text FROM t, perdure.place
  UNION ALL SELECT 1, seq, revision, 0::smallint, encode(bytes, 'base64') FROM s
  UNION ALL SELECT 2, seq, at, 0::smallint, json_build_object('due_at', due_at, 'by', by, 'key', key, 'body', body)::text
    FROM perdure.untaken(p_task, (SELECT inbox_taken FROM t), p_items, p_bytes, p_plain)
  UNION ALL SELECT 3, seq, at, type, CASE WHEN p_plain THEN convert_from(body, 'UTF8') ELSE encode(body, 'base64') END
    FROM (SELECT * FROM perdure.events
      WHERE task = p_task AND seq > coalesce((SELECT seq FROM s), 0) ORDER BY seq) e
$$;

-- Whether that is little: as much as may hold up whoever waits for the task's row.
CREATE FUNCTION perdure.is_quickly_loaded(p_task bigint, p_version text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  t record;
  kept record;
BEGIN
  SELECT last_seq, revision INTO t FROM perdure.tasks WHERE task = p_task;
  SELECT seq, octet_length(bytes) AS size INTO kept FROM perdure.snapshots
    WHERE task = p_task AND version = p_version AND revision = t.revision;
  RETURN t.last_seq - coalesce(kept.seq, 0) <= 64
    AND (SELECT coalesce(sum(octet_length(body)), 0) FROM perdure.events WHERE task = p_task AND seq > coalesce(kept.seq, 0))
      + coalesce(kept.size, 0) <= 65536;
END $$;

-- Takes up to so many tasks, each as if it were claimed alone after the one before it; all in one transaction. Of each, under
-- its number `n`: what was taken (`what` -1), then what it is given if that is quickly loaded, and else nothing: the caller
-- loads it once the claim is committed. `what` -2: what came before under this number does not count, for it broke off.
-- One row without a task where the database was `moved`.
-- Plans are made once, by the indexes alone: a table that is empty when a connection comes to it is not so for long.
CREATE FUNCTION perdure.claim_some(
  p_count integer, p_worker text, p_lease_ms bigint, p_offers text[], p_build text, p_id text, p_queues text[], p_served jsonb,
  p_versions jsonb, p_items integer, p_bytes bigint, p_plain boolean, p_clock bigint[]
) RETURNS TABLE (n integer, what integer, seq integer, at bigint, type smallint, body text) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  taken record;
  version text;
  served jsonb := p_served;
BEGIN
  FOR i IN 1..p_count LOOP
    SELECT * INTO taken
      FROM perdure.claim(p_worker, p_lease_ms, p_offers, p_build, p_id, p_queues, served, p_clock);
    IF taken.task IS NULL AND NOT taken.moved THEN
      RETURN;
    END IF;
    RETURN QUERY SELECT i, -1, 0, 0::bigint, 0::smallint, to_json(taken)::text;
    IF taken.task IS NULL THEN
      RETURN;
    END IF;
    served := served || jsonb_build_object(taken.priority::text, taken.principal);
    version := p_versions ->> taken.agent;
    IF perdure.is_quickly_loaded(taken.task, version) THEN
      BEGIN
        RETURN QUERY SELECT i, l.* FROM perdure.load(taken.task, version, p_build, p_items, p_bytes, p_plain) l;
      EXCEPTION WHEN OTHERS THEN
        RETURN QUERY SELECT i, -2, 0, 0::bigint, 0::smallint, NULL::text;
      END;
    END IF;
  END LOOP;
END $$;

-- Since when the task has been ready that has been so longest, of those that a claim would find.
CREATE FUNCTION perdure.ready_since(p_offers text[], p_build text, p_queues text[], p_clock bigint[]) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  now bigint := coalesce(p_clock[1], perdure.clock_ms());
  lanes integer[] := perdure.served_lanes(p_offers, p_queues);
  level bigint := perdure.next_priority(lanes, NULL);
  oldest bigint;
  since bigint;
BEGIN
  WHILE level IS NOT NULL LOOP
    SELECT min(first.ready_at) INTO oldest FROM unnest(lanes) AS l (lane), LATERAL (
      SELECT t.ready_at FROM perdure.tasks t WHERE t.lane = l.lane AND t.priority = level AND t.ready_at <= now
        AND NOT perdure.is_held(t.task, p_build, now) ORDER BY t.ready_at, t.task LIMIT 1) first;
    since := least(since, oldest);
    level := perdure.next_priority(lanes, level);
  END LOOP;
  RETURN since;
END $$;

-- Leaves a task to its lease: the claim does not count, and this build keeps away for a while. A back-off without a hold has
-- the count 0.
CREATE FUNCTION perdure.let_lapse(
  p_id text, p_fence bigint, p_attempts integer, p_build text, p_back_off_ms bigint, p_clock bigint[],
  OUT code text, OUT fact bigint
) LANGUAGE plpgsql AS $$
DECLARE
  t record;
  now bigint := coalesce(p_clock[1], perdure.clock_ms());
BEGIN
  SELECT task, fence, claimed_by INTO t FROM perdure.tasks WHERE id = p_id FOR NO KEY UPDATE;
  IF t.task IS NULL OR t.fence <> p_fence OR t.claimed_by IS NULL THEN
    code := CASE WHEN t.task IS NULL THEN perdure.absence(p_id) ELSE 'not_owner' END;
    fact := CASE WHEN t.claimed_by IS NOT NULL THEN t.fence END;
    RETURN;
  END IF;
  UPDATE perdure.tasks SET attempts = p_attempts - 1 WHERE task = t.task;
  INSERT INTO perdure.holds AS h (task, at, until, count, build, reason)
    VALUES (t.task, now, now + p_back_off_ms, 0, p_build, '')
    ON CONFLICT (task, build) DO UPDATE SET until = excluded.until;
END $$;
