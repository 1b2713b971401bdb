// Whether a call may start: what policies, tool and hooks want of it, whether that was approved, and the request where not.
import {
  expiryTimerOf,
  inputHashOf,
  isPending,
  needsOwner,
  policyVerdict,
  requestIdOf,
  strictest,
  type Verdict,
} from "../core/approval.ts";
import type { Settled } from "../core/decide.ts";
import { isEqualJson } from "../core/equal.ts";
import type { Event } from "../core/events.ts";
import type { CoreRecord } from "../core/records.ts";
import type { Call, TaskState } from "../core/state.ts";
import type { HookVerdict, PreparedTool } from "../plugins/plugin.ts";
import { coreRecord } from "./records.ts";
import { stateOf, storeNow, type Run } from "./run.ts";

/** What a hook said that asks. */
export type Asked = Extract<HookVerdict, { readonly verdict: "ask" }>;

/** A call as it would run. */
export interface Candidate {
  readonly call: Call;
  readonly prepared: PreparedTool;
  /** After the hooks' rewrites; `value` is what the tool's schema made of it. */
  readonly input: unknown;
  readonly value: unknown;
  readonly asks: readonly Asked[];
}

/** The approval was for this very call, input and definition. What was approved of any other says nothing. */
const isGranted = (run: Run, { call, prepared, input }: Candidate): boolean => {
  const { approval } = call;
  if (approval?.approved !== true || approval.definition !== prepared.entry.definition) return false;
  return approval.inputHash === inputHashOf(run.mac, input);
};

const toolVerdict = ({ prepared, value }: Candidate): Verdict | undefined => {
  const { approval } = prepared.tool;
  return typeof approval === "function" ? approval(value as never) : approval;
};

const wanted = (run: Run, candidate: Candidate): Verdict => {
  const { tool } = candidate.prepared;
  return strictest([
    toolVerdict(candidate),
    policyVerdict(run.agent.agent.approvals ?? {}, tool),
    ...(candidate.asks.length > 0 ? (["ask"] as const) : []),
    ...(needsOwner(stateOf(run), tool.effect) ? (["ask"] as const) : []),
  ]);
};

/** Whom the hooks name first, of those who may decide: a collaborator never does, and nobody else could in their place. */
const deciderOf = ({ collaborators }: TaskState, asks: readonly Asked[]): string | undefined =>
  asks.find(({ decides }) => decides !== undefined && !collaborators.includes(decides))?.decides;

const requestOf = (run: Run, candidate: Candidate): CoreRecord<"approval_requested"> => {
  const { call, prepared, input, value, asks } = candidate;
  const state = stateOf(run);
  const items = prepared.tool.items?.(value as never);
  const steered = needsOwner(state, prepared.tool.effect);
  const reasons = asks.flatMap(({ reason }) => reason ?? []);
  if (steered) reasons.push("Somebody else corrected the task.");
  const decides = steered ? undefined : deciderOf(state, asks);
  const limits = [state.settings.approvalExpiryMs, ...asks.map(({ expiresInMs }) => expiresInMs)];
  const limitMs = Math.min(...limits.map((limit) => limit ?? Infinity));
  return {
    requestId: requestIdOf(call),
    callId: call.id,
    decides: decides ?? state.owner,
    ...(limitMs === Infinity ? {} : { expiresAt: Math.ceil(storeNow(run) + limitMs) }),
    // Asked before, the call may have been corrected: then its reply does not say any more what would run.
    ...(isEqualJson(input, call.input) && call.asked === undefined ? {} : { input }),
    ...(items === undefined ? {} : { items: [...items] }),
    ...(reasons.length === 0 ? {} : { reason: reasons.join(" ") }),
    inputHash: inputHashOf(run.mac, input),
    definition: prepared.entry.definition,
  };
};

/** The owner has switched it on, nobody else steered, and it is the owner who would be asked: no hook wants another. */
const autoApproves = (run: Run, { prepared, asks }: Candidate): boolean => {
  const state = stateOf(run);
  const wantsAnother = asks.some((ask) => ask.decides !== undefined && ask.decides !== state.owner);
  return state.settings.autoApprove === true && !wantsAnother && !needsOwner(state, prepared.tool.effect);
};

/**
 * What becomes of a call that would start now. `ask`: the events ask for it. `allow`: the events, if any, record what the
 * owner's auto-approve decided, ahead of the call's announcement.
 */
export const approvalOf = (
  run: Run,
  candidate: Candidate,
): { readonly verdict: Verdict; readonly events: readonly Event[] } => {
  const verdict = wanted(run, candidate);
  if (verdict !== "ask" || isGranted(run, candidate))
    return { verdict: verdict === "deny" ? "deny" : "allow", events: [] };
  const request = requestOf(run, candidate);
  const { requestId, callId, decides, expiresAt } = request;
  if (autoApproves(run, candidate)) {
    const { expiresAt: _, ...asked } = request;
    const settled = { requestId, callId, decision: "approved", by: decides, auto: true } as const;
    return {
      verdict: "allow",
      events: [coreRecord("approval_requested", asked), coreRecord("approval_settled", settled)],
    };
  }
  const timer = { id: expiryTimerOf(requestId), dueAt: expiresAt ?? 0, callId };
  const expires = expiresAt === undefined ? [] : [coreRecord("timer_set", timer)];
  return { verdict, events: [coreRecord("approval_requested", request), ...expires] };
};

/** That a request is settled, and that nothing has to wake the task for it any more. */
export const settledApproval = (state: TaskState, settled: CoreRecord<"approval_settled">): Event[] => {
  const id = expiryTimerOf(settled.requestId);
  const timer = Object.hasOwn(state.timers, id) ? [coreRecord("timer_cancelled", { id })] : [];
  const { requestId, callId, decision, by, ...more } = settled;
  return [coreRecord("approval_settled", { requestId, callId, decision, by, ...more }), ...timer];
};

/** Requests about calls that get their results without a decision. */
export const calledOff = (run: Run, settle: readonly Settled[]): Event[] => {
  const state = stateOf(run);
  return state.calls.flatMap((call) => {
    const requestId = call.approval?.requestId;
    if (requestId === undefined || !isPending(call) || !settle.some(({ callId }) => callId === call.id)) return [];
    return settledApproval(state, { requestId, callId: call.id, decision: "cancelled", by: "core" });
  });
};
