// Claims: which task is next, who may append to it, and for how long, by the database's clock. A claim commits before
// anything is loaded; the load is one statement, and so of one moment.
import { StoreError, type Claim, type ClaimParams, type ReleaseParams, type Serving, type Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { comeHome } from "./epochs.ts";
import { bodyText, takeOf, takeValues, type ItemRow } from "./inbox.ts";
import { bodyColumn, namesOf } from "./log.ts";
import { isUntranslatable } from "./refusal.ts";
import { accepted, type Answer } from "./refuse.ts";
import { requireTask } from "./tasks.ts";
import { decodeText, encodeText } from "./text.ts";

interface Taken {
  readonly task: number;
  readonly id: string;
  readonly agent: string;
  readonly fence: number;
  readonly attempts: number;
  readonly previous_ended_at: number | null;
  readonly now: number;
  readonly priority: number;
  readonly principal: string;
  /** The database is in another cluster than it was: nothing was taken. */
  readonly moved: boolean | null;
}

const CLAIM = `SELECT * FROM perdure.claim_some($1::integer, $2::text, $3::bigint, $4::text[], $5::text, $6::text,
  $7::text[], $8::jsonb, $9::bigint[])`;

/** What a row of LOAD is about. */
const [TASK, SNAPSHOT, ITEM] = [0, 1, 2];

/** All that a claim is given, of the task with the number $1. */
export const LOAD = `WITH t AS MATERIALIZED (SELECT * FROM perdure.tasks WHERE task = $1),
  s AS MATERIALIZED (SELECT seq, revision, bytes FROM perdure.snapshots
    WHERE task = $1 AND version = $2 AND revision = (SELECT revision FROM t))
  SELECT ${String(TASK)} AS what, last_seq AS seq, revision::bigint AS at, 0::smallint AS type, json_build_object(
    'chain', encode(head, 'hex'), 'secret', (SELECT encode(secret, 'hex') FROM perdure.secrets WHERE task = $1),
    'epoch', place.epoch, 'version', version, 'inbox_seq', inbox_seq,
    'restored', least(t.bundle_at, (SELECT min(backup_at) FROM perdure.restores r WHERE r.epoch > t.epoch)),
    'holds', (SELECT count FROM perdure.holds WHERE task = $1 AND build = $3))::text AS body FROM t, perdure.place
  UNION ALL SELECT ${String(SNAPSHOT)}, seq, revision, 0, encode(bytes, 'base64') FROM s
  UNION ALL SELECT ${String(ITEM)}, seq, at, 0, json_build_object('due_at', due_at, 'by', by, 'key', key, 'body', body)::text
    FROM perdure.untaken($1, (SELECT inbox_taken FROM t), $4, $5, $6::boolean)
  UNION ALL SELECT 3, seq, at, type, ${bodyColumn("$7")} FROM (SELECT * FROM perdure.events
    WHERE task = $1 AND seq > coalesce((SELECT seq FROM s), 0) ORDER BY seq) e`;

type Loaded = readonly [what: number, seq: number, at: number, type: number, body: string];

interface LoadedTask {
  readonly chain: string;
  readonly secret: string | null;
  readonly epoch: number;
  readonly version: number;
  readonly inbox_seq: number;
  readonly restored: number | null;
  readonly holds: number | null;
}

const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));

const itemOf = ([, seq, at, , json]: Loaded): ItemRow => {
  const item = JSON.parse(json) as Omit<ItemRow, "seq" | "at">;
  return { ...item, seq, at, by: decodeText(item.by), key: decodeText(item.key) };
};

/** Null when the task is gone since. */
const load = async (
  connection: Connection,
  taken: Taken,
  params: ClaimParams,
  plain = connection.plain,
): Promise<Claim | null> => {
  const { id: taskId, agent, fence, attempts, now } = taken;
  const version = Object.hasOwn(params.snapshotVersions, agent) ? params.snapshotVersions[agent] : undefined;
  const versionValue = version === undefined ? null : encodeText(version);
  const values = [taken.task, versionValue, encodeText(params.build), ...takeValues(connection), plain];
  const rows = await connection.tuples<Loaded>(LOAD, ...values);
  const first = rows.find(([what]) => what === TASK);
  if (first === undefined) return null;
  const task = JSON.parse(first[4]) as LoadedTask;
  connection.requireKnown(task.version);
  if (task.secret === null) throw new StoreError("damaged", `task ${taskId} of ${connection.name} has lost its secret`);
  const kept = rows.find(([what]) => what === SNAPSHOT);
  const events = rows.filter(([what]) => what > ITEM);
  const nameOf = await namesOf(
    connection,
    connection,
    events.map((row) => row[3]),
  );
  const seal = (sealed: string) => connection.seal.open(new Uint8Array(Buffer.from(sealed, "base64")), taskId);
  return {
    ...{ taskId, agent, fence, attempts, now, previousEndedAt: taken.previous_ended_at },
    served: { priority: taken.priority, principal: decodeText(taken.principal) },
    ...{
      lastSeq: first[1],
      revision: first[2],
      epoch: task.epoch,
      holds: task.holds ?? 0,
      restoredFrom: task.restored,
    },
    ...{ secret: fromHex(task.secret), chain: fromHex(task.chain) },
    snapshot:
      kept === undefined ? null : { seq: kept[1], version: version ?? "", revision: kept[2], bytes: seal(kept[4]) },
    entries: events.map(([, seq, at, code, body]) => {
      return { seq, at, type: nameOf(code), body: bodyText(connection, taskId, body, plain) };
    }),
    inbox: takeOf(connection, taskId, rows.filter(([what]) => what === ITEM).map(itemOf)),
    inboxSeq: task.inbox_seq,
  };
};

const take = (connection: Connection, count: number, params: ClaimParams): Promise<readonly Taken[]> => {
  const { worker, leaseMs, offers, build, taskId, queues, served = {} } = params;
  const last = Object.fromEntries(Object.entries(served).map(([priority, owner]) => [priority, encodeText(owner)]));
  return connection.rows<Taken>(
    CLAIM,
    ...[count, encodeText(worker), leaseMs, offers.map(encodeText), encodeText(build)],
    ...[taskId === undefined ? null : encodeText(taskId), queues?.map(encodeText) ?? null],
    ...[JSON.stringify(last), connection.clock],
  );
};

/** The same, under a process that stayed while its statements came to lead to another cluster. */
const takeHere = async (connection: Connection, count: number, params: ClaimParams): Promise<readonly Taken[]> => {
  const taken = await take(connection, count, params);
  if (taken[0]?.moved !== true) return taken;
  await comeHome(connection);
  return take(connection, count, params);
};

/** Claims that are asked for in one moment, and the tasks taken for them. */
interface Together {
  count: number;
  readonly taken: Promise<readonly Taken[]>;
}

/**
 * How a connection claims. A worker with room for several tasks asks for as many claims in one moment: one statement takes
 * what they get, in one commit, and each loads its own.
 */
export const claimsOf = (connection: Connection): Store["claim"] => {
  const asked = new Map<string, Together>();
  const ask = (params: ClaimParams): Together => {
    const { worker, leaseMs, offers, build, taskId, queues, served } = params;
    const key = JSON.stringify([worker, leaseMs, offers, build, taskId, queues, served]);
    const before = asked.get(key);
    if (before !== undefined) return before;
    const together: Together = {
      count: 0,
      taken: Promise.resolve().then(() => {
        asked.delete(key);
        return takeHere(connection, together.count, params);
      }),
    };
    asked.set(key, together);
    return together;
  };
  return async (params) => {
    const together = ask(params);
    const place = together.count;
    together.count += 1;
    const taken = (await together.taken)[place];
    if (taken === undefined || taken.task === null) return null;
    try {
      return await load(connection, taken, params);
    } catch (error) {
      // A bundle may have brought a body that is no text for Postgres.
      if (!isUntranslatable(error)) throw error;
      return load(connection, taken, params, false);
    }
  };
};

const READY_SINCE = "SELECT perdure.ready_since($1::text[], $2::text, $3::text[], $4::bigint[]) AS since";

/** See `Store.readySince`. */
export const readySince = async (connection: Connection, params: Serving): Promise<number | null> => {
  const { offers, build, queues } = params;
  const values = [offers.map(encodeText), encodeText(build), queues?.map(encodeText) ?? null, connection.clock];
  return (await connection.first<{ since: number | null }>(READY_SINCE, ...values))?.since ?? null;
};

const LET_LAPSE = `SELECT * FROM perdure.let_lapse($1::text, $2::bigint, $3::integer, $4::text, $5::bigint, $6::bigint[])`;

/** Codes: `not_owner`, `not_found`, `forgotten`. */
export const letLapse = async (
  connection: Connection,
  { taskId, fence, attempts, build, backOffMs }: Parameters<Store["letLapse"]>[0],
): Promise<void> => {
  const values = [encodeText(taskId), fence, attempts, encodeText(build), backOffMs, connection.clock];
  accepted(await connection.first<Answer>(LET_LAPSE, ...values), taskId, connection.name);
};

const RENEW = "SELECT * FROM perdure.renew($1::text, $2::bigint, $3::bigint, $4::bigint[])";

/** Codes: `not_owner`, `not_found`, `forgotten`. */
export const renew = async (
  connection: Connection,
  { taskId, fence, leaseMs }: { readonly taskId: string; readonly fence: number; readonly leaseMs: number },
): Promise<void> => {
  const answer = await connection.first<Answer>(RENEW, encodeText(taskId), fence, leaseMs, connection.clock);
  accepted(answer, taskId, connection.name);
};

const RELEASE = `SELECT * FROM perdure.release($1::text, $2::bigint, $3::text, $4::integer, $5::text, $6::text, $7::bigint,
  $8::bigint[])`;

/** Codes: `not_owner`, `inbox_moved`, `not_found`, `forgotten`. */
export const release = async (connection: Connection, params: ReleaseParams): Promise<void> => {
  const { taskId, fence, kind } = params;
  const held =
    kind === "held" ? [encodeText(params.reason), encodeText(params.build), params.retryAfterMs] : [null, null, null];
  const seen = kind === "parked" ? params.inboxSeen : null;
  const answer = await connection.first<Answer>(
    RELEASE,
    ...[encodeText(taskId), fence, kind, seen, ...held, connection.clock],
  );
  accepted(answer, taskId, connection.name);
};

/** Codes: `not_found`, `forgotten`. */
export const letGo = async (connection: Connection, taskId: string): Promise<void> => {
  const { task } = await requireTask(connection, connection, taskId);
  await connection.rows("DELETE FROM perdure.holds WHERE task = $1", task);
};
