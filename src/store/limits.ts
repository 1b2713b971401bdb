// How much of an inbox one InputTaken takes. The same in every adapter, so that the same inbox gives the same log.
import type { InboxEntry } from "./store.ts";

export const TAKE_ITEMS = 1_000;
export const TAKE_BYTES = 4 * 1024 * 1024;

/** The entries from the front that one take holds: at most TAKE_ITEMS, their bodies at most TAKE_BYTES; always one. */
export const firstTake = (entries: Iterable<InboxEntry>): InboxEntry[] => {
  const taken: InboxEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    bytes += Buffer.byteLength(entry.body);
    if (taken.length > 0 && (taken.length === TAKE_ITEMS || bytes > TAKE_BYTES)) break;
    taken.push(entry);
  }
  return taken;
};
