-- What happens often, as functions: one statement of the caller, and so one round trip and one transaction. In a volatile
-- function every statement sees what was committed when it began, so all that follows a lock is current. `code` is the
-- store's refusal, or null; `fact` the number that it is about. Whoever locks several tasks locks them in the order of
-- their ids.
--
-- `p_clock` is null: the database's own clock is read, after the lock. Tests pass a time, and a time for leases.
-- Several bodies travel as one value and their lengths, what goes with each (48 bytes: salt, chain) likewise.

CREATE FUNCTION perdure.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE
  RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- The identifier of the cluster, which a database that other tools moved does not bring along. Null where it is not to be
-- had: this role may not ask, or the server has none.
CREATE FUNCTION perdure.system_id() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT system_identifier FROM pg_control_system());
EXCEPTION WHEN insufficient_privilege OR undefined_function OR feature_not_supported THEN
  RETURN NULL;
END $$;

-- Whether the place was last seen in another cluster. The identifier is read from a file: once for each start of a server.
CREATE FUNCTION perdure.is_moved() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  seen record;
BEGIN
  SELECT system_id, server_started INTO seen FROM perdure.place;
  IF seen.server_started = pg_postmaster_start_time() THEN
    RETURN false;
  END IF;
  IF seen.system_id <> perdure.system_id() THEN
    RETURN true;
  END IF;
  UPDATE perdure.place SET server_started = pg_postmaster_start_time();
  RETURN false;
END $$;

-- Whether an id is unknown or was forgotten.
CREATE FUNCTION perdure.absence(p_id text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN EXISTS (SELECT FROM perdure.forgotten WHERE id = p_id) THEN 'forgotten' ELSE 'not_found' END
$$;

CREATE FUNCTION perdure.lane_of(p_queue text, p_requires text[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  found_lane integer;
BEGIN
  SELECT lane INTO found_lane FROM perdure.lanes WHERE queue = p_queue AND requires = p_requires;
  IF found_lane IS NULL THEN
    INSERT INTO perdure.lanes (queue, requires) VALUES (p_queue, p_requires) ON CONFLICT DO NOTHING;
    SELECT lane INTO found_lane FROM perdure.lanes WHERE queue = p_queue AND requires = p_requires;
  END IF;
  RETURN found_lane;
END $$;

CREATE FUNCTION perdure.texts(p_array jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg(value ORDER BY n), '{}') FROM jsonb_array_elements_text(p_array) WITH ORDINALITY AS e (value, n)
$$;

CREATE FUNCTION perdure.next_timer(p_task bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT min("dueAt")::bigint FROM perdure.timers WHERE task = p_task AND inbox_seq IS NULL
$$;

-- Puts an item into an inbox. `p_digest` is SHA-256 of its text; only a hash of that under the task's secret is kept.
-- `duplicate` is null where the key came before a redaction: whether this is the same cannot be told.
CREATE FUNCTION perdure.post(
  p_id text, p_by text, p_key text, p_body bytea, p_digest bytea, p_clock bigint[],
  OUT code text, OUT seq integer, OUT duplicate boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
  known record;
  now bigint;
  under bytea;
BEGIN
  SELECT task, status, inbox_seq, inbox_taken INTO t FROM perdure.tasks WHERE id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    code := perdure.absence(p_id);
    RETURN;
  END IF;
  SELECT sha256(secret || p_digest) INTO under FROM perdure.secrets WHERE task = t.task;
  SELECT i.seq, i.hash INTO known FROM perdure.inbox i WHERE i.task = t.task AND i.key = p_key;
  IF FOUND AND NOT (t.status = 'ended' AND known.seq > t.inbox_taken) THEN
    IF known.hash IS NULL OR known.hash = under THEN
      seq := known.seq;
      duplicate := CASE WHEN known.hash = under THEN true END;
    ELSE
      code := 'conflict';
    END IF;
    RETURN;
  END IF;
  IF t.status = 'ended' THEN
    code := 'ended';
    RETURN;
  END IF;
  now := coalesce(p_clock[1], perdure.clock_ms());
  seq := t.inbox_seq + 1;
  duplicate := false;
  INSERT INTO perdure.inbox (task, at, seq, by, key, hash, body) VALUES (t.task, now, seq, p_by, p_key, under, p_body);
  UPDATE perdure.tasks SET inbox_seq = t.inbox_seq + 1,
      since = CASE WHEN lease_until IS NULL THEN least(coalesce(ready_at, now), now) ELSE since END
    WHERE task = t.task;
END $$;

-- Posts what an append carries.
CREATE FUNCTION perdure.post_all(
  p_to text[], p_by text[], p_keys text[], p_lengths integer[], p_bodies bytea, p_digests bytea, p_clock bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  start integer := 1;
BEGIN
  FOR i IN 1 .. cardinality(p_to) LOOP
    PERFORM perdure.post(
      p_to[i], p_by[i], p_keys[i], substr(p_bodies, start, p_lengths[i]), substr(p_digests, i * 32 - 31, 32), p_clock);
    start := start + p_lengths[i];
  END LOOP;
END $$;

-- The first items of a task. The second of a key is passed over, or refused with another body.
CREATE FUNCTION perdure.add_items(
  p_task bigint, p_id text, p_at bigint, p_secret bytea,
  p_by text[], p_keys text[], p_lengths integer[], p_bodies bytea, p_digests bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  start integer := 1;
  next_seq integer := 1;
  under bytea;
BEGIN
  FOR i IN 1 .. cardinality(p_keys) LOOP
    under := sha256(p_secret || substr(p_digests, i * 32 - 31, 32));
    INSERT INTO perdure.inbox (task, at, seq, by, key, hash, body)
      VALUES (p_task, p_at, next_seq, p_by[i], p_keys[i], under, substr(p_bodies, start, p_lengths[i]))
      ON CONFLICT (task, key) DO NOTHING;
    IF FOUND THEN
      next_seq := next_seq + 1;
    ELSIF under <> (SELECT hash FROM perdure.inbox WHERE task = p_task AND key = p_keys[i]) THEN
      RAISE EXCEPTION 'two first items of task % have the key %', p_id, p_keys[i] USING ERRCODE = 'PD409';
    END IF;
    start := start + p_lengths[i];
  END LOOP;
END $$;

CREATE FUNCTION perdure.write_events(
  p_task bigint, p_at bigint, p_after integer, p_types smallint[], p_lengths integer[], p_bodies bytea, p_proofs bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  start integer := 1;
BEGIN
  FOR i IN 1 .. cardinality(p_types) LOOP
    INSERT INTO perdure.events (task, at, seq, type, salt, chain, body) VALUES (
      p_task, p_at, p_after + i, p_types[i],
      substr(p_proofs, i * 48 - 47, 16), substr(p_proofs, i * 48 - 31, 32), substr(p_bodies, start, p_lengths[i]));
    start := start + p_lengths[i];
  END LOOP;
END $$;

CREATE FUNCTION perdure.use_definitions(p_task bigint, p_definitions jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO perdure.definitions (hash, text)
    SELECT d ->> 'hash', d ->> 'text' FROM jsonb_array_elements(p_definitions) d
    WHERE NOT EXISTS (SELECT FROM perdure.definitions WHERE hash = d ->> 'hash') ORDER BY 1
    ON CONFLICT (hash) DO NOTHING;
  INSERT INTO perdure.definition_uses (task, definition)
    SELECT p_task, definition FROM perdure.definitions
    WHERE hash IN (SELECT d ->> 'hash' FROM jsonb_array_elements(p_definitions) d)
    ON CONFLICT DO NOTHING;
END $$;

-- The lane of a task that may have another queue, or other requirements, now.
CREATE FUNCTION perdure.next_lane(p_lane integer, p_columns jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  before record;
BEGIN
  IF NOT p_columns ?| '{queue,requires}' THEN
    RETURN p_lane;
  END IF;
  SELECT queue, requires INTO before FROM perdure.lanes WHERE lane = p_lane;
  RETURN perdure.lane_of(
    coalesce(p_columns ->> 'queue', before.queue),
    CASE WHEN p_columns ? 'requires' THEN perdure.texts(p_columns -> 'requires') ELSE before.requires END);
END $$;

-- The row of a task without a log, and its secret. Null, and nothing done, where the id or the creation key is taken.
CREATE FUNCTION perdure.add_task(
  p_id text, p_key text, p_columns jsonb, p_secret bytea, p_now bigint, p_last_seq integer, p_head bytea, p_inbox_seq integer
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  origin jsonb := p_columns -> 'origin';
  v_task bigint;
BEGIN
  -- A task that was pruned has used its id.
  IF EXISTS (SELECT FROM perdure.pruned WHERE id = p_id) THEN
    RETURN NULL;
  END IF;
  IF p_columns ->> 'historyFrom' IS NOT NULL THEN
    -- A redaction of the source waits for this task to be there, and raises its revision too.
    PERFORM 1 FROM perdure.tasks WHERE id = p_columns ->> 'historyFrom' FOR SHARE;
  END IF;
  INSERT INTO perdure.tasks (created_at, updated_at, since, priority, lane, last_seq, first_seq, inbox_seq, private, head, id, key,
      key_place, agent, owner, front_end, place, conversation, parent, root, history_from, mode, status, waiting_on,
      outcome, reason, epoch)
    VALUES (p_now, p_now, p_now, (p_columns ->> 'priority')::bigint,
      perdure.lane_of(p_columns ->> 'queue', perdure.texts(p_columns -> 'requires')), p_last_seq, p_last_seq,
      p_inbox_seq, (origin ->> 'private')::boolean, p_head, p_id, p_key, origin ->> 'place', p_columns ->> 'agent',
      p_columns ->> 'owner', origin ->> 'frontEnd', origin ->> 'place', origin ->> 'conversation',
      p_columns ->> 'parent', p_columns ->> 'root', p_columns ->> 'historyFrom', p_columns ->> 'mode',
      p_columns ->> 'status', p_columns ->> 'waitingOn', p_columns ->> 'outcome', p_columns ->> 'reason',
      (SELECT epoch FROM perdure.place))
    ON CONFLICT DO NOTHING RETURNING task INTO v_task;
  IF v_task IS NOT NULL THEN
    INSERT INTO perdure.secrets (task, secret) VALUES (v_task, p_secret);
  END IF;
  RETURN v_task;
END $$;

-- `code` 'known': the key came before. Then the first creation's receipt is given, with its first event's body, by which
-- the caller tells whether it asked for the same.
CREATE FUNCTION perdure.create_task(
  p_id text, p_key text, p_columns jsonb, p_secret bytea,
  p_types smallint[], p_lengths integer[], p_bodies bytea, p_proofs bytea, p_clock bigint[], p_rows jsonb,
  p_by text[], p_keys text[], p_item_lengths integer[], p_items bytea, p_digests bytea,
  OUT code text, OUT first_id text, OUT last_seq integer, OUT head bytea, OUT created bytea
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
  v_task bigint;
  now bigint := coalesce(p_clock[1], perdure.clock_ms());
  due bigint;
  n integer := cardinality(p_types);
  items integer := (SELECT count(DISTINCT key) FROM unnest(p_keys) AS first (key));
BEGIN
  -- The second time round, whoever used the key at the same moment has committed.
  FOR round IN 1 .. 2 LOOP
    IF p_key IS NOT NULL THEN
      SELECT task, id, first_seq INTO t FROM perdure.tasks
        WHERE owner = p_columns ->> 'owner' AND key_place = p_columns -> 'origin' ->> 'place' AND key = p_key;
      IF FOUND THEN
        code := 'known';
        first_id := t.id;
        last_seq := t.first_seq;
        SELECT chain INTO head FROM perdure.events WHERE task = t.task AND seq = t.first_seq;
        SELECT body INTO created FROM perdure.events WHERE task = t.task AND seq = 1;
        RETURN;
      END IF;
    END IF;
    IF EXISTS (SELECT FROM perdure.forgotten WHERE id = p_id) THEN
      code := 'forgotten';
      RETURN;
    END IF;
    v_task := perdure.add_task(p_id, p_key, p_columns, p_secret, now, n, substr(p_proofs, n * 48 - 31, 32), items);
    EXIT WHEN v_task IS NOT NULL;
  END LOOP;
  IF v_task IS NULL THEN
    code := 'conflict';
    RETURN;
  END IF;
  PERFORM perdure.write_events(v_task, now, 0, p_types, p_lengths, p_bodies, p_proofs);
  IF p_rows IS NOT NULL THEN
    PERFORM perdure.write_rows(v_task, p_rows);
    due := perdure.next_timer(v_task);
    IF due IS NOT NULL THEN
      UPDATE perdure.tasks SET next_timer_at = due WHERE task = v_task;
    END IF;
  END IF;
  IF p_by IS NOT NULL THEN
    PERFORM perdure.add_items(v_task, p_id, now, p_secret, p_by, p_keys, p_item_lengths, p_items, p_digests);
  END IF;
END $$;
