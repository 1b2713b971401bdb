// What the steps of one claim share. One per claim, dropped with it; nothing in it is durable.
import { isAllowed } from "../access/access.ts";
import type { Mac, RequestPrefix } from "../core/request.ts";
import type { TaskState } from "../core/state.ts";
import type { Exec } from "../exec/exec.ts";
import type { Model } from "../model/model.ts";
import type { PreparedAgent } from "../plugins/plugin.ts";
import type { Claim } from "../store/store.ts";
import type { InboxWatch } from "./inbox-watch.ts";
import type { Journal } from "./journal.ts";
import type { KeptFiles } from "./kept-files.ts";
import type { Lease } from "./lease.ts";
import type { RunnerPorts } from "./ports.ts";
import { ensureFresh } from "./renew.ts";

/** Why a started call has no result, for the record that says it is unknown. */
export interface Lost {
  readonly reason: "crashed" | "restored" | "threw" | "timed_out" | "interrupted" | "invalid_output";
  readonly message?: string;
  /** See `Made`: the message may quote what is gone since. */
  readonly quotes?: number | null;
  /** When the handler was last known to be able to act (store's clock, ms). */
  readonly at: number;
}

export interface Run {
  readonly ports: RunnerPorts;
  readonly claim: Claim;
  readonly agent: PreparedAgent;
  readonly journal: Journal;
  readonly lease: Lease;
  readonly watch: InboxWatch;
  /** Aborted when the worker wants to stop: finish the step, release. */
  readonly stop: AbortSignal;
  mac: Mac;
  /** Calls announced by ToolStarted under this claim and not dispatched. */
  readonly announced: Set<string>;
  /** Calls whose `verify` could not say, under this claim. */
  readonly unverified: Set<string>;
  readonly lost: Map<string, Lost>;
  stoppedMidTurn: "crashed" | "stopped" | "restored" | null;
  /** The provider said that the request is too large. */
  contextOver: boolean;
  /** Compaction was tried for the coming call and did not make it fit. */
  contextFull: boolean;
  prefix: { readonly of: readonly unknown[]; readonly value: RequestPrefix; readonly hash: string } | null;
  /** What its model calls showed; see filesFor. */
  files: KeptFiles | null;
  /** Ends the renewal from outside the event loop, once it has begun (see guardClaim). */
  unguard: (() => void) | null;
  /** Where the task's tools run, once one has; and whether the outputs that were spilled elsewhere stand there. */
  exec: { readonly path: string | null; readonly value: Exec; hasOutputs: boolean } | null;
}

export const stateOf = (run: Run): TaskState => run.journal.state;

/** The task's model; or, where this worker has none of that name, why not. */
export const modelOf = (run: Run): Model | { readonly missing: string } => {
  try {
    return run.ports.model(stateOf(run).settings.model);
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) };
  }
};

/** The store's clock now (ms), by this process's reckoning from before the claim: too late by what the claim took. */
export const storeNow = (run: Run): number => run.claim.now + (run.ports.clock.monotonic() - run.watch.claimedAt);

export const execOf = async (run: Run): Promise<Exec> => {
  const path = stateOf(run).settings.workspace?.path ?? null;
  if (run.exec === null || run.exec.path !== path) {
    run.exec = { path, value: await run.ports.exec(path), hasOutputs: false };
  }
  return run.exec.value;
};

/**
 * Before a tool runs, which may block the event loop: from now on the claim is renewed from outside it too, where the
 * store can. Not for a run that only talks, which it would cost a tenth of its time.
 */
export const guardClaim = (run: Run): void => {
  const { store, limits } = run.ports;
  const { taskId, fence } = run.claim;
  run.unguard ??= store.guard?.({ taskId, fence, leaseMs: limits.leaseMs }) ?? null;
};

/** Whether the owner may have something done where the task lives: asked anew, failing closed. */
export const mayOwnerAct = (run: Run): Promise<boolean> => {
  const { owner, origin } = stateOf(run);
  return isAllowed(run.ports.access, { principal: owner, place: origin.place, to: "act" });
};

/** Right before something happens outside: throws ClaimLost unless the claim is certainly still held. */
export const confirmClaim = ({ ports, claim, lease }: Run): Promise<void> =>
  ensureFresh({ store: ports.store, clock: ports.clock, claim, lease });
