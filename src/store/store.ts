// PORT: where logs live. One interface and one contract suite (store.contract.ts) for every adapter.
// An adapter keeps what it is given and guards it; it never interprets an event.
import type { Finding } from "../core/check-log.ts";
import type { Entry, Envelope, Redaction } from "../core/envelope.ts";
import type { NewItem } from "../core/items.ts";
import type { Row, TaskColumns } from "../core/project.ts";
import type { Bundle, CreateReceipt, Decided, Definition, Draft, InboxEntry } from "./kept.ts";
import type { NewTask, Showing, Snapshot, StoreStats, TaskRow } from "./kept.ts";

export type { Finding } from "../core/check-log.ts";
export type { Entry, Envelope, Redaction } from "../core/envelope.ts";
export type * from "./kept.ts";

/**
 * The closed set of refusals.
 *
 * - `not_owner`: the fence is not the task's newest; stop, another holds it.
 * - `conflict`: the log does not end where the caller thinks, or a key was used before with another body.
 * - `inbox_moved`: an untaken item or a due timer exists that the caller has not seen.
 * - `redacted`: the task's revision moved on; fold again.
 * - `not_found`, `ended`, `forgotten`: there is no such task; it takes nothing more; it was forgotten.
 * - `newer_version`: the database was written by a newer perdure.
 * - `damaged`: the database, or a row of it, is not what was written.
 * - `unavailable`: nothing can be said about the outcome (busy, full, lost connection, read-only); may be tried again.
 */
export type StoreCode =
  | "not_owner"
  | "conflict"
  | "inbox_moved"
  | "redacted"
  | "not_found"
  | "ended"
  | "forgotten"
  | "newer_version"
  | "damaged"
  | "unavailable";

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreCode;
  constructor(code: StoreCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/**
 * - `not_asked`: the task has no such request.
 * - `not_yours`: another decides it; a collaborator never does.
 * - `settled`: it waits for no decision any more; `state` says what became of it.
 * - `changed`: the hash is of another input than the request's.
 * - `expired`: its time has run out.
 * - `stale`: newer controls have been put up since.
 */
export const refusals = ["not_asked", "not_yours", "settled", "changed", "expired", "stale"] as const;
export type DecisionRefusal = (typeof refusals)[number];

/** Why a decision, or controls for one, cannot be taken. `state`: the request's (a status of `approvals`), if there is one. */
export class DecisionRefused extends StoreError {
  readonly refusal: DecisionRefusal;
  readonly state: string | null;
  constructor(refusal: DecisionRefusal, state: string | null, message: string) {
    super("conflict", message);
    this.refusal = refusal;
    this.state = state;
  }
}

/** An item to post. `key` is unique per task; when it comes again, a keyed hash tells whether the item is the same. */
export interface Post {
  readonly taskId: string;
  readonly by: string;
  readonly key: string;
  readonly item: NewItem;
  /** Where the poster stands: the task must live there at this commit. */
  readonly place?: string;
}

export interface PostReceipt {
  readonly taskId: string;
  /** The item's inbox seq; the first one's where the key came before. */
  readonly seq: number;
  readonly duplicate: boolean;
  /** Something was redacted since the key came: whether what came with it is the same cannot be told any more. */
  readonly unproven?: true;
  /** For a `Decide` that came second, under a key of its own: the first. Nothing was posted; `seq` is the first's. */
  readonly decided?: Decided;
}

export interface CreateParams {
  readonly task: NewTask;
  readonly drafts: readonly Draft[];
  readonly items: readonly Omit<Post, "taskId">[];
}

export interface AppendParams {
  readonly taskId: string;
  readonly fence: number;
  /** The revision that the caller folded. */
  readonly revision: number;
  /** At least one; `drafts[0].seq` is the expected last seq + 1. */
  readonly drafts: readonly Draft[];
  /** The task's row after these events, as far as it changed, and projection rows. */
  readonly columns: Partial<TaskColumns>;
  readonly rows: readonly Row[];
  /** An InputTaken is among the drafts: items up to this inbox seq are consumed, their bodies blanked. `conflict` if the
   * inbox does not reach that far. */
  readonly taken?: number;
  /** Refuse with `inbox_moved` if an item after this inbox seq is untaken, or a timer set before this append is due. */
  readonly inboxSeen?: number;
  /** Items for other tasks (or this one), in the same transaction. A task that is gone or ended, or that knows the key,
   * drops its item. */
  readonly posts?: readonly Post[];
  readonly definitions?: readonly Definition[];
  /** The drafts tell of a restore (`core/interrupted`): the task has come into this epoch, and `restoredFrom` is null from
   * now on. Absent: the task stays in the epoch it is in. */
  readonly epoch?: number;
  /** A child task to create with this append, in the same transaction. */
  readonly children?: readonly CreateParams[];
}

export interface AppendReceipt {
  readonly lastSeq: number;
  readonly at: number;
  /** The inbox's last seq at this commit; greater than what was taken when there is something to take. */
  readonly inboxSeq: number;
  /** A timer was due at this commit. */
  readonly timerDue: boolean;
}

export interface ClaimParams {
  readonly worker: string;
  readonly leaseMs: number;
  /** What this worker can serve: `agent:<name>`, `plugin:<name>`, `host:<name>`. A task is claimed only if all that its
   * row requires is here. */
  readonly offers: readonly string[];
  /** The version of snapshots this worker can use, by agent name. */
  readonly snapshotVersions: Readonly<Record<string, string>>;
  /** Names the running code; a task held by another build is claimed at once, by the same one after its back-off. */
  readonly build: string;
  /** Only this task. */
  readonly taskId?: string;
  readonly queues?: readonly string[];
  /** By priority: the principal that this worker served last there, as its claims told. The next ones come first. */
  readonly served?: Readonly<Record<number, string>>;
}

/** What decides which tasks a worker may claim. */
export type Serving = Pick<ClaimParams, "offers" | "build" | "queues">;

export interface Claim {
  readonly taskId: string;
  readonly agent: string;
  /** For the `served` of this worker's next claims: the task's priority, and its owner, or a later principal up to whom none
   * was passed over that had anything ready. */
  readonly served: { readonly priority: number; readonly principal: string };
  readonly fence: number;
  /** The store's: raised by each restore. A task is created in the epoch of its time. */
  readonly epoch: number;
  /** The store was restored from a backup since the epoch that the task is in: the time of that backup (store's clock, ms),
   * of several the earliest; or the task was imported from a bundle, which is a backup of it alone. Null where the log has told of it, or there is nothing to tell. */
  readonly restoredFrom: number | null;
  readonly revision: number;
  readonly secret: Uint8Array;
  readonly lastSeq: number;
  /** The chain after `lastSeq`. */
  readonly chain: Uint8Array;
  /** The store's clock at this claim (ms). */
  readonly now: number;
  /** When the claim before this one ended, by release or by its lease; null if there was none. */
  readonly previousEndedAt: number | null;
  /** Claims since the last release by a holder, this one included. */
  readonly attempts: number;
  /** How often this build held the task since a holder last parked or stopped it. */
  readonly holds: number;
  readonly snapshot: Snapshot | null;
  /** The log after the snapshot, or all of it, in order of seq. */
  readonly entries: readonly Entry[];
  /** As much of the inbox as one take holds. */
  readonly inbox: readonly InboxEntry[];
  /** The inbox's last seq: greater than that of `inbox`'s last entry where it holds more. */
  readonly inboxSeq: number;
}

/** The claim's holder gives it back.
 * `parked`: nothing to do until something comes; refused with `inbox_moved` like a Waiting.
 * `stop`: the worker stops; the task is ready for another at once.
 * `held`: this build cannot go on; claimed again after `retryAfterMs`, or by another build, or after `letGo`. Each build
 * that held it backs off on its own, until a holder parks or stops it. */
export type ReleaseParams = { readonly taskId: string; readonly fence: number } & (
  | { readonly kind: "parked"; readonly inboxSeen: number }
  | { readonly kind: "stop" }
  | { readonly kind: "held"; readonly reason: string; readonly build: string; readonly retryAfterMs: number }
);

export interface ListParams {
  readonly owner?: string;
  readonly place?: string;
  readonly parent?: string;
  readonly status?: TaskRow["status"];
  /** Ids that begin with this. */
  readonly idPrefix?: string;
  /** Whose log last grew before this (store's clock, ms). */
  readonly updatedBefore?: number;
  /** Newest first by the store's order of creation; continue after this task id. */
  readonly after?: string;
  readonly limit: number;
}

export interface RedactParams {
  readonly taskId: string;
  readonly seqs: readonly number[];
  /** A fresh secret: older hashes of this task's content become incomparable. */
  readonly secret: Uint8Array;
  /** Untaken inbox items to redact too, by inbox seq. */
  readonly items?: readonly number[];
}

export interface PruneParams {
  /** Tasks that ended before this (store's clock, ms). */
  readonly endedBefore: number;
  readonly limit: number;
  /** Only say which. */
  readonly dryRun?: boolean;
}

/** The one seam that every content column passes (events, inbox, snapshots, files). The identity until encryption is
 * switched on. `open` must give back exactly what was sealed. */
export interface Seal {
  seal(bytes: Uint8Array, taskId: string): Uint8Array;
  open(bytes: Uint8Array, taskId: string): Uint8Array;
}

/** Where a store takes its time from. `wall` and `monotonic` in ms; `boot` names the machine's boot, so that
 * monotonic times of several processes compare. */
export interface Clock {
  wall(): number;
  monotonic(): number;
  readonly boot: string;
}

/** Something may have changed: a task's log or inbox grew, or (null) anything. `only` says that nothing but the log did:
 * whoever waits for items or for work need not look. Hints may be missing or too many. */
export type Hint = (taskId: string | null, only?: "log") => void;

export interface Store {
  /** The place as a person would name it, for messages: a path or a URL without its password. */
  readonly name: string;

  /**
   * Creates a task with its first events and items in one transaction; `drafts[0]` is `TaskCreated` at seq 1.
   * The same `key` for one owner and place (of creation) gives the first receipt with `duplicate`. Codes: `conflict`
   * (task id taken, also by a task that was pruned; or key used for another agent or objective), `forgotten`.
   */
  createTask(params: CreateParams): Promise<CreateReceipt>;

  /**
   * Appends events and all that goes with them, or nothing. Guards in this order: task (`not_found`, `forgotten`),
   * fence (`not_owner`), end (`ended`), expected seq (`conflict`), revision (`redacted`), inbox (`inbox_moved`).
   * A TaskEnded deletes the task's snapshots and timers and answers its untaken items `ended` from then on.
   */
  append(params: AppendParams): Promise<AppendReceipt>;

  /**
   * Puts an item into a task's inbox. Acknowledged means committed. A key that came before gives the first receipt with
   * `duplicate`, also after the end if the item was taken. Codes: `not_found`, `forgotten`, `ended`, and `conflict` when
   * the key was used before with another body (not compared once a redaction replaced the secret). `not_found` too where
   * the task does not live in `place`; and for a `Steer` of anybody but the owner, unless the task is public and its
   * `collaborators` rows name the poster: seen in the post's own transaction, before its key is.
   *
   * A `Decide` is judged in the same transaction by the row of its request in `approvals`, in this order: there is one, `by`
   * is whom it names (and no collaborator, unless the owner), it is pending, the hash is its own, it has not expired by the
   * store's clock, and `showing` is 0 (no control was used) or the newest of some front end. Else DecisionRefused. The
   * first is kept beside the item; one that comes after it gets it as `decided`.
   */
  post(params: Post): Promise<PostReceipt>;

  /**
   * A front end puts up new controls for a pending request: the number that they post with. It grows over all front ends of
   * the request, so that it names one; controls of this front end with a smaller one are refused from now on. Codes:
   * `not_found`, `forgotten`, `ended`, DecisionRefused (`not_asked`, `settled`).
   */
  showApproval(params: {
    readonly taskId: string;
    readonly requestId: string;
    readonly frontEnd: string;
  }): Promise<number>;

  /** By request id, showings then by front end (by code point). They go with the task. Empty where there is no task. */
  readDecisions(params: {
    readonly taskId: string;
  }): Promise<{ readonly showings: readonly Showing[]; readonly decided: readonly Decided[] }>;

  /**
   * Claims one task that has something to do (an untaken item, a due timer, or a log in mid-turn) and is not leased; null
   * if there is none. First the highest priority; of that the principal (owner) with the fewest tasks under a lease; of
   * those the next one after `served`, in an order that stays the same and begins again at its end; of that principal's
   * tasks the longest ready (one that was claimed counts from when it was given back, or from when a claim saw that its
   * lease ran out). Where very many principals are ready, an adapter may look at no more than some of those that come
   * next after `served`, so that each gets its claim within so many claims as there are principals. Of claims that are asked
   * for in one moment each counts the leases that those before it took. Raises its fence and counts the attempt before anything is loaded. `taskId` considers that task alone, under the same conditions. A row in
   * `inbox` is an untaken item or a due timer, which this moves into the inbox.
   */
  claim(params: ClaimParams): Promise<Claim | null>;

  /** Since when (store's clock, ms) the task has been ready that has been so longest, of those that such a claim would find
   * now; null if there is none. How far workers lag behind. Lapsed leases count from when a claim saw them. */
  readySince(params: Serving): Promise<number | null>;

  /** Extends the lease to `leaseMs` from the store's now. Codes: `not_owner`, `not_found`, `forgotten`. */
  renew(params: { readonly taskId: string; readonly fence: number; readonly leaseMs: number }): Promise<void>;

  /**
   * Renews a claim from outside this process's event loop (a thread with a connection of its own), so that a tool that
   * blocks the loop does not cost the claim. An addition to `renew`, which alone confirms; absent where an adapter has no
   * such means. Ends by itself when the fence is old. Returns how to stop.
   */
  guard?(params: { readonly taskId: string; readonly fence: number; readonly leaseMs: number }): () => void;

  /** Gives a claim back (see ReleaseParams). Codes: `not_owner`, `inbox_moved` (parked only), `not_found`. */
  release(params: ReleaseParams): Promise<void>;

  /**
   * The holder leaves the task to its lease, which runs out by itself, since only a newer version can go on: the claim does
   * not count as an attempt (`attempts` as it told them), and this build claims the task again only after `backOffMs`, or
   * once a holder parked or stopped it. No hold: the row shows none, and `holds` counts none. Codes: those of `renew`.
   */
  letLapse(
    params: Pick<Claim, "taskId" | "fence" | "attempts"> & { readonly build: string; readonly backOffMs: number },
  ): Promise<void>;

  /** A held task may be claimed again at once. Codes: `not_found`. */
  letGo(params: { readonly taskId: string }): Promise<void>;

  /** Untaken items in order, due timers first moved in; at most 1,000 items and 4 MiB of bodies, but always one. Codes:
   * `not_owner`, `not_found`. */
  readInbox(params: { readonly taskId: string; readonly fence: number }): Promise<readonly InboxEntry[]>;

  /** Entries with `after` < seq <= `through`, in order; at most `limit`. Codes: `not_found`, `forgotten`. */
  read(params: {
    readonly taskId: string;
    readonly after?: number;
    readonly through?: number;
    readonly limit?: number;
  }): Promise<readonly Envelope[]>;

  /** A task's list of redactions, in order. */
  readRedactions(params: { readonly taskId: string }): Promise<readonly Redaction[]>;

  /** Entries after `after` as they are committed, without gaps, in order. Ends after TaskEnded, when aborted, and when the
   * store is closed. Codes: those of `read`. */
  follow(params: {
    readonly taskId: string;
    readonly after?: number;
    readonly signal: AbortSignal;
  }): AsyncIterable<Envelope>;

  /** The row, or null. `claimedBy` is null once the lease ran out. */
  getTask(params: { readonly taskId: string }): Promise<TaskRow | null>;

  listTasks(params: ListParams): Promise<readonly TaskRow[]>;

  /** The stored projection rows of one task, every column of each, in the order of `projections` and then of key (by code
   * point). */
  readRows(params: { readonly taskId: string; readonly table?: Row["table"] }): Promise<readonly Row[]>;

  getDefinitions(params: { readonly hashes: readonly string[] }): Promise<readonly Definition[]>;

  /** The task's secret. Codes: `not_found`, `forgotten`. */
  getSecret(params: { readonly taskId: string }): Promise<Uint8Array>;

  /** Keeps a snapshot, the newest per version, at most two versions. False, and nothing kept, when the task has ended or
   * its revision moved on, or a newer one of that version is there. */
  putSnapshot(params: { readonly taskId: string; readonly snapshot: Snapshot }): Promise<boolean>;

  getSnapshot(params: { readonly taskId: string; readonly version: string }): Promise<Snapshot | null>;

  /**
   * Replaces events by their skeletons, with an entry in the list of redactions each, replaces the task's secret, deletes
   * its snapshots and raises its revision and that of every task that folds it through `historyFrom`. Needs no claim.
   * Seqs already redacted are passed over, items already taken too; where nothing is left to do, nothing changes. Codes:
   * `not_found` (the task, or a seq), `forgotten`, `newer_version` (only the version that wrote an event knows what of it
   * is content), `damaged`.
   */
  redact(params: RedactParams): Promise<{ readonly revision: number }>;

  /**
   * Removes ended tasks whole: log, inbox, rows, snapshots, files, secret; what is left is that the id was used. Such a
   * task is `not_found`, not `forgotten`; to create or import one under its id again is a `conflict`; its creation key is
   * free. Kept whatever its age is a task that a kept one has as parent or folds through `historyFrom`. The ids, newest
   * first by the store's order of creation, so that a prune that is cut short leaves no fork without its source.
   */
  prune(params: PruneParams): Promise<readonly string[]>;

  /** Keeps a task file (chunked); replaces one of that name. Codes: `not_found`, `forgotten`. */
  putFile(params: {
    readonly taskId: string;
    readonly name: string;
    readonly mediaType: string;
    readonly bytes: Uint8Array;
  }): Promise<void>;

  getFile(params: {
    readonly taskId: string;
    readonly name: string;
  }): Promise<{ readonly mediaType: string; readonly bytes: Uint8Array } | null>;

  listFiles(params: {
    readonly taskId: string;
  }): Promise<readonly { readonly name: string; readonly mediaType: string; readonly size: number }[]>;

  /** The task whole. Codes: `not_found`, `forgotten`. */
  exportTask(params: { readonly taskId: string }): Promise<Bundle>;

  /** Takes a bundle as a new task under `taskId`, verified (chain, digests, redactions, definitions), with a new secret, a
   * higher revision and no inbox, whose seqs go on after the bundle's. With `bundleAt` (ms) the bundle is a backup of that
   * time: `restoredFrom` tells of it, and a turn that may have gone on is ready at once, to pause. Codes: `conflict` (id
   * taken), `damaged` (it does not verify). */
  importTask(params: {
    readonly taskId: string;
    readonly bundle: Bundle;
    readonly secret: Uint8Array;
    readonly columns: TaskColumns;
    readonly rows: readonly Row[];
    readonly bundleAt?: number;
  }): Promise<void>;

  /** The store's own consistency (pages, foreign rows, counters). Logs are checked by `client/check.ts`. */
  check(): Promise<readonly Finding[]>;

  stats(): Promise<StoreStats>;

  /** Calls `hint` when a log or inbox may have changed, also by another process. Returns how to stop. */
  subscribe(hint: Hint): () => void;

  /** The store's clock now (ms). */
  now(): Promise<number>;

  /** Ends follows, closes connections. Repeatable. All else is `unavailable` from then on. */
  close(): Promise<void>;
}
