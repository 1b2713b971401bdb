// Stored entries to a state: decode, then fold.
import { decodeEvent } from "../core/codec.ts";
import type { Recorded } from "../core/events.ts";
import { apply, createState } from "../core/fold.ts";
import type { Reducers, TaskState } from "../core/state.ts";
import type { Entry } from "../store/store.ts";

const decodeEntry = (entry: Entry): Recorded => ({
  seq: entry.seq,
  at: entry.at,
  event: decodeEvent(entry.type, entry.body),
});

/** Folds entries onto `from`, or from the start. Throws CodecError, FoldError, or what a reducer threw. */
export const foldEntries = (
  taskId: string,
  entries: readonly Entry[],
  reducers: Reducers,
  from?: TaskState,
): TaskState => {
  let state = from;
  for (const entry of entries) {
    const recorded = decodeEntry(entry);
    state = state === undefined ? createState(taskId, recorded) : apply(state, recorded, reducers);
  }
  if (state === undefined) throw new Error(`task ${taskId} has no events`);
  return state;
};
