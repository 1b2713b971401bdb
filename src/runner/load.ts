// From a claim to a folded state, or a typed reason why not. A snapshot that does not serve is ignored.
import { CodecError } from "../core/codec.ts";
import { digestOf } from "../core/envelope.ts";
import type { Reducers, TaskState } from "../core/state.ts";
import type { Claim } from "../store/store.ts";
import { foldEntries } from "./fold-entries.ts";
import type { RunnerPorts } from "./ports.ts";
import { decodeSnapshot } from "./snapshot.ts";

/** `newer`: leave it alone. `damaged`: the bytes are not what was written. `held`: whole, but this build cannot fold it. */
export type Loaded =
  | { readonly ok: true; readonly state: TaskState; readonly snapshotSize: number }
  | { readonly ok: false; readonly why: "newer" | "damaged" | "held"; readonly message: string };

/** The first seq whose bytes do not have the digest that was recorded; null if all have. */
const damagedSeq = async (ports: RunnerPorts, taskId: string): Promise<number | null> => {
  for (const { seq, salt, body, digest } of await ports.store.read({ taskId })) {
    if (salt === null) continue;
    const actual = digestOf(ports.hasher, salt, body);
    if (actual.some((byte, index) => byte !== digest[index])) return seq;
  }
  return null;
};

const judge = async (ports: RunnerPorts, taskId: string, error: unknown): Promise<Loaded> => {
  const message = error instanceof Error ? error.message : String(error);
  const damaged = await damagedSeq(ports, taskId);
  if (damaged !== null) {
    return { ok: false, why: "damaged", message: `the event at seq ${String(damaged)} is damaged (${message})` };
  }
  const newer = error instanceof CodecError && error.code === "newer_version";
  return { ok: false, why: newer ? "newer" : "held", message };
};

/** The state a claim's log folds to. */
export const loadClaim = async (ports: RunnerPorts, claim: Claim, reducers: Reducers): Promise<Loaded> => {
  const { taskId, snapshot, entries } = claim;
  const from = snapshot === null ? undefined : decodeSnapshot(ports, snapshot);
  try {
    const ignored = snapshot !== null && from === undefined;
    const rest = ignored ? await ports.store.read({ taskId }) : entries;
    const state = foldEntries(taskId, rest, reducers, from?.state);
    return { ok: true, state, snapshotSize: from?.size ?? 0 };
  } catch (error) {
    return judge(ports, taskId, error);
  }
};
