// The log of a task: events in order of seq, stored sealed.
import { FIRST_CHAIN, toHex } from "../../core/envelope.ts";
import { openText, sealText } from "../seal.ts";
import type { Envelope } from "../store.ts";
import { findTask, type State, type StoredEvent, type StoredTask } from "./state.ts";

/** The chain after the last of `events`. */
export const chainAfter = (events: readonly StoredEvent[]): Uint8Array => (events.at(-1)?.chain ?? FIRST_CHAIN).slice();

/** The same, as heads are shown. */
export const headOf = (events: readonly StoredEvent[]): string => toHex(chainAfter(events));

/** Adds events; the caller has checked that they go on from the last. */
export const storeEvents = (state: State, task: StoredTask, entries: readonly Envelope[]): void => {
  for (const { seq, at, type, body, salt, digest, chain } of entries) {
    const content = sealText(state.seal, task.taskId, body);
    const copies = { salt: salt?.slice() ?? null, digest: digest.slice(), chain: chain.slice() };
    task.events.push({ seq, at, type, content, ...copies });
    task.updatedAt = at;
  }
};

export const envelopeOf = (state: State, task: StoredTask, event: StoredEvent): Envelope => {
  const { content, salt, digest, chain, ...rest } = event;
  const copies = { salt: salt?.slice() ?? null, digest: digest.slice(), chain: chain.slice() };
  return { ...rest, body: openText(state.seal, task.taskId, content), ...copies };
};

export interface ReadParams {
  readonly taskId: string;
  readonly after?: number;
  readonly through?: number;
  readonly limit?: number;
}

export const read = (
  state: State,
  { taskId, after = 0, through = Infinity, limit = Infinity }: ReadParams,
): Envelope[] => {
  const task = findTask(state, taskId);
  // Seqs are dense from 1, so an event's place is its seq less one.
  return task.events.slice(after, Math.min(through, after + limit)).map((event) => envelopeOf(state, task, event));
};
