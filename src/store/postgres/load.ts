// What a claim is given: rows of one moment, put together. They come with the claim where they are few; else they are one
// statement of their own once the claim is committed.
import { StoreError, type Claim, type ClaimParams } from "../store.ts";
import type { Connection } from "./connection.ts";
import { bodyText, takeOf, takeValues, type ItemRow } from "./inbox.ts";
import { namesOf } from "./log.ts";
import { isUntranslatable } from "./refusal.ts";
import { decodeText, encodeText } from "./text.ts";

/** A task that was claimed, as `perdure.claim` tells of it. */
export interface Taken {
  readonly task: number;
  readonly id: string;
  readonly agent: string;
  readonly fence: number;
  readonly attempts: number;
  readonly previous_ended_at: number | null;
  readonly now: number;
  readonly priority: number;
  readonly principal: string;
}

/** What a row of `perdure.load` is about. Events come last. */
const [TASK, SNAPSHOT, ITEM] = [0, 1, 2];

export type Loaded = readonly [what: number, seq: number, at: number, type: number, body: string];

export const LOAD = "SELECT * FROM perdure.load($1::bigint, $2::text, $3::text, $4::integer, $5::bigint, $6::boolean)";

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

const versionFor = ({ snapshotVersions }: ClaimParams, agent: string): string | undefined =>
  Object.hasOwn(snapshotVersions, agent) ? snapshotVersions[agent] : undefined;

/** Null when the task is gone since. `plain`: whether bodies are given as text. */
export const claimFrom = async (
  connection: Connection,
  { id: taskId, ...taken }: Taken,
  params: ClaimParams,
  rows: readonly Loaded[],
  plain = connection.plain,
): Promise<Claim | null> => {
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
  const { agent, fence, attempts, now } = taken;
  const version = versionFor(params, agent) ?? "";
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
    snapshot: kept === undefined ? null : { seq: kept[1], version, revision: kept[2], bytes: seal(kept[4]) },
    entries: events.map(([, seq, at, code, body]) => {
      return { seq, at, type: nameOf(code), body: bodyText(connection, taskId, body, plain) };
    }),
    inbox: takeOf(connection, taskId, rows.filter(([what]) => what === ITEM).map(itemOf)),
    inboxSeq: task.inbox_seq,
  };
};

/** Null when the task is gone since. */
export const load = async (connection: Connection, taken: Taken, params: ClaimParams): Promise<Claim | null> => {
  const version = versionFor(params, taken.agent);
  const versionValue = version === undefined ? null : encodeText(version);
  const [items, bytes] = takeValues(connection);
  const from = async (plain: boolean) => {
    const values = [taken.task, versionValue, encodeText(params.build), items, bytes, plain];
    return claimFrom(connection, taken, params, await connection.tuples<Loaded>(LOAD, ...values), plain);
  };
  try {
    return await from(connection.plain);
  } catch (error) {
    // A bundle may have brought a body that is no text for Postgres.
    if (!isUntranslatable(error)) throw error;
    return from(false);
  }
};
