// What must hold of a log and of the outside world after any run, whatever went wrong in it.
import { CodecError, decodeEvent } from "../../core/codec.ts";
import { MAX_DISPATCHES } from "../../core/recovery.ts";
import { changesOutside, type Recorded } from "../../core/events.ts";
import type { Item } from "../../core/items.ts";
import { apply, createState, fold } from "../../core/fold.ts";
import { applyAndProject, asStored, columnsOf, type Row } from "../../core/project.ts";
import type { Reducers, TaskState } from "../../core/state.ts";
import { isEqualJson } from "../../core/equal.ts";
import { checkLog } from "../../core/check-log.ts";
import { nodeHasher } from "../../store/node-hasher.ts";
import type { Store } from "../../store/store.ts";
import { requestFaults } from "../request-faults.ts";
import { approvalOracle } from "./approval-oracles.ts";
import { answerOracle, planOracle } from "./plugin-oracles.ts";
import { peopleOracle } from "./people-oracles.ts";
import type { Gone } from "./redactor.ts";
import { unknownOracle } from "./unknown-oracle.ts";
import type { Effect, Sent } from "./world.ts";

/** What a run left behind. */
export interface Evidence {
  readonly store: Store;
  readonly taskId: string;
  readonly reducers: Reducers;
  readonly effects: readonly Effect[];
  readonly sent: readonly Sent[];
  /** Inbox seqs that posts were acknowledged with. */
  readonly accepted: readonly number[];
  /** Words that were redacted while the task ran. */
  readonly gone?: readonly Gone[];
  /** Tools that may be dispatched again with the same invocation id. */
  readonly idempotent: ReadonlySet<string>;
}

const logOracle = (log: readonly Recorded[], faults: string[]): void => {
  const ends = log.filter(({ event }) => event.type === "TaskEnded");
  if (ends.length > 1) faults.push(`${String(ends.length)} TaskEnded`);
  const results = new Map<string, number>();
  for (const { event } of log) {
    if (event.type === "ToolFinished") results.set(event.callId, (results.get(event.callId) ?? 0) + 1);
  }
  for (const [callId, count] of results) {
    if (count > 1) faults.push(`call ${callId} has ${String(count)} results`);
  }
};

/** Each accepted item is consumed exactly once; a task does not end over one. */
export const inboxOracle = (log: readonly Recorded[], accepted: readonly number[], faults: string[]): void => {
  const taken = log.flatMap(({ event }) => (event.type === "InputTaken" ? event.items.map((item) => item.seq) : []));
  for (const seq of new Set(taken)) {
    const times = taken.filter((other) => other === seq).length;
    if (times > 1) faults.push(`inbox item ${String(seq)} was taken ${String(times)} times`);
  }
  for (const seq of accepted) {
    if (!taken.includes(seq)) faults.push(`the accepted inbox item ${String(seq)} was never taken`);
  }
};

/** A write is dispatched once; an idempotent one a few times with one id; nothing before its announcement. */
const effectOracle = (evidence: Evidence, faults: string[]): void => {
  const byCall = new Map<string, Effect[]>();
  for (const effect of evidence.effects) {
    if (effect.fence < effect.newestFence && !effect.stalled) {
      faults.push(`${effect.tool} ${effect.callId} took effect under fence ${String(effect.fence)}, after a takeover`);
    }
    if (effect.inboxTaken < effect.inboxSeen) {
      faults.push(
        `${effect.tool} ${effect.callId} took effect although its announcement showed something in the inbox`,
      );
    }
    if (!effect.announced)
      faults.push(`${effect.tool} ${effect.callId} took effect before its ToolStarted was in the log`);
    if (effect.tool !== "look") byCall.set(effect.callId, [...(byCall.get(effect.callId) ?? []), effect]);
  }
  for (const [callId, effects] of byCall) {
    const idempotent = effects.every((effect) => evidence.idempotent.has(effect.tool));
    const most = idempotent ? MAX_DISPATCHES : 1;
    if (effects.length > most) faults.push(`call ${callId} took effect ${String(effects.length)} times`);
    if (new Set(effects.map((effect) => effect.invocationId)).size > 1) {
      faults.push(`call ${callId} was dispatched under several invocation ids`);
    }
  }
};

/** What the log says of a call agrees with what happened outside. */
const truthOracle = (log: readonly Recorded[], evidence: Evidence, faults: string[]): void => {
  const writes = new Set(
    log.flatMap(({ event }) => (event.type === "ToolStarted" && changesOutside(event) ? event.callId : [])),
  );
  for (const { event } of log) {
    if (event.type !== "ToolFinished" || !writes.has(event.callId)) continue;
    const own = evidence.effects.filter((effect) => effect.callId === event.callId);
    if (own.some((effect) => effect.stalled)) continue;
    const happened = own.length > 0;
    if (event.status === "ok" && !happened) faults.push(`call ${event.callId} is ok, but nothing happened`);
    if (event.status === "error" && event.settledBy === undefined && happened) {
      faults.push(`call ${event.callId} is an error, but it happened`);
    }
    if (event.status === "skipped" && happened) faults.push(`call ${event.callId} is skipped, but it happened`);
    if (event.settledBy !== undefined && event.status === "error" && happened) {
      faults.push(`call ${event.callId} was settled as absent, but it happened`);
    }
  }
};

const isStop = (item: Item): boolean => item.type === "Interrupt" || item.type === "Cancel";

/** The state before each event, folded from the start. */
export const foldOracle = (
  taskId: string,
  log: readonly Recorded[],
  reducers: Reducers,
  faults: string[],
): TaskState | null => {
  let state: TaskState | null = null;
  let called: { readonly hash: string; readonly seq: number; readonly revision: number } | null = null;
  for (const recorded of log) {
    const { event, seq } = recorded;
    if (event.type === "ModelCalled") {
      if (state?.calls.some((call) => call.phase === "unknown") === true) {
        faults.push(`the model was called at seq ${String(seq)} while an action was unknown`);
      }
      if (state?.calls.some((call) => call.phase !== "finished") === true) {
        faults.push(`the model was called at seq ${String(seq)} while a call was open`);
      }
      if (called !== null && called.revision === event.revision && called.hash !== event.requestHash) {
        faults.push(`the request sent again at seq ${String(seq)} differs from that at seq ${String(called.seq)}`);
      }
      called = { hash: event.requestHash, seq, revision: event.revision };
    }
    const failed = event.type === "ExtensionRecorded" && event.kind === "model_failed";
    // A turn that stopped goes on, or is followed, with other words.
    const stopped = event.type === "Waiting" || (event.type === "InputTaken" && event.items.some(isStop));
    if (event.type === "ModelReplied" || stopped || failed) called = null;
    state = state === null ? createState(taskId, recorded) : apply(state, recorded, reducers);
  }
  return state;
};

export const rowsOracle = async (evidence: Evidence, log: readonly Recorded[], faults: string[]): Promise<void> => {
  const { store, taskId, reducers } = evidence;
  const rows: Row[] = [];
  let state: TaskState | undefined;
  for (const recorded of log) {
    if (state === undefined) state = createState(taskId, recorded);
    else rows.push(...applyAndProject(state, recorded, reducers));
  }
  if (state === undefined) return;
  const wanted = asStored(rows);
  const stored = asStored(await store.readRows({ taskId }));
  if (!isEqualJson(stored, wanted)) {
    faults.push(`projections differ from the log: ${JSON.stringify(stored)} instead of ${JSON.stringify(wanted)}`);
  }
  const row = await store.getTask({ taskId });
  const columns = columnsOf(state);
  for (const [name, value] of Object.entries(columns)) {
    if (name === "historyFrom" || row === null) continue;
    const actual = (row as unknown as Record<string, unknown>)[name];
    if (!isEqualJson(actual, value))
      faults.push(`the row's ${name} is ${String(actual)}, the log says ${String(value)}`);
  }
};

/** A redacted word is in no stored event, snapshot or later request. */
const redactionOracle = async (evidence: Evidence, faults: string[]): Promise<void> => {
  const { store, taskId, gone = [], sent } = evidence;
  const entries = await store.read({ taskId });
  const snapshot = await store.getSnapshot({ taskId, version: "simulation" });
  const snapshotText = snapshot === null ? "" : new TextDecoder().decode(snapshot.bytes);
  for (const { marker, revision } of gone) {
    for (const { seq, body } of entries) {
      if (body.includes(marker)) faults.push(`the redacted ${marker} is in the event at seq ${String(seq)}`);
    }
    if (snapshotText.includes(marker)) faults.push(`the redacted ${marker} is in a snapshot`);
    const later = sent.filter((each) => each.revision >= revision);
    if (later.some(({ request }) => JSON.stringify(request).includes(marker))) {
      faults.push(`the redacted ${marker} was sent to the model afterwards`);
    }
  }
};

/** Folding from a snapshot gives what folding from the start gives. */
const snapshotOracle = async (evidence: Evidence, log: readonly Recorded[], faults: string[]): Promise<void> => {
  const { store, taskId, reducers } = evidence;
  const snapshot = await store.getSnapshot({ taskId, version: "simulation" });
  if (snapshot === null) return;
  const from = JSON.parse(new TextDecoder().decode(snapshot.bytes)) as TaskState;
  const resumed = log
    .filter(({ seq }) => seq > snapshot.seq)
    .reduce((state, each) => apply(state, each, reducers), from);
  if (!isEqualJson(resumed, fold(taskId, log, reducers))) {
    faults.push(`the fold from the snapshot at seq ${String(snapshot.seq)} differs from the whole fold`);
  }
};

/** Everything that is wrong after a run; empty when all holds. */
export const judge = async (evidence: Evidence): Promise<string[]> => {
  const { store, taskId } = evidence;
  const faults: string[] = [];
  const row = await store.getTask({ taskId });
  const entries = await store.read({ taskId });
  const redactions = await store.readRedactions({ taskId });
  if (row === null) return [`task ${taskId} is gone`];
  for (const finding of checkLog({ taskId, entries, redactions, row, hasher: nodeHasher })) faults.push(finding.what);
  let log: Recorded[];
  try {
    log = entries.map(({ seq, at, type, body }) => ({ seq, at, event: decodeEvent(type, body) }));
  } catch (error) {
    return [...faults, error instanceof CodecError ? error.message : String(error)];
  }
  logOracle(log, faults);
  inboxOracle(log, evidence.accepted, faults);
  effectOracle(evidence, faults);
  truthOracle(log, evidence, faults);
  foldOracle(taskId, log, evidence.reducers, faults);
  answerOracle(log, faults);
  approvalOracle(log, faults);
  unknownOracle(log, faults);
  peopleOracle(taskId, log, evidence.reducers, faults);
  planOracle(taskId, log, evidence.reducers, faults);
  await rowsOracle(evidence, log, faults);
  await redactionOracle(evidence, faults);
  await snapshotOracle(evidence, log, faults);
  for (const { request } of evidence.sent) faults.push(...requestFaults(request));
  return faults;
};
