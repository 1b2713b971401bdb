// RecoverCalls: what to do about calls that were started and have no result. Nothing is guessed, nothing re-run but reads
// and writes that are idempotent by declaration.
import type { Recovery } from "../core/recovery.ts";
import type { Event } from "../core/events.ts";
import type { Call } from "../core/state.ts";
import type { PreparedTool, Receipt } from "../plugins/plugin.ts";
import { bound, toolContext, type Outcomes } from "./dispatch.ts";
import { coreRecord } from "./records.ts";
import { attested, toldUnknown, verified } from "./results.ts";
import { announceAndRun, callOf } from "./run-calls.ts";
import { mayOwnerAct, type Lost, type Run } from "./run.ts";

const lostOf = (run: Run, call: Call): Lost =>
  run.lost.get(call.id) ?? {
    reason: run.stoppedMidTurn === "restored" ? "restored" : "crashed",
    at: run.claim.previousEndedAt ?? run.claim.now,
  };

/** Waits until one lease after nobody can have been acting on the call any more; false when told to stop first. */
const waitQuiet = async (run: Run, since: number): Promise<boolean> => {
  const waitMs = since + run.lease.leaseMs - (await run.ports.store.now());
  if (waitMs <= 0) return true;
  const signal = AbortSignal.any([run.stop, run.lease.lost]);
  try {
    await run.ports.clock.sleep(waitMs, signal);
  } catch {
    run.lease.lost.throwIfAborted();
    return false;
  }
  return true;
};

type Verdict = "done" | "absent" | "unknown";

/** Asks the tool's own check of the postcondition. What it cannot say, or fails to say, stays unknown. */
const askVerify = async (run: Run, call: Call, prepared: PreparedTool, made: Outcomes): Promise<Verdict> => {
  const { tool } = prepared;
  const bounds = bound(run, tool.timeoutMs ?? run.ports.limits.readTimeoutMs, run.stop);
  const { id: callId, invocationId = "", input, attempt, startedAt = 0 } = call;
  const receipt: Receipt = { callId, invocationId, input, attempt, startedAt };
  try {
    const context = await toolContext(run, call, prepared, bounds.signal, made);
    const asking = (async () => tool.verify?.(receipt, context))();
    const verdict: unknown = await Promise.race([asking, bounds.abandoned]);
    return verdict === "done" || verdict === "absent" ? verdict : "unknown";
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    run.ports.watcher.note?.(run.claim.taskId, `the verification of ${call.name} (${call.id}) failed: ${message}`);
    return "unknown";
  } finally {
    bounds.release();
  }
};

const settledEvents = (call: Call, done: boolean, records: readonly Event[]): Event[] => [
  coreRecord("action_settled", {
    callId: call.id,
    how: "verification",
    outcome: done ? "done" : "absent",
    by: call.verifyAskedBy ?? "core",
  }),
  ...records,
  verified(call, done),
];

const verify = async (run: Run, call: Call): Promise<void> => {
  const since = call.unknownAt ?? lostOf(run, call).at;
  if (!(await waitQuiet(run, since))) return;
  const prepared = run.agent.tools.get(call.name);
  const sameTool = prepared !== undefined && prepared.entry.definition === call.definition;
  const made: Outcomes = { records: [], quotes: null };
  const verdict = sameTool ? await askVerify(run, call, prepared, made) : "unknown";
  if (verdict !== "unknown") {
    run.journal.addMade(made, call.id, settledEvents(call, verdict === "done", made.records));
    return;
  }
  // One that was cut short by a stop is asked again by the next claim.
  if (run.stop.aborted) return;
  run.unverified.add(call.id);
  if (call.phase !== "unknown") return;
  const by = call.verifyAskedBy ?? "core";
  run.journal.add(coreRecord("action_settled", { callId: call.id, how: "verification", outcome: "unknown", by }));
};

const attest = async (run: Run, call: Call): Promise<void> => {
  const { resolution } = call;
  if (resolution === undefined || !(await waitQuiet(run, call.unknownAt ?? 0))) return;
  const { outcome, by, verification } = resolution;
  run.journal.add(
    coreRecord("action_settled", { callId: call.id, how: "attestation", outcome, by, verification }),
    attested(call, outcome === "done", by, verification),
  );
};

const unknown = (run: Run, call: Call): void => {
  const { reason, message, quotes = null } = lostOf(run, call);
  const isWhole = quotes === null || quotes === run.journal.revision;
  const detail = message === undefined || !isWhole ? {} : { message };
  run.announced.delete(call.id);
  run.journal.add(coreRecord("action_unknown", { callId: call.id, reason, ...detail }));
};

const tell = (run: Run, call: Call): void => {
  run.journal.add(toldUnknown(call, lostOf(run, call).reason));
};

/** Records what is unknown; then does one thing that takes time, so that `decide` looks at the inbox between two. */
export const recoverCalls = async (
  run: Run,
  orders: readonly { readonly callId: string; readonly order: Recovery }[],
): Promise<void> => {
  const by = (order: Recovery): Call[] =>
    orders.filter((each) => each.order === order).map((each) => callOf(run, each.callId));
  for (const call of by("unknown")) unknown(run, call);
  for (const call of by("tell")) tell(run, call);
  const [settled] = by("settle");
  if (settled !== undefined) return attest(run, settled);
  const [uncertain] = by("verify");
  if (uncertain !== undefined) return verify(run, uncertain);
  const [again] = by("redispatch");
  if (again !== undefined && !(await mayOwnerAct(run))) return unknown(run, again);
  if (again !== undefined) return announceAndRun(run, [again.id], "redispatch");
  const reruns = by("rerun").map((call) => call.id);
  return reruns.length > 0 ? announceAndRun(run, reruns, "rerun") : undefined;
};
