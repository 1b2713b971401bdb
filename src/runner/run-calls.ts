// RunCalls: announce, then act. No handler runs before its ToolStarted has committed; each result commits as it comes.
import { changesOutside, type Event, type EventOf } from "../core/events.ts";
import type { Settled } from "../core/decide.ts";
import type { Call } from "../core/state.ts";
import type { PreparedTool } from "../plugins/plugin.ts";
import { contentOf, dispatch, type Outcome } from "./dispatch.ts";
import { calledOff } from "./ask-approval.ts";
import { putOutputsOnDisk, spill, spillDetails } from "./output.ts";
import { prepareCall, viewFor } from "./prepare-call.ts";
import { coreRecord } from "./records.ts";
import { finished, settledResult } from "./results.ts";
import { confirmClaim, guardClaim, mayOwnerAct, stateOf, type Run } from "./run.ts";

export const callOf = (run: Run, callId: string): Call => {
  const call = stateOf(run).calls.find((candidate) => candidate.id === callId);
  if (call === undefined) throw new Error(`task ${run.claim.taskId}: no open call ${callId}`);
  return call;
};

export const settleCalls = (run: Run, settle: readonly Settled[]): Event[] =>
  settle.map(({ callId, as }) => settledResult(callOf(run, callId), as));

/** A first run; a read again; or the second dispatch of an idempotent write, which alone keeps its invocation id. */
type How = "first" | "rerun" | "redispatch";

/** The announcement of a call. */
const started = (run: Run, call: Call, prepared: PreparedTool, input: unknown, how: How): EventOf<"ToolStarted"> => {
  const { tool, entry } = prepared;
  return {
    type: "ToolStarted",
    callId: call.id,
    name: call.name,
    input,
    effect: tool.effect,
    ...(tool.idempotent === undefined ? {} : { idempotent: { ttlMs: tool.idempotent.ttlMs } }),
    definition: entry.definition,
    invocationId: how === "redispatch" && call.invocationId !== undefined ? call.invocationId : run.ports.random.id(),
    attempt: call.attempt + 1,
  };
};

/** What a hook records of a result may quote whatever that quotes. */
const afterTool = async (run: Run, { call, outcome }: Running, result: EventOf<"ToolFinished">): Promise<void> => {
  const { status, content } = result;
  const quotes = outcome.kind === "lost" ? null : outcome.made.quotes;
  const { id: callId, name } = call;
  const effect = call.effect ?? "read";
  for (const plugin of run.agent.agent.plugins) {
    const seen = { callId, name, effect, input: call.input };
    await plugin.hooks?.afterTool?.(
      seen,
      { callId, name, status, content },
      viewFor(run, plugin, { derived: false, quotes }),
    );
  }
};

/** A result and the records that belong to it, folded together and appended together. Null when there is none yet. */
const finish = async ({ call, prepared, outcome }: Running, run: Run): Promise<EventOf<"ToolFinished"> | null> => {
  if (outcome.kind === "lost") {
    run.lost.set(call.id, outcome.lost);
    return null;
  }
  if (outcome.kind === "parked") {
    const parked = coreRecord("call_parked", { callId: call.id, ...outcome.park });
    run.journal.addMade(outcome.made, call.id, [...outcome.made.records, parked]);
    return null;
  }
  const result = await resultOf(run, call, prepared, outcome);
  const folded = run.journal.addMade(outcome.made, call.id, [...outcome.made.records, result]);
  return folded.find((event) => event.type === "ToolFinished") ?? null;
};

const resultOf = async (
  run: Run,
  call: Call,
  prepared: PreparedTool,
  outcome: Exclude<Outcome, { kind: "lost" | "parked" }>,
): Promise<EventOf<"ToolFinished">> => {
  const limit = prepared.tool.maxOutputChars;
  if (outcome.kind === "failed") {
    return finished(call.id, "error", await spill(run, call, contentOf(outcome.message), limit));
  }
  const { content, isError, details, resources, sources } = outcome.output;
  return finished(call.id, isError === true ? "error" : "ok", await spill(run, call, contentOf(content), limit), {
    ...(details === undefined ? {} : { details: await spillDetails(run, call, details) }),
    ...(resources === undefined ? {} : { resources: [...resources] }),
    ...(sources === undefined ? {} : { sources: [...sources] }),
  });
};

interface Running {
  readonly call: Call;
  readonly prepared: PreparedTool;
  readonly outcome: Outcome;
}

/** Runs announced calls side by side. Each result is committed as it comes, the last one with what follows it. */
const dispatchAll = async (run: Run, callIds: readonly string[]): Promise<void> => {
  await putOutputsOnDisk(run);
  // Before the last check: the first guard of a process starts a thread, which takes a moment.
  guardClaim(run);
  await confirmClaim(run);
  if (isCorrectionUnsaved(run)) return;
  const running = new Map<string, Promise<Running>>();
  for (const callId of callIds) {
    const call = callOf(run, callId);
    const prepared = run.agent.tools.get(call.name);
    if (prepared === undefined) throw new Error(`task ${run.claim.taskId}: the tool ${call.name} is gone`);
    run.announced.delete(callId);
    const outcome = dispatch(run, call, prepared);
    running.set(
      callId,
      outcome.then((value) => ({ call, prepared, outcome: value })),
    );
  }
  const failures: unknown[] = [];
  while (running.size > 0) {
    const ran = await Promise.race(running.values());
    running.delete(ran.call.id);
    run.lease.lost.throwIfAborted();
    const result = await finish(ran, run);
    // A hook that throws fails the turn, and takes nothing of what happened with it.
    if (result !== null) await afterTool(run, ran, result).catch((error: unknown) => failures.push(error));
    if (running.size > 0 && run.journal.hasPending) await run.journal.commit();
  }
  if (failures.length > 0) throw failures[0];
};

/**
 * Those of the announced calls that the owner may still have run. What changes the outside is denied where the owner may act
 * in the task's place no more; one that ran before is nobody's to dispatch, and recovered like after a crash.
 */
const authorised = async (run: Run, callIds: readonly string[]): Promise<readonly string[]> => {
  const calls = callIds.map((callId) => callOf(run, callId));
  if (!calls.some(changesOutside) || (await mayOwnerAct(run))) return callIds;
  const { owner, origin } = stateOf(run);
  for (const { id, attempt } of calls.filter(changesOutside)) {
    run.announced.delete(id);
    const why = `Denied: ${owner} may not act in ${origin.place} any more. It was not run.`;
    if (attempt === 1) run.journal.add(finished(id, "denied", why));
  }
  return calls.filter((call) => !changesOutside(call)).map(({ id }) => id);
};

/**
 * Announces calls and dispatches them. When the append that announces them shows that the inbox has moved on, nothing
 * is dispatched: the input is taken first, and `decide` is asked again what to do with the announced calls.
 */
export const announceAndRun = async (run: Run, start: readonly string[], how: How = "first"): Promise<void> => {
  const events: EventOf<"ToolStarted">[] = [];
  for (const callId of start) {
    if (run.announced.has(callId)) continue;
    const call = callOf(run, callId);
    const checked = how === "first" ? await prepareCall(run, call) : readyAgain(run, call);
    if (!checked.ok) run.journal.add(...checked.events);
    else {
      run.journal.add(...checked.before);
      events.push(started(run, call, checked.prepared, checked.input, how));
    }
  }
  if (events.length > 0) {
    run.journal.add(...events);
    if ((await run.journal.commit()) !== "appended") return;
    for (const { callId } of events) run.announced.add(callId);
    if (hasNews(run)) return;
  }
  const ready = await authorised(
    run,
    start.filter((callId) => run.announced.has(callId)),
  );
  if (ready.length > 0) await dispatchAll(run, ready);
};

/** A front end of this process could not save a correction of the task. */
export const isCorrectionUnsaved = ({ ports, claim }: Run): boolean =>
  ports.corrections?.isUnsaved(claim.taskId) === true;

/** The newest commit told of inbox items or a due timer that the log has not taken. */
export const hasNews = (run: Run): boolean => run.journal.inboxSeq > stateOf(run).inboxTaken || run.journal.timerDue;

/** A call that ran before runs again as it was announced: its input was checked then. */
const readyAgain = (run: Run, call: Call): Awaited<ReturnType<typeof prepareCall>> => {
  const prepared = run.agent.tools.get(call.name);
  if (prepared === undefined) return { ok: false, events: [settledResult(call, "no_such_tool")] };
  return { ok: true, call, prepared, input: call.input, before: [] };
};

export const runCalls = async (
  run: Run,
  step: { readonly start: readonly string[]; readonly settle: readonly Settled[] },
): Promise<void> => {
  run.journal.add(...calledOff(run, step.settle), ...settleCalls(run, step.settle));
  for (const { callId } of step.settle) run.announced.delete(callId);
  await announceAndRun(run, step.start);
};
