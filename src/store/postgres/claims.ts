// Claims: which task is next, who may append to it, and for how long, by the database's clock. What is quickly loaded comes
// with the claim; the rest is loaded once the claim is committed.
import type { ClaimParams, ReleaseParams, Serving, Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { comeHome } from "./epochs.ts";
import { takeValues } from "./inbox.ts";
import { claimFrom, load, type Loaded, type Taken } from "./load.ts";
import { accepted, type Answer } from "./refuse.ts";
import { requireTask } from "./tasks.ts";
import { decodeText, encodeText } from "./text.ts";

const CLAIM = `SELECT * FROM perdure.claim_some($1::integer, $2::text, $3::bigint, $4::text[], $5::text, $6::text,
  $7::text[], $8::jsonb, $9::jsonb, $10::integer, $11::bigint, $12::boolean, $13::bigint[])`;

/** What a row of a claim is about, before the rows of what was loaded. */
const [TAKEN, BROKE_OFF] = [-1, -2];

/** A task that was claimed, and its rows as far as they came along: none where they are many. */
interface Given {
  readonly taken: Taken;
  readonly loaded: Loaded[];
}

/** Null: the database is in another cluster than it was, and nothing was taken. */
const take = async (connection: Connection, count: number, params: ClaimParams): Promise<readonly Given[] | null> => {
  const { worker, leaseMs, offers, build, taskId, queues, served = {}, snapshotVersions } = params;
  const encoded = (texts: Readonly<Record<string, string>>): string =>
    JSON.stringify(Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, encodeText(text)])));
  const rows = await connection.tuples<[n: number, ...Loaded]>(
    CLAIM,
    ...[count, encodeText(worker), leaseMs, offers.map(encodeText), encodeText(build)],
    ...[taskId === undefined ? null : encodeText(taskId), queues?.map(encodeText) ?? null],
    ...[encoded(served), encoded(snapshotVersions), ...takeValues(connection), connection.clock],
  );
  const given: Given[] = [];
  for (const [n, ...row] of rows) {
    if (row[0] === TAKEN) {
      const taken = JSON.parse(row[4]) as Taken & { readonly moved: boolean };
      if (taken.moved) return null;
      given.push({ taken: { ...taken, id: decodeText(taken.id), agent: decodeText(taken.agent) }, loaded: [] });
    } else if (row[0] === BROKE_OFF) given[n - 1]?.loaded.splice(0);
    else given[n - 1]?.loaded.push(row);
  }
  return given;
};

/** The same, under a process that stayed while its statements came to lead to another cluster. */
const takeHere = async (connection: Connection, count: number, params: ClaimParams): Promise<readonly Given[]> => {
  const taken = await take(connection, count, params);
  if (taken !== null) return taken;
  await comeHome(connection);
  return (await take(connection, count, params)) ?? [];
};

/** Claims that are asked for in one moment, and the tasks taken for them. */
interface Together {
  count: number;
  readonly taken: Promise<readonly Given[]>;
}

/**
 * How a connection claims. A worker with room for several tasks asks for as many claims in one moment: one statement takes
 * what they get, in one commit.
 */
export const claimsOf = (connection: Connection): Store["claim"] => {
  const asked = new Map<string, Together>();
  const ask = (params: ClaimParams): Together => {
    const key = JSON.stringify(params);
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
    const given = (await together.taken)[place];
    if (given === undefined) return null;
    const { taken, loaded } = given;
    return loaded.length > 0 ? claimFrom(connection, taken, params, loaded) : load(connection, taken, params);
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
