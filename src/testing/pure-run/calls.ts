// The pure run's tools: calls that succeed, fail, are lost, park, or go on in the background.
import { changesOutside } from "../../core/events.ts";
import type { Settled } from "../../core/decide.ts";
import type { Recovery } from "../../core/recovery.ts";
import type { Call } from "../../core/state.ts";
import { core, finished, recorded, started } from "../given.ts";
import { append, post, settle, takeOver, type PureRun } from "./run.ts";
import { parksOn, someItem, worldTools } from "./world.ts";

const callOf = (run: PureRun, id: string): Call => {
  const call = run.state.calls.find((candidate) => candidate.id === id);
  if (call === undefined) throw new Error(`no open call ${id}`);
  return call;
};

const announce = (run: PureRun, call: Call, again: boolean): void => {
  const entry = worldTools.find((each) => each.name === call.name);
  append(
    run,
    started(call.id, call.name, {
      input: call.input ?? null,
      effect: entry?.effect ?? "read",
      attempt: call.attempt + 1,
      invocationId: again && call.invocationId !== undefined ? call.invocationId : `i${String(run.state.seq)}`,
      ...(entry !== undefined && "idempotent" in entry ? { idempotent: entry.idempotent } : {}),
    }),
  );
  run.announced.add(call.id);
};

/** What may come before the announcement: an approval is asked for, or the call is refused. */
const isHeldUp = (run: PureRun, call: Call): boolean => {
  const { choices } = run;
  const asks = call.approval === undefined && call.attempt === 0 && choices.once(6);
  if (asks) {
    const requestId = `approve ${call.id}`;
    const definition = `definition of ${call.name}`;
    append(
      run,
      core("approval_requested", { requestId, callId: call.id, inputHash: "h", definition, decides: "owner" }),
    );
    return true;
  }
  if (!choices.once(10)) return false;
  append(run, finished(call.id, "The input does not fit.", { status: "error" }));
  return true;
};

const park = (run: PureRun, call: Call): void => {
  const on = parksOn[call.name];
  if (on === undefined) return;
  const ref = { answer: "which?", timer: `t ${call.id}`, signal: "bell", children: "task1.c1.1" }[on];
  if (on === "timer") append(run, core("timer_set", { id: ref, dueAt: run.now + 50_000, callId: call.id }));
  append(run, core("call_parked", { callId: call.id, on, ref }));
};

/** A handler ran. Without a result, a write is lost; a read's failure is its result. */
const dispatch = (run: PureRun, call: Call): void => {
  const { choices } = run;
  run.announced.delete(call.id);
  const outcome = choices.below(8);
  if (parksOn[call.name] !== undefined && outcome !== 7) return park(run, call);
  if (call.name === "job" && outcome < 4) return append(run, core("detached", { callId: call.id, job: "job 1" }));
  if (outcome === 5 && changesOutside(call)) return;
  if (outcome === 6) return append(run, finished(call.id, "It failed.", { status: "error" }));
  if (call.name === "look") append(run, recorded("fs", "read", { path: "a.txt" }, { skeleton: ["path"] }));
  const sources = call.name === "look" ? { sources: [{ id: "s1", version: "1" }] } : {};
  append(run, finished(call.id, "done", sources));
};

/** Announces what is not announced, and dispatches it in any order unless something came, or the worker died. */
const announceAndDispatch = (run: PureRun, ids: readonly string[], again = false): void => {
  const { choices } = run;
  const ready: string[] = [];
  for (const id of ids) {
    const call = callOf(run, id);
    if (run.announced.has(id)) ready.push(id);
    else if (again || !isHeldUp(run, call)) {
      announce(run, call, again);
      ready.push(id);
    }
  }
  if (choices.once(8)) return post(run, someItem(run.state, choices, run.inboxSeq + 1));
  while (ready.length > 0) {
    if (choices.once(16)) return takeOver(run);
    const [id] = ready.splice(choices.below(ready.length), 1);
    if (id !== undefined) dispatch(run, callOf(run, id));
  }
};

export const performCalls = (
  run: PureRun,
  step: { readonly start: readonly string[]; readonly settle: readonly Settled[] },
): void => {
  settle(run, step.settle);
  announceAndDispatch(run, step.start);
};

const settled = (run: PureRun, call: Call, how: "attestation" | "verification", outcome: "done" | "absent"): void => {
  append(run, core("action_settled", { callId: call.id, how, outcome, by: "core" }));
  append(run, finished(call.id, outcome, { status: outcome === "done" ? "ok" : "error", settledBy: how }));
};

const verify = (run: PureRun, call: Call): void => {
  const outcome = run.choices.of(["done", "absent", "unknown"]);
  if (outcome !== "unknown") return settled(run, call, "verification", outcome);
  run.unverified.add(call.id);
  if (call.phase !== "unknown") return;
  append(run, core("action_settled", { callId: call.id, how: "verification", outcome, by: "core" }));
};

const recover = (run: PureRun, call: Call, order: Recovery): void => {
  switch (order) {
    case "unknown":
      run.announced.delete(call.id);
      return append(run, core("action_unknown", { callId: call.id, reason: "crashed" }));
    case "tell":
      return append(run, finished(call.id, "Nobody knows.", { status: "error" }));
    case "settle":
      return settled(run, call, "attestation", call.resolution?.outcome ?? "done");
    case "verify":
      return verify(run, call);
    case "redispatch":
    case "rerun":
      return announceAndDispatch(run, [call.id], true);
  }
};

export const performRecovery = (
  run: PureRun,
  orders: readonly { readonly callId: string; readonly order: Recovery }[],
): void => {
  for (const { callId, order } of orders) {
    recover(run, callOf(run, callId), order);
    // A call that runs may have taken the worker with it: ask again.
    if (order === "redispatch" || order === "rerun") return;
  }
};
