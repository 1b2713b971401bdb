// What must hold of any task that a test has run: chain, projections, requests, and folds from snapshots.
import { expect } from "vitest";
import { decodeEvent } from "../core/codec.ts";
import type { Recorded } from "../core/events.ts";
import { apply, fold } from "../core/fold.ts";
import type { ModelRequest } from "../core/request.ts";
import type { Reducers, TaskState } from "../core/state.ts";
import { encodeState } from "../runner/snapshot.ts";
import { checkLog } from "../core/check-log.ts";
import { nodeHasher } from "../store/node-hasher.ts";
import type { Store } from "../store/store.ts";
import { requestFaults } from "./request-faults.ts";
import { foldOracle, inboxOracle, rowsOracle } from "./simulation/oracles.ts";

export interface TaskToCheck {
  readonly store: Store;
  readonly taskId: string;
  readonly reducers: Reducers;
  /** Requests that the model got. */
  readonly sent: readonly { readonly request: ModelRequest }[];
  /** Inbox seqs that posts were acknowledged with. */
  readonly accepted: readonly number[];
}

/** Everything that is wrong with what is stored of a task; empty when all holds. */
export const faultsOf = async ({ store, taskId, reducers, sent, accepted }: TaskToCheck): Promise<string[]> => {
  const row = await store.getTask({ taskId });
  if (row === null) return [`task ${taskId} is gone`];
  const entries = await store.read({ taskId });
  const redactions = await store.readRedactions({ taskId });
  const faults = checkLog({ taskId, entries, redactions, row, hasher: nodeHasher }).map(({ what }) => what);
  const log = entries.map(({ seq, at, type, body }) => ({ seq, at, event: decodeEvent(type, body) }));
  inboxOracle(log, row.inboxSeq > row.inboxTaken ? [] : accepted, faults);
  foldOracle(taskId, log, reducers, faults);
  const evidence = { store, taskId, reducers, effects: [], sent: [], accepted: [], idempotent: new Set<string>() };
  await rowsOracle(evidence, log, faults);
  for (const { request } of sent) faults.push(...requestFaults(request));
  return faults;
};

/** Folds a log from snapshots at seqs all over it, and from the start, and compares. */
export const expectFoldsAgree = (taskId: string, log: readonly Recorded[], reducers: Reducers): void => {
  const whole = fold(taskId, log, reducers);
  const step = Math.ceil(log.length / 40);
  for (let seq = 1; seq < log.length; seq += step) {
    const snapshot = encodeState(fold(taskId, log.slice(0, seq), reducers));
    if (snapshot === null) continue;
    const from = JSON.parse(snapshot) as TaskState;
    const resumed = log.slice(seq).reduce((state, recorded) => apply(state, recorded, reducers), from);
    expect(resumed, `folded from a snapshot at seq ${String(seq)}`).toEqual(whole);
  }
};
