// What must hold of requests and decisions, whatever went wrong. From events alone: the fold that is under test is not asked.
import type { Event, EventOf, Recorded } from "../../core/events.ts";
import { isEqualJson } from "../../core/equal.ts";
import type { CoreRecord } from "../../core/records.ts";

interface Request {
  readonly asked: CoreRecord<"approval_requested">;
  readonly redacted: boolean;
  settled?: { readonly record: CoreRecord<"approval_settled">; readonly redacted: boolean };
  used: number;
}

const recordOf = <K extends "approval_requested" | "approval_settled">(
  event: Event,
  kind: K,
): { readonly data: CoreRecord<K>; readonly redacted: boolean } | null =>
  event.type === "ExtensionRecorded" && event.extension === "core" && event.kind === kind
    ? { data: event.data as CoreRecord<K>, redacted: event.redacted === true }
    : null;

/** The input that a call was asked with: its own, or what the request says. */
const inputOf = (log: readonly Recorded[], callId: string): unknown => {
  const [, seq, index] = /^c(\d+)_(\d+)$/.exec(callId) ?? [];
  const reply = log.find((recorded) => recorded.seq === Number(seq))?.event;
  const part =
    reply?.type === "ModelReplied" && reply.redacted !== true ? reply.message.parts[Number(index)] : undefined;
  return part?.type === "call" ? part.input : undefined;
};

/** Why this start of a guarded call is wrong; null when it was approved, as it is, and not used before. */
const startFault = (
  log: readonly Recorded[],
  event: EventOf<"ToolStarted">,
  request: Request | undefined,
): string | null => {
  const { callId, definition } = event;
  if (request === undefined) return `call ${callId} ran and nobody was asked`;
  const { asked, settled } = request;
  if (settled === undefined) return `call ${callId} ran before its request ${asked.requestId} was decided`;
  if (settled.record.decision !== "approved") {
    return `call ${callId} ran although ${asked.requestId} was ${settled.record.decision}`;
  }
  if (request.used > 1) return `the approval ${asked.requestId} was used ${String(request.used)} times`;
  if (definition !== asked.definition) return `call ${callId} ran with another definition than was approved`;
  const approved = settled.record.input ?? asked.input ?? inputOf(log, callId);
  const known = event.redacted !== true && !request.redacted && !settled.redacted && approved !== undefined;
  return known && !isEqualJson(approved, event.input)
    ? `call ${callId} ran with another input than was approved`
    : null;
};

/** Resumes whose turn went on from there: what was approved before them is void. */
const goesOn = (log: readonly Recorded[], at: number): boolean => {
  const before = log[at - 1]?.event;
  const next = log
    .slice(at + 1)
    .find(({ event }) => event.type !== "ExtensionRecorded" || event.kind === "approval_requested");
  const paused = before?.type === "Waiting" && before.outcome !== undefined;
  return paused && next?.event.type !== "Waiting" && next?.event.type !== "InputTaken";
};

/**
 * No call of a guarded tool starts without an approved request of its own that stands before it in the log, is the newest
 * about it, and was made since the last resume; each approval is good for one run, and a denied call never runs.
 */
export const approvalOracle = (log: readonly Recorded[], faults: string[]): void => {
  const newest = new Map<string, Request>();
  const byId = new Map<string, Request>();
  let [owner, steered] = ["", false];
  for (const [index, { event }] of log.entries()) {
    if (event.type === "TaskCreated") ({ owner } = event);
    if (event.type === "InputTaken") {
      steered ||= event.items.some((item) => item.type === "Steer" && item.by !== owner && item.refused === undefined);
    }
    const asked = recordOf(event, "approval_requested");
    if (asked !== null) {
      const { requestId, callId } = asked.data;
      if (byId.has(requestId)) faults.push(`the request ${requestId} was made twice`);
      const request: Request = { asked: asked.data, redacted: asked.redacted, used: 0 };
      byId.set(requestId, request);
      newest.set(callId, request);
    }
    const settled = recordOf(event, "approval_settled");
    if (settled !== null) {
      const request = byId.get(settled.data.requestId);
      const { requestId, auto } = settled.data;
      if (auto === true && steered) faults.push(`${requestId} was approved by itself after another's correction`);
      if (request === undefined) faults.push(`${settled.data.requestId} was settled and never made`);
      else if (request.settled !== undefined && settled.data.decision !== "void") {
        faults.push(`${settled.data.requestId} was settled twice`);
      } else request.settled = { record: settled.data, redacted: settled.redacted };
    }
    if (event.type === "InputTaken" && event.items.some(({ type }) => type === "Resume") && goesOn(log, index)) {
      for (const request of newest.values()) if (request.used === 0) newest.delete(request.asked.callId);
    }
    if (event.type !== "ToolStarted" || event.name !== "drop" || event.attempt !== 1) continue;
    const request = newest.get(event.callId);
    if (request !== undefined) request.used += 1;
    const fault = startFault(log, event, request);
    if (fault !== null) faults.push(fault);
  }
};
