// What of the events that are not appended yet outlives a redaction that came first: the log is folded anew then, and what was
// made of the conversation may quote what is gone.
import { changesOutside, type Event } from "../core/events.ts";
import { asGap } from "../core/redact.ts";
import type { TaskState } from "../core/state.ts";

/** What a plugin made, and of which words. */
export interface Made {
  /** The revision under which it looked at the state, if it did: from another one on, it may quote what is gone. */
  quotes: number | null;
}

/** What was added together, and stays together. */
export interface Group {
  readonly events: readonly Event[];
  /** See `addDerived`. */
  readonly derived: boolean;
  /** The call that these are the outcome of. */
  readonly callId?: string;
  readonly quotes: number | null;
}

/**
 * An outcome of an open call is a fact about the outside. Where it may quote what is gone, or is none yet (a parked call),
 * a call that changed nothing outside runs again; a write's becomes a gap. What an item brought is in the log already,
 * perhaps redacted: that result is made again from there.
 */
const outlivingOutcome = ({ events, callId, quotes }: Group, { calls }: TaskState): readonly Event[] => {
  const call = calls.find(({ id, phase }) => id === callId && phase !== "finished");
  if (call === undefined || call.arrival !== undefined) return [];
  if (quotes === null && events.some(({ type }) => type === "ToolFinished")) return events;
  return changesOutside(call) ? events.map(asGap) : [];
};

/** What of a group outlives a redaction that came before it was appended: what happened, without words that may be gone. */
export const outliving = (group: Group, state: TaskState): readonly Event[] => {
  if (group.derived) return [];
  if (group.callId !== undefined) return outlivingOutcome(group, state);
  const isOpen = (callId: string): boolean =>
    state.calls.some(({ id, phase, arrival }) => id === callId && phase !== "finished" && arrival === undefined);
  const events = group.events.filter((event) =>
    event.type === "ToolFinished"
      ? isOpen(event.callId)
      : event.type === "ExtensionRecorded" && event.extension !== "core",
  );
  return group.quotes === null ? events : events.map(asGap);
};
