// What a backup and a restore tell, whatever the store.
import type { Finding, Store } from "./store.ts";

/** Looks at a database that is not in place yet. */
export type Verify = (store: Store) => Promise<readonly Finding[]>;

export interface Backup {
  readonly path: string;
  /** The store's clock (ms): all that was committed before is in it. */
  readonly backupAt: number;
  readonly bytes: number;
  /** What `verify` found in the file. Such faults were there before; the file is kept all the same. */
  readonly findings: readonly Finding[];
}

/** More fences than were ever given out in one epoch. A restore raises each by as many. */
export const FENCES_OF_AN_EPOCH = 2 ** 32;

export interface Restored {
  readonly path: string;
  readonly backupAt: number;
  readonly epoch: number;
  /** Tasks that have not ended: each pauses before it goes on. */
  readonly open: number;
  /** Erasures made again; lines of the journals that could not be read. */
  readonly erased: number;
  readonly unreadable: number;
  /** Where the database that was there is now: its file, or its schema. */
  readonly aside: string | null;
  readonly findings: readonly Finding[];
}
