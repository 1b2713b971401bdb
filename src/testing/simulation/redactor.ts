// Redacts words from a running task, and remembers which must never be seen again from when on.
import type { SimulatedSystem } from "./system.ts";
import { markerPattern } from "./seed-plan.ts";

/** A word that is gone: no event after `lastSeq`, and no request made at `revision` or later, may hold it. */
export interface Gone {
  readonly marker: string;
  readonly revision: number;
  readonly lastSeq: number;
}

const markersIn = (body: string): string[] => body.match(markerPattern) ?? [];

/** Picks a word that the log holds and removes it from every event that holds it, and from the inbox. */
export const redactSomething = async (system: SimulatedSystem, taskId: string): Promise<Gone | null> => {
  const { store, chance } = system;
  const entries = await store.read({ taskId });
  const markers = [...new Set(entries.flatMap((entry) => markersIn(entry.body)))];
  const marker = markers[chance.below(Math.max(1, markers.length))];
  if (marker === undefined) return null;
  const seqs = entries.filter((entry) => entry.body.includes(marker)).map((entry) => entry.seq);
  const { revision } = await store.redact({ taskId, seqs, secret: chance.bytes(32) });
  return { marker, revision, lastSeq: entries.at(-1)?.seq ?? 0 };
};
