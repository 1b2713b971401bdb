// From a claim to a folded state, or a typed reason why not. A snapshot that does not serve is ignored.
import { damagedSeq } from "../core/check-log.ts";
import { CodecError } from "../core/codec.ts";
import type { Reducers, TaskState } from "../core/state.ts";
import type { Claim } from "../store/store.ts";
import { foldEntries } from "./fold-entries.ts";
import type { RunnerPorts } from "./ports.ts";
import { decodeSnapshot } from "./snapshot.ts";

/** `newer`: leave it alone. `damaged`: the bytes are not what was written. `held`: whole, but this build cannot fold it. */
export type Loaded =
  | { readonly ok: true; readonly state: TaskState; readonly snapshotSize: number }
  | { readonly ok: false; readonly why: "newer" | "damaged" | "held"; readonly message: string };

/**
 * The first seq at which the log is not what was written; null if it is whole. A store may make digests from the bytes that
 * it holds, so that the chain alone tells, and the chain alone tells of an event that is gone or in another's place.
 */
const firstDamage = async ({ store, hasher }: RunnerPorts, taskId: string): Promise<number | null> => {
  const redactions = await store.readRedactions({ taskId });
  return damagedSeq({ taskId, entries: await store.read({ taskId }), redactions, hasher });
};

const judge = async (ports: RunnerPorts, taskId: string, error: unknown): Promise<Loaded> => {
  const message = error instanceof Error ? error.message : String(error);
  const damaged = await firstDamage(ports, taskId);
  if (damaged !== null) {
    return { ok: false, why: "damaged", message: `the event at seq ${String(damaged)} is damaged (${message})` };
  }
  const newer = error instanceof CodecError && error.code === "newer_version";
  return { ok: false, why: newer ? "newer" : "held", message };
};

/** The state that a snapshot and the entries after it fold to; undefined if the snapshot does not serve. */
const fromSnapshot = (
  ports: RunnerPorts,
  claim: Claim,
  reducers: Reducers,
): (Loaded & { readonly ok: true }) | undefined => {
  const { taskId, snapshot, entries } = claim;
  const from = snapshot === null ? undefined : decodeSnapshot(ports, taskId, snapshot);
  if (from === undefined) return undefined;
  try {
    const state = foldEntries(taskId, entries, reducers, from.state);
    return state.seq === claim.lastSeq ? { ok: true, state, snapshotSize: from.size } : undefined;
  } catch {
    return undefined; // Folded from the start, the log itself says what is wrong, if anything is.
  }
};

/** The state a claim's log folds to. Throws StoreError. */
export const loadClaim = async (ports: RunnerPorts, claim: Claim, reducers: Reducers): Promise<Loaded> => {
  const { taskId, snapshot } = claim;
  const loaded = fromSnapshot(ports, claim, reducers);
  if (loaded !== undefined) return loaded;
  const entries = snapshot === null ? claim.entries : await ports.store.read({ taskId });
  let state: TaskState;
  try {
    state = foldEntries(taskId, entries, reducers);
  } catch (error) {
    return judge(ports, taskId, error);
  }
  if (state.seq === claim.lastSeq) return { ok: true, state, snapshotSize: 0 };
  const message = `the log ends at seq ${String(state.seq)}, and was written up to ${String(claim.lastSeq)}`;
  return { ok: false, why: "damaged", message };
};
