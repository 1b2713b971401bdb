// What the memory store holds: plain maps, changed only by synchronous functions, so each of them is a transaction.
// Such a function refuses before its first change, or not at all.
import type { Row, TaskColumns, Value } from "../../core/project.ts";
import { StoreError, type Clock, type Decided, type Held, type Hint, type Redaction, type Seal } from "../store.ts";

export interface StoredEvent {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  /** The body, sealed. */
  content: Uint8Array;
  salt: Uint8Array | null;
  readonly digest: Uint8Array;
  readonly chain: Uint8Array;
}

export interface StoredItem {
  readonly seq: number;
  readonly at: number;
  readonly by: string;
  readonly key: string;
  /** The body, sealed; null once it was taken. */
  content: Uint8Array | null;
  /** Null when the secret it was made under is gone. */
  hash: string | null;
}

/** `until` on the monotonic clock of `boot`; `wallUntil` for who sees it after another boot. `over`: a claim saw that it
 * ran out; its holder may still come back. */
export interface Lease {
  over: boolean;
  readonly worker: string;
  readonly boot: string;
  readonly until: number;
  readonly wallUntil: number;
}

export interface StoredSnapshot {
  readonly seq: number;
  readonly revision: number;
  readonly content: Uint8Array;
}

export interface StoredFile {
  readonly mediaType: string;
  readonly size: number;
  readonly content: Uint8Array;
}

export interface StoredTask {
  readonly taskId: string;
  readonly createdAt: number;
  /** How many events it was created with, for the receipt of a second creation. */
  readonly createdSeq: number;
  /** Of its creation, or of the restore that its log tells of last. */
  epoch: number;
  /** Of a task that was imported, until its log tells of it: the time of the bundle. */
  bundleAt: number | null;
  columns: TaskColumns;
  updatedAt: number;
  ended: boolean;
  secret: Uint8Array;
  revision: number;
  readonly events: StoredEvent[];
  readonly redactions: Redaction[];
  /** By key, in order of seq. */
  readonly items: Map<string, StoredItem>;
  inboxSeq: number;
  inboxTaken: number;
  fence: number;
  lease: Lease | null;
  attempts: number;
  previousEndedAt: number | null;
  /** Since when, or from when on, it may be claimed; null while it is leased, waits for something to come, or has ended. */
  readyAt: number | null;
  /** By build, the newest last. */
  readonly holds: Map<string, Held & { readonly until: number }>;
  readonly rows: Map<Row["table"], Map<string, Map<string, Value>>>;
  /** By request id: the decision that counts, and the newest showing by front end. */
  readonly decided: Map<string, Decided>;
  readonly showings: Map<string, Map<string, number>>;
  readonly definitions: Set<string>;
  /** By version, the one written last at the end. */
  readonly snapshots: Map<string, StoredSnapshot>;
  readonly files: Map<string, StoredFile>;
}

export interface State {
  readonly clock: Clock;
  readonly seal: Seal;
  /** In the order of creation. */
  readonly tasks: Map<string, StoredTask>;
  /** Ids that are gone and must stay so. */
  readonly forgotten: Set<string>;
  /** Ids of tasks that were pruned. */
  readonly pruned: Set<string>;
  epoch: number;
  /** The time of the backup that each epoch but the first began with. */
  readonly restores: Map<number, number>;
  /** Task ids by owner, place and creation key. */
  readonly creationKeys: Map<string, string>;
  /** Texts by hash. */
  readonly definitions: Map<string, string>;
  readonly hints: Set<Hint>;
  /** The latest time that was told, and when that was on the monotonic clock. */
  told: { readonly wall: number; readonly monotonic: number };
}

export const openState = (clock: Clock, seal: Seal): State => ({
  clock,
  seal,
  tasks: new Map(),
  forgotten: new Set(),
  pruned: new Set(),
  epoch: 1,
  restores: new Map(),
  creationKeys: new Map(),
  definitions: new Map(),
  hints: new Set(),
  told: { wall: -Infinity, monotonic: 0 },
});

/**
 * The time of events, items, timers and back-offs: the wall clock, but it never goes back. After a jump back it goes on at
 * the pace of the monotonic clock, so that a back-off of seconds still takes seconds.
 */
export const nowOf = (state: State): number => {
  const monotonic = state.clock.monotonic();
  const { told } = state;
  const wall = Math.max(state.clock.wall(), told.wall + Math.max(0, monotonic - told.monotonic));
  state.told = { wall, monotonic };
  return wall;
};

/** The task. Codes: `not_found`, `forgotten`. */
export const findTask = (state: State, taskId: string): StoredTask => {
  const task = state.tasks.get(taskId);
  if (task !== undefined) return task;
  if (state.forgotten.has(taskId)) throw new StoreError("forgotten", `task ${taskId} was forgotten`);
  const told = state.pruned.has(taskId) ? `task ${taskId} was pruned` : `there is no task ${taskId}`;
  throw new StoreError("not_found", told);
};

/** Tells who listens, once the change stands. */
export const changed = (state: State, taskId: string, only?: "log"): void => {
  for (const hint of state.hints) queueMicrotask(() => hint(taskId, only));
};
