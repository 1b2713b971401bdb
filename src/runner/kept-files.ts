// The task files that the model calls of one claim show. Every request names the same ones again, until a compaction or a
// redaction takes them out: they are read from the store once.
import type { ModelContext } from "../model/model.ts";
import type { Run } from "./run.ts";

export interface KeptFiles {
  /** The journal's revision at which they were asked for. */
  readonly revision: number;
  readonly byName: ReadonlyMap<string, Uint8Array>;
}

/** What a claim keeps at most, in bytes: about what one request may hold. What is beyond it is read at each call. */
const KEPT_BYTES = 2 ** 25;

/**
 * How the next call is given its files. Kept of those before are what it asks for too; after a redaction none, since what
 * one of them showed may be gone. A file that is not there is asked for again.
 */
export const filesFor = (run: Run): NonNullable<ModelContext["file"]> => {
  const { claim, ports, journal } = run;
  const before = run.files?.revision === journal.revision ? run.files.byName : undefined;
  const byName = new Map<string, Uint8Array>();
  run.files = { revision: journal.revision, byName };
  let room = KEPT_BYTES;
  return async (name) => {
    const kept = byName.get(name) ?? before?.get(name);
    const bytes = kept ?? (await ports.store.getFile({ taskId: claim.taskId, name }))?.bytes ?? null;
    if (bytes !== null && !byName.has(name) && bytes.length <= room) {
      room -= bytes.length;
      byName.set(name, bytes);
    }
    return bytes;
  };
};
