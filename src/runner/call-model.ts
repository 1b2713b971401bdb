// CallModel: ModelCalled commits, then one attempt runs. Its reply is stored whole or not at all.
import { MODEL_MISSING } from "../core/decide.ts";
import { isEqualJson } from "../core/equal.ts";
import type { Event } from "../core/events.ts";
import type { ModelFailure } from "../core/records.ts";
import type { RequestHash } from "../core/request.ts";
import { ModelError, type Model, type ModelContext, type ModelReply } from "../model/model.ts";
import { filesFor } from "./kept-files.ts";
import { linkSignals } from "./linked-signal.ts";
import { viewFor } from "./prepare-call.ts";
import { coreRecord, pluginRecord } from "./records.ts";
import { requestFor } from "./request-for.ts";
import { hasNews } from "./run-calls.ts";
import { confirmClaim, modelOf, stateOf, storeNow, type Run } from "./run.ts";

interface Failure {
  readonly class: ModelFailure;
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly status?: number;
  readonly tokens?: ModelReply["tokens"];
}

/** Failures that another attempt cannot mend: the turn fails or pauses, or the context is made smaller. */
const isFinal = (failure: ModelFailure): boolean =>
  failure === "auth" || failure === "bad_request" || failure === "refused" || failure === "overflow";

const NOT_FOUND = 404;

/** The task pauses: it goes on once it is given a model that is to be had, and resumed. */
const missing = (run: Run, why: string): Event => {
  const { taskId } = run.claim;
  const { model } = stateOf(run).settings;
  const how = `Give the task another (perdure set ${taskId} model=NAME), then resume it`;
  const message = `the model ${model} cannot be had: ${why.replace(/\.$/, "")}. ${how}`;
  return coreRecord("turn_failed", { reason: MODEL_MISSING, message });
};

const backOff = (run: Run, failure: Failure): number => {
  const { retryFirstMs, retryLastMs } = run.ports.limits;
  const doubled = Math.min(retryLastMs, retryFirstMs * 2 ** stateOf(run).model.failures);
  const jittered = doubled * (0.5 + run.ports.random.fraction() / 2);
  return Math.ceil(Math.max(jittered, failure.retryAfterMs ?? 0));
};

/** The estimate stands in the log as it was at the time of the call: prices change. */
const priced = (run: Run, tokens: ModelReply["tokens"]): { priceEstimate?: number } => {
  const priceEstimate = run.ports.price?.(stateOf(run).settings.model, tokens);
  return priceEstimate === undefined ? {} : { priceEstimate };
};

const failed = (run: Run, failure: Failure, durationMs: number): Event[] => {
  const { attempts } = stateOf(run).model;
  const final = isFinal(failure.class) || failure.class === "aborted";
  const price = failure.tokens === undefined ? {} : priced(run, failure.tokens);
  const record = coreRecord("model_failed", {
    class: failure.class,
    purpose: "turn",
    attempt: attempts,
    durationMs,
    message: failure.message,
    ...(failure.tokens === undefined ? {} : { tokens: failure.tokens }),
    ...price,
    ...(failure.status === undefined ? {} : { status: failure.status }),
    ...(final ? {} : { retryAt: Math.ceil(storeNow(run)) + backOff(run, failure) }),
  });
  if (failure.class === "overflow" || !isFinal(failure.class)) return [record];
  // The provider says that it has no such model (any more).
  if (failure.status === NOT_FOUND) return [record, missing(run, failure.message)];
  return [record, coreRecord("turn_failed", { reason: `model_${failure.class}`, message: failure.message })];
};

/** A reply that asks for nothing and says nothing is none, also when it only reasons. */
const flawOf = (reply: ModelReply): Failure | null => {
  if (reply.broken !== undefined && reply.broken.length > 0) {
    const message = `the arguments of ${reply.broken.join(", ")} were cut or are not JSON`;
    return { class: "cut", message, tokens: reply.tokens };
  }
  const says = reply.message.parts.some(
    (part) => part.type === "call" || (part.type === "text" && part.text.trim() !== ""),
  );
  return says ? null : { class: "empty", message: "the reply was empty", tokens: reply.tokens };
};

const failureOf = (error: unknown, signal: AbortSignal): Failure => {
  if (!(error instanceof ModelError)) throw error;
  return {
    // An abort that nobody here asked for is the network's.
    class: error.class === "aborted" && !signal.aborted ? "network" : error.class,
    message: error.message,
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.tokens === undefined ? {} : { tokens: error.tokens }),
  };
};

/** One attempt: the reply, or what went wrong. */
const attempt = async (run: Run, model: Model, request: Awaited<ReturnType<typeof requestFor>>["request"]) => {
  const { taskId } = run.claim;
  const { replies, model: progress } = stateOf(run);
  const { signal, release } = linkSignals(run.watch.control, run.lease.lost);
  const { watcher } = run.ports;
  const context: ModelContext = {
    taskId,
    replies,
    attempt: progress.attempts,
    purpose: "turn",
    file: filesFor(run),
    note: (message) => watcher.note?.(taskId, message),
  };
  try {
    for await (const part of model.stream(request, { signal, context })) {
      if (part.type === "reply") return part.reply;
      watcher.delta?.(taskId, part);
    }
    throw new ModelError("network", "the stream ended without a reply");
  } catch (error) {
    return failureOf(error, signal);
  } finally {
    release();
  }
};

/**
 * Plugins' words ahead of the call. An attempt that is made again sends what was announced, and no new words, unless the
 * conversation was cut (a compaction, an erasure): what was taken out may have been theirs.
 */
const addReminders = async (run: Run): Promise<void> => {
  const state = stateOf(run);
  const again = state.model.attempts > 0;
  if (again && state.chain !== undefined) return;
  for (const plugin of run.agent.agent.plugins) {
    if (state.turn?.steps === 0 && !again) await plugin.hooks?.turnStart?.(viewFor(run, plugin, { derived: true }));
    for (const record of plugin.reminders?.(state) ?? []) run.journal.addDerived(pluginRecord(plugin, record));
  }
};

/** A request made again after a crash that is not what was announced before: said to the operator, and seen in the log. */
const noteDifference = (run: Run, hash: RequestHash): void => {
  const before = stateOf(run).model.open;
  if (before === undefined || before.revision !== run.journal.revision || before.requestHash === hash.hash) return;
  const same = isEqualJson([before.prefixHash, before.messages], [hash.prefixHash, hash.messages]);
  const what = same
    ? "a message"
    : before.prefixHash === hash.prefixHash
      ? "the number of messages"
      : "system or tools";
  run.ports.watcher.note?.(
    run.claim.taskId,
    `the request made again differs from that at seq ${String(before.seq)}: ${what}`,
  );
};

/** What is pending commits before a wait. False when the log was redacted: `decide` is asked again. */
const commitBeforeWait = async ({ journal }: Run): Promise<boolean> =>
  !journal.hasPending || (await journal.commit()) === "appended";

/** Sleeps until the back-off is over; false when the inbox or a stop came first. */
const waitBackOff = async (run: Run, notBefore: number): Promise<boolean> => {
  const waitMs = notBefore - storeNow(run);
  if (waitMs <= 0) return true;
  if (!(await commitBeforeWait(run))) return false;
  try {
    await run.ports.clock.sleep(waitMs, AbortSignal.any([run.watch.news, run.stop, run.lease.lost]));
    return true;
  } catch {
    run.lease.lost.throwIfAborted();
    return false;
  }
};

/** A slot for the call; what is pending commits first when none is free. Null when something else came first. */
const slotFor = async (run: Run): Promise<(() => void) | null> => {
  const { taskId, owner: principal, settings } = stateOf(run);
  // A task that yields to all others is one that nobody sits and waits for.
  const request = { principal, taskId, background: (settings.priority ?? 0) < 0 };
  const free = run.ports.slots.tryAcquire(request);
  if (free !== null) return free;
  if (!(await commitBeforeWait(run))) return null;
  try {
    return await run.ports.slots.acquire(request, AbortSignal.any([run.watch.control, run.stop, run.lease.lost]));
  } catch {
    run.lease.lost.throwIfAborted();
    return null;
  }
};

const announceAndCall = async (run: Run, model: Model, attemptNumber: number): Promise<void> => {
  const { journal } = run;
  await addReminders(run);
  const { request, hash } = await requestFor(run);
  noteDifference(run, hash);
  journal.add({
    type: "ModelCalled",
    model: stateOf(run).settings.model,
    requestHash: hash.hash,
    prefixHash: hash.prefixHash,
    messages: hash.messages,
    revision: journal.revision,
    attempt: attemptNumber,
    purpose: "turn",
  });
  if ((await journal.commit()) !== "appended") return;
  if (hasNews(run)) await run.watch.look();
  await confirmClaim(run);
  const startedAt = run.ports.clock.monotonic();
  const reply = await attempt(run, model, request);
  const durationMs = Math.round(run.ports.clock.monotonic() - startedAt);
  run.lease.lost.throwIfAborted();
  const flaw = "class" in reply ? reply : flawOf(reply);
  if (flaw !== null) {
    journal.add(...failed(run, flaw, durationMs));
    if (flaw.class === "overflow") run.contextOver = true;
    await journal.commit();
    return;
  }
  const { message, stopReason, tokens } = reply as ModelReply;
  journal.add({ type: "ModelReplied", message, stopReason, usage: { tokens, durationMs, ...priced(run, tokens) } });
};

export const callModel = async (
  run: Run,
  step: { readonly attempt: number; readonly notBefore: number },
): Promise<void> => {
  if (!(await waitBackOff(run, step.notBefore))) return;
  const model = modelOf(run);
  if ("missing" in model) {
    run.journal.add(missing(run, model.missing));
    return;
  }
  const release = await slotFor(run);
  if (release === null) return;
  try {
    await announceAndCall(run, model, step.attempt);
  } finally {
    release();
  }
};
