// What must hold of a store and of the file of effects after any number of kills, and the figures of it.
import { checkTask } from "../../src/client/check-task.ts";
import { decodeEvent } from "../../src/core/codec.ts";
import type { Event, EventOf } from "../../src/core/events.ts";
import type { Reducers } from "../../src/core/state.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import type { Store } from "../../src/store/store.ts";
import { judge } from "../../src/testing/simulation/oracles.ts";
import { idempotent, readEffects, type EffectLine } from "./counting-agent.ts";

export interface Figures {
  tasks: number;
  ended: number;
  events: number;
  accepted: number;
  writes: number;
  /** Reads that ran again, and idempotent writes that were dispatched again under their id. */
  rerun: number;
  redispatched: number;
  /** Actions that became unknown; those settled by their own check, and those by a person. */
  unknown: number;
  verified: number;
  attested: number;
  skipped: number;
  /** Accepted and not taken, or told to be done and not there. */
  lost: number;
  /** Taken twice, or done twice. */
  doubled: number;
}

const none = (): Figures => ({
  ...{ tasks: 0, ended: 0, events: 0, accepted: 0, writes: 0, rerun: 0, redispatched: 0 },
  ...{ unknown: 0, verified: 0, attested: 0, skipped: 0, lost: 0, doubled: 0 },
});

interface Evidence {
  readonly store: Store;
  readonly reducers: Reducers;
  readonly effects: string;
  readonly accepted: ReadonlyMap<string, readonly number[]>;
}

const isRecord = (event: Event, kind: string): boolean => event.type === "ExtensionRecorded" && event.kind === kind;

/** A write that is told to be done has its line, and one that was not done is not told to be. */
const outcomeFaults = (log: readonly Event[], lines: readonly EffectLine[], figures: Figures): string[] => {
  const faults: string[] = [];
  const names = new Map(log.flatMap((event) => (event.type === "ToolStarted" ? [[event.callId, event.name]] : [])));
  for (const event of log) {
    if (event.type !== "ToolFinished" || names.get(event.callId) === "look") continue;
    const happened = lines.some((line) => line.callId === event.callId);
    if (event.status === "ok" && !happened) {
      figures.lost += 1;
      faults.push(`${event.callId} is ok and has no line`);
    }
    if (event.status !== "ok" && happened) faults.push(`${event.callId} is ${event.status} and has a line`);
  }
  return faults;
};

/** No plain write has two lines for one call or one invocation id; an idempotent one has one id for all its lines. */
const doubleFaults = (lines: readonly EffectLine[], figures: Figures): string[] => {
  const byCall = new Map<string, EffectLine[]>();
  for (const line of lines) {
    if (line.tool !== "look") byCall.set(line.callId, [...(byCall.get(line.callId) ?? []), line]);
  }
  const faults: string[] = [];
  for (const [callId, [first, ...more]] of byCall) {
    if (more.length === 0 || first === undefined) continue;
    if (idempotent.has(first.tool) && more.every((line) => line.invocationId === first.invocationId)) continue;
    figures.doubled += 1;
    faults.push(`${first.tool} ${callId} has ${String(more.length + 1)} lines`);
  }
  return faults;
};

const count = (log: readonly Event[], accepted: readonly number[], figures: Figures): void => {
  const started = log.filter((event): event is EventOf<"ToolStarted"> => event.type === "ToolStarted");
  const results = log.filter((event): event is EventOf<"ToolFinished"> => event.type === "ToolFinished");
  const taken = log.flatMap((event) => (event.type === "InputTaken" ? event.items.map((item) => item.seq) : []));
  figures.tasks += 1;
  figures.events += log.length;
  figures.accepted += accepted.length;
  figures.writes += new Set(started.filter(({ effect }) => effect === "write").map(({ callId }) => callId)).size;
  figures.rerun += started.filter(({ effect, attempt }) => effect === "read" && attempt > 1).length;
  figures.redispatched += started.filter(({ effect, attempt }) => effect === "write" && attempt > 1).length;
  figures.unknown += log.filter((event) => isRecord(event, "action_unknown")).length;
  figures.verified += results.filter(({ settledBy }) => settledBy === "verification").length;
  figures.attested += results.filter(({ settledBy }) => settledBy === "attestation").length;
  figures.skipped += results.filter(({ status }) => status === "skipped").length;
  figures.lost += accepted.filter((seq) => !taken.includes(seq)).length;
  figures.doubled += taken.length - new Set(taken).size;
};

/** Everything that is wrong, and the figures. */
export const judgeAll = async (evidence: Evidence): Promise<{ faults: string[]; figures: Figures }> => {
  const { store, reducers, accepted } = evidence;
  const lines = readEffects(evidence.effects);
  const figures = none();
  const faults = (await store.check()).map(({ taskId, what }) => `${taskId}: ${what}`);
  for (const { taskId } of lines) if (!accepted.has(taskId)) faults.push(`an effect of ${taskId}, which nobody made`);
  for (const [taskId, seqs] of accepted) {
    const entries = await store.read({ taskId });
    const log = entries.map(({ type, body }) => decodeEvent(type, body));
    const own = lines.filter((line) => line.taskId === taskId);
    const announced = new Set(log.flatMap((event) => (event.type === "ToolStarted" ? [event.invocationId] : [])));
    count(log, seqs, figures);
    const effects = own.map(({ tool, callId, invocationId, fence, pid }) => ({
      ...{ tool, callId, invocationId, fence, actor: String(pid), value: "", newestFence: fence, stalled: false },
      ...{ inboxSeen: 0, inboxTaken: 0, announced: announced.has(invocationId) },
    }));
    const found = [
      ...(await judge({ store, taskId, reducers, effects, sent: [], accepted: seqs, idempotent })),
      ...(await checkTask({ store, hasher: nodeHasher }, { taskId })).map(({ what }) => what),
      ...outcomeFaults(log, own, figures),
      ...doubleFaults(own, figures),
    ];
    faults.push(...found.map((what) => `${taskId}: ${what}`));
    const row = await store.getTask({ taskId });
    if (row?.status === "ended") figures.ended += 1;
    else if (row?.status !== "waiting" || row.inboxSeq > row.inboxTaken) faults.push(`${taskId}: it is not at rest`);
  }
  return { faults, figures };
};
