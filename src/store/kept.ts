// What a store keeps and shows: entries of logs and inboxes, tasks' rows, bundles. Part of the port (store.ts).
import type { Envelope, Redaction } from "../core/envelope.ts";
import type { EndOutcome, EventType, Mode, Outcome, WaitingOn } from "../core/events.ts";
import type { Origin } from "../core/items.ts";
import type { Row, TaskColumns } from "../core/project.ts";

/** An event ready to be stored. The writer made salt (16 bytes), digest and chain (32 bytes each), so that the same
 * append can be sent twice. `body` is the event's JSON text. */
export interface Draft {
  readonly seq: number;
  readonly type: EventType;
  readonly body: string;
  readonly salt: Uint8Array;
  readonly digest: Uint8Array;
  readonly chain: Uint8Array;
}

export interface NewTask {
  readonly taskId: string;
  /** Unique per owner and place; a second creation with it returns the first's receipt. */
  readonly key?: string;
  /** 32 random bytes under which hashes of this task's content are made. Kept outside the log. */
  readonly secret: Uint8Array;
  /** The row as `project` gives it after the first events. */
  readonly columns: TaskColumns;
  readonly rows: readonly Row[];
}

export interface CreateReceipt {
  readonly taskId: string;
  readonly lastSeq: number;
  readonly head: string;
  readonly duplicate: boolean;
}

export interface Snapshot {
  readonly seq: number;
  readonly version: string;
  readonly revision: number;
  readonly bytes: Uint8Array;
}

/** A tool, prompt or other definition shared by the tasks that use it, named by the hash of its text. */
export interface Definition {
  readonly hash: string;
  readonly text: string;
}

/** An untaken inbox item. `body` is the item's JSON text, which a newer version may have written. */
export interface InboxEntry {
  readonly seq: number;
  readonly at: number;
  readonly by: string;
  readonly key: string;
  readonly body: string;
}

/** The decision on a request that counts: the first. Kept with the item that brought it. */
export interface Decided {
  readonly requestId: string;
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly at: number;
  /** The item's inbox seq. */
  readonly seq: number;
}

/** The newest controls that a front end put up for a request. */
export interface Showing {
  readonly requestId: string;
  readonly frontEnd: string;
  readonly showing: number;
}

export interface Held {
  readonly reason: string;
  readonly build: string;
  readonly at: number;
  /** How often this build did; what the back-off grows with. */
  readonly count: number;
}

/** A task's row: a projection of its log, and the store's own columns. */
export interface TaskRow {
  readonly taskId: string;
  readonly agent: string;
  readonly owner: string;
  readonly origin: Origin;
  readonly parent: string | null;
  readonly root: string;
  readonly mode: Mode;
  /** `ready`: created, not begun. `running`: in a turn. `waiting`, `ended`: as the log's last words. */
  readonly status: "ready" | "running" | "waiting" | "ended";
  readonly waitingOn: WaitingOn | null;
  readonly outcome: Outcome | EndOutcome | null;
  readonly reason: string | null;
  readonly requires: readonly string[];
  readonly queue: string;
  readonly priority: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSeq: number;
  readonly head: string;
  readonly revision: number;
  readonly redactions: number;
  readonly inboxSeq: number;
  readonly inboxTaken: number;
  readonly fence: number;
  readonly claimedBy: string | null;
  readonly held: Held | null;
  readonly nextTimerAt: number | null;
  /** As in a claim. Null once the task has ended. */
  readonly restoredFrom: number | null;
}

export interface StoreStats {
  readonly tasks: number;
  readonly types: readonly { readonly type: string; readonly events: number; readonly bytes: number }[];
  readonly snapshotBytes: number;
  readonly fileBytes: number;
  /** The whole store on disk; null where it cannot be known. */
  readonly storeBytes: number | null;
}

/** A task whole, as `exportTask` gives it and `importTask` takes it. */
export interface Bundle {
  readonly format: "perdure-task/1";
  readonly row: TaskRow;
  readonly entries: readonly Envelope[];
  readonly redactions: readonly Redaction[];
  readonly definitions: readonly Definition[];
  readonly files: readonly { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array }[];
}
