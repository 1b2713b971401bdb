// What the spike's statements are given: the parts of the port's parameters that reach the database.
import type { Draft } from "../../../src/store/store.ts";

export interface Timer {
  readonly key: string;
  readonly dueAt: number | null;
  readonly seq: number;
}

/** An item to post, already encoded. `salt` and `hash` recognise the same body when the key comes again. */
export interface Item {
  readonly taskId: string;
  readonly by: string;
  readonly key: string;
  readonly body: Uint8Array;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

export interface Append {
  readonly taskId: string;
  readonly fence: number;
  readonly revision: number;
  readonly drafts: readonly Draft[];
  readonly columns?: Partial<Record<"status" | "waitingOn" | "outcome" | "reason", string | null>>;
  readonly usage?: readonly object[];
  readonly timers?: readonly Timer[];
  readonly taken?: number;
  readonly inboxSeen?: number;
  readonly posts?: readonly Item[];
  readonly sources?: readonly string[];
  readonly children?: readonly { readonly taskId: string; readonly drafts: readonly Draft[] }[];
}

export interface AppendAnswer {
  readonly code: string;
  readonly at: number;
  readonly inboxSeq: number;
  readonly timerDue: boolean;
}
