// Runs ONE claimed task: fold its log, ask `decide`, perform the step, until it waits, ends, or the claim is given back.
import { CodecError } from "../core/codec.ts";
import { decide, type Facts, type Step } from "../core/decide.ts";
import { isRunning, type TaskState } from "../core/state.ts";
import type { PreparedAgent } from "../plugins/plugin.ts";
import { StoreError, type Claim } from "../store/store.ts";
import { callModel } from "./call-model.ts";
import { compact, continueTurn, goalsOf } from "./continue.ts";
import { foldEntries } from "./fold-entries.ts";
import { hold, leaveAlone, refuse } from "./give-up.ts";
import { watchInbox } from "./inbox-watch.ts";
import { FoldFailed, Journal, type Start } from "./journal.ts";
import { ClaimLost, createLease } from "./lease.ts";
import { loadClaim } from "./load.ts";
import { pickUp } from "./pickup.ts";
import type { RunnerPorts } from "./ports.ts";
import { coreRecord } from "./records.ts";
import { recoverCalls } from "./recover-calls.ts";
import { keepRenewing, type Renewal } from "./renew.ts";
import { fitsContext } from "./request-for.ts";
import { isCorrectionUnsaved, runCalls } from "./run-calls.ts";
import { stateOf, storeNow, type Run } from "./run.ts";
import { createSnapshotting, type Snapshotting } from "./snapshotting.ts";
import { UnreadableItem, takeInput } from "./take-input.ts";
import { end, wait } from "./wait.ts";

/**
 * How a run came to its end. `parked`: waits, claim given back. `ended`: the log is over. `stopped`: given back on the
 * worker's wish. `held`: this build cannot go on. `damaged`: held, since the log's bytes are not what was written. `newer`:
 * a newer version must; the lease lapses. `lost`: another holds the task, or nobody can say; nothing more was done.
 */
export type RunEnd = "parked" | "ended" | "stopped" | "held" | "damaged" | "newer" | "lost";

export interface RunOptions {
  /** Aborted to stop gracefully: the step is finished, the claim released. */
  readonly stop: AbortSignal;
  /** Both clocks as read before the claim was asked for. */
  readonly claimedAt: { readonly wall: number; readonly monotonic: number };
  /** Claims in a row that found this task's log damaged, on this worker; this one not included. */
  readonly damagedBefore: number;
}

const agentOf = (ports: RunnerPorts, claim: Claim): PreparedAgent => {
  const agent = ports.agents.get(claim.agent);
  if (agent === undefined) throw new Error(`task ${claim.taskId}: no agent ${claim.agent} here`);
  return agent;
};

const refold = async (
  ports: RunnerPorts,
  run: { mac: Run["mac"] },
  claim: Claim,
  agent: PreparedAgent,
): Promise<Start> => {
  const { taskId } = claim;
  const row = await ports.store.getTask({ taskId });
  if (row === null) throw new ClaimLost(`task ${taskId} is gone`);
  run.mac = ports.mac(await ports.store.getSecret({ taskId }));
  const entries = await ports.store.read({ taskId });
  const chain = entries.at(-1)?.chain ?? claim.chain;
  return { state: foldEntries(taskId, entries, agent.reducers), chain, revision: row.revision };
};

/** Why the turn that this claim found did not come to its wait; see Facts. */
const stoppedMidTurn = ({ restoredFrom, attempts }: Claim, state: TaskState): Run["stoppedMidTurn"] => {
  if (restoredFrom !== null) return "restored";
  if (!isRunning(state) || state.waiting !== undefined) return null;
  return attempts > 1 ? "crashed" : "stopped";
};

const createRun = (
  ports: RunnerPorts,
  claim: Claim,
  agent: PreparedAgent,
  state: TaskState,
  options: RunOptions,
): Run => {
  const lease = createLease(ports.clock, ports.limits.leaseMs, options.claimedAt);
  const from = { claimedAt: options.claimedAt.monotonic, seenSeq: state.inboxTaken };
  const journal = new Journal(
    ports,
    agent.reducers,
    { lease, fence: claim.fence, inboxSeq: claim.inboxSeq, refold: () => refold(ports, run, claim, agent) },
    { state, chain: claim.chain, revision: claim.revision },
  );
  const run: Run = {
    ports,
    mac: ports.mac(claim.secret),
    claim,
    agent,
    journal,
    lease,
    watch: watchInbox(ports.store, claim, from),
    stop: options.stop,
    announced: new Set(),
    unverified: new Set(),
    lost: new Map(),
    stoppedMidTurn: stoppedMidTurn(claim, state),
    contextOver: false,
    contextFull: false,
    prefix: null,
    files: null,
    unguard: null,
    exec: null,
  };
  return run;
};

/** A turn that goes on: asked of plugins and models only then, so that one that throws cannot fail it twice. */
const goesOn = (state: TaskState): boolean =>
  isRunning(state) && state.turn?.failed === undefined && state.calls.length === 0;

const contextOf = async (run: Run): Promise<Facts["context"]> => {
  const state = stateOf(run);
  const calls = goesOn(state) && state.stopping === undefined && state.turn?.answer === undefined;
  if (!calls || state.model.open !== undefined) return "fits";
  if (run.contextFull) return "full";
  return run.contextOver || !(await fitsContext(run)) ? "over" : "fits";
};

const factsOf = async (run: Run): Promise<Facts> => ({
  untaken: Math.max(run.journal.inboxSeq, run.watch.seenSeq) > stateOf(run).inboxTaken || run.journal.timerDue,
  announced: run.announced,
  unverified: run.unverified,
  stoppedMidTurn: run.stoppedMidTurn,
  now: storeNow(run),
  context: await contextOf(run),
  goals: goesOn(stateOf(run)) && stateOf(run).turn?.answer !== undefined ? goalsOf(run) : null,
  ...(isCorrectionUnsaved(run) ? { correctionUnsaved: true } : {}),
});

/** Performs one step. Gives how the run ended, or null to go on. */
const perform = async (run: Run, step: Step): Promise<RunEnd | null> => {
  switch (step.do) {
    case "TakeInput":
      await takeInput(run);
      return null;
    case "RecoverCalls":
      await recoverCalls(run, step.orders);
      return null;
    case "RunCalls":
      await runCalls(run, step);
      return null;
    case "CallModel":
      await callModel(run, step);
      return null;
    case "Compact":
      await compact(run);
      return null;
    case "Continue":
      continueTurn(run);
      return null;
    case "Wait":
      return (await wait(run, step)) ? "parked" : null;
    case "End":
      return (await end(run, step)) ? "ended" : null;
  }
};

/** A step that fails for a reason of its own fails the turn, never the worker. */
const failTurn = (run: Run, error: unknown): void => {
  const state = stateOf(run);
  const expected =
    error instanceof ClaimLost ||
    error instanceof StoreError ||
    error instanceof UnreadableItem ||
    error instanceof FoldFailed;
  if (expected || !isRunning(state) || state.turn?.failed !== undefined) throw error;
  const message = error instanceof Error ? error.message : String(error);
  run.ports.watcher.note?.(run.claim.taskId, `the turn fails: ${message}`);
  run.journal.add(coreRecord("turn_failed", { reason: "error", message }));
};

const loop = async (run: Run, snapshots: Snapshotting): Promise<RunEnd> => {
  pickUp(run);
  let { revision } = run.journal;
  if (run.claim.inbox.length > 0) await takeInput(run, run.claim.inbox);
  for (;;) {
    run.lease.lost.throwIfAborted();
    // A redaction came first: what was picked up and not yet appended is picked up again.
    if (run.journal.revision !== revision) pickUp(run);
    ({ revision } = run.journal);
    try {
      const step = decide(stateOf(run), await factsOf(run));
      if (run.journal.hasTaken && step.do !== "CallModel") {
        await run.journal.commit();
        continue;
      }
      const rests = step.do === "Wait" || step.do === "End";
      if (run.stop.aborted && !rests) return await stopRun(run);
      const ended = await perform(run, step);
      if (ended !== null) return ended;
    } catch (error) {
      failTurn(run, error);
    }
    snapshots.consider();
  }
};

const stopRun = async (run: Run): Promise<RunEnd> => {
  await run.journal.commitAll();
  const { taskId, fence } = run.claim;
  await run.ports.store.release({ taskId, fence, kind: "stop" });
  return "stopped";
};

/** Plugins that the task runs with and this agent lacks. */
const missingPlugins = (agent: PreparedAgent, state: TaskState): string[] =>
  state.pins.map((pin) => pin.name).filter((name) => agent.pins.every((pin) => pin.name !== name));

const afterError = async (ports: RunnerPorts, claim: Claim, error: unknown): Promise<RunEnd> => {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ClaimLost || error instanceof StoreError) {
    ports.watcher.note?.(claim.taskId, message);
    return "lost";
  }
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof CodecError && cause.code === "newer_version") return leaveAlone(ports, claim);
  return hold(ports, claim, message).catch(() => "lost" as const);
};

/** Runs a claimed task until it waits, ends, stops, or cannot go on here. Never throws. */
export const runTask = async (ports: RunnerPorts, claim: Claim, options: RunOptions): Promise<RunEnd> => {
  const done = new AbortController();
  let run: Run | undefined;
  let snapshots: Snapshotting | undefined;
  try {
    const agent = agentOf(ports, claim);
    const loaded = await loadClaim(ports, claim, agent.reducers);
    if (!loaded.ok) return await refuse(ports, claim, loaded, options);
    const missing = missingPlugins(agent, loaded.state);
    if (missing.length > 0) {
      return await hold(ports, claim, `agent ${claim.agent} lacks what the task runs with: ${missing.join(", ")}`);
    }
    run = createRun(ports, claim, agent, loaded.state, options);
    const { store, clock } = ports;
    const { lease, watch } = run;
    // Hints may be missing: the inbox is looked at after each renewal too.
    const told: Renewal["told"] = (answer) => ports.watcher.renewal?.(claim.taskId, answer);
    const renewing = keepRenewing({ store, clock, claim, lease, told }, done.signal, () => {
      watch.look().catch(() => undefined);
    });
    const bytesAfter = claim.entries.reduce((sum, entry) => sum + entry.body.length, 0);
    snapshots = createSnapshotting(run, { seq: claim.snapshot?.seq ?? 0, size: loaded.snapshotSize, bytesAfter });
    const ended = await loop(run, snapshots);
    done.abort(new Error("done"));
    await renewing;
    return ended;
  } catch (error) {
    run?.lease.lose("the claim was given up");
    return await afterError(ports, claim, error);
  } finally {
    done.abort(new Error("done"));
    run?.unguard?.();
    run?.watch.close();
    snapshots?.consider({ rested: false });
    await snapshots?.settled();
  }
};
