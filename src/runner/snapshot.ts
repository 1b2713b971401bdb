// Snapshots: a folded state as of one seq, made from stored events and never from live state. Never needed for correctness.
import { isEqualJson } from "../core/equal.ts";
import type { Reducers, TaskState } from "../core/state.ts";
import type { Snapshot } from "../store/store.ts";
import { foldEntries } from "./fold-entries.ts";
import type { RunnerPorts } from "./ports.ts";

/** A snapshot is due when the events past the newest one have at least this share of its uncompressed size. */
const GROWTH = 0.1;

type Ports = Pick<RunnerPorts, "store" | "compress" | "decompress" | "limits">;

/** The state of a task's snapshot and its uncompressed size (characters); undefined if it does not decode to one. */
export const decodeSnapshot = (
  ports: Pick<Ports, "decompress">,
  taskId: string,
  snapshot: Snapshot,
): { readonly state: TaskState; readonly size: number } | undefined => {
  try {
    const text = ports.decompress(snapshot.bytes);
    const state = JSON.parse(text) as TaskState;
    return state.taskId === taskId && state.seq === snapshot.seq ? { state, size: text.length } : undefined;
  } catch {
    return undefined;
  }
};

/** The state as JSON text, or null for a state that the text does not carry faithfully. */
export const encodeState = (state: TaskState): string | null => {
  const text = JSON.stringify(state);
  return isEqualJson(JSON.parse(text), state) ? text : null;
};

/** What decides whether a snapshot is due. */
export interface SnapshotProgress {
  /** The seq and uncompressed size (characters) of the newest one; 0 and 0 without. */
  seq: number;
  size: number;
  /** Bytes of the events after it. */
  bytesAfter: number;
}

export const isSnapshotDue = (progress: SnapshotProgress, lastSeq: number, snapshotEvery: number): boolean =>
  snapshotEvery > 0 && lastSeq - progress.seq >= snapshotEvery && progress.bytesAfter >= progress.size * GROWTH;

/**
 * Folds the stored log up to its end (from the newest snapshot of this version, if any) and keeps the result. Gives the
 * seq and size kept, or null when nothing was: the task ended, was redacted meanwhile, or does not encode.
 */
export const writeSnapshot = async (
  ports: Ports,
  params: { readonly taskId: string; readonly version: string; readonly revision: number; readonly reducers: Reducers },
): Promise<{ readonly seq: number; readonly size: number } | null> => {
  const { taskId, version, revision, reducers } = params;
  const before = await ports.store.getSnapshot({ taskId, version });
  const from = before === null || before.revision !== revision ? undefined : decodeSnapshot(ports, taskId, before);
  const entries = await ports.store.read({ taskId, ...(from === undefined ? {} : { after: from.state.seq }) });
  if (entries.length === 0) return null;
  const state = foldEntries(taskId, entries, reducers, from?.state);
  const text = encodeState(state);
  if (text === null) return null;
  const bytes = await ports.compress(text);
  const kept = await ports.store.putSnapshot({ taskId, snapshot: { seq: state.seq, version, revision, bytes } });
  return kept ? { seq: state.seq, size: text.length } : null;
};
