// How the kernel's own records change the state.
import { flushQueue, voidApprovals } from "./apply-input.ts";
import type { EventOf, Recorded } from "./events.ts";
import { GAP, text, type Message } from "./messages.ts";
import { RECORD_VERSION, isRecordKind, type CoreRecord, type RecordKind } from "./records.ts";
import type { Call, TaskState } from "./state.ts";
import { countUsage } from "./usage.ts";

type Apply<K extends RecordKind> = (state: TaskState, data: CoreRecord<K>, recorded: Recorded) => void;

const callOf = (state: TaskState, id: string): Call | undefined =>
  state.calls.find((call) => call.id === id && call.phase !== "finished");

const withCall = (state: TaskState, id: string, change: (call: Call) => void): void => {
  const call = callOf(state, id);
  if (call !== undefined) change(call);
};

const modelFailed: Apply<"model_failed"> = (state, data) => {
  const open = state.model.open;
  delete state.model.open;
  state.model.lastFailure = data.class;
  if (data.class !== "aborted") state.model.failures += 1;
  if (data.retryAt !== undefined) state.model.retryAt = data.retryAt;
  if (open !== undefined) {
    const { tokens = "unknown", durationMs, priceEstimate } = data;
    const usage = { tokens, durationMs, ...(priceEstimate === undefined ? {} : { priceEstimate }) };
    countUsage(state, { purpose: data.purpose, model: open.model, usage, failed: true });
  }
  flushQueue(state);
};

const approvalSettled: Apply<"approval_settled"> = (state, data) => {
  withCall(state, data.callId, (call) => {
    if (call.approval?.requestId !== data.requestId) return;
    call.phase = "waiting";
    delete call.parked;
    if (data.decision === "approved") {
      call.approval.approved = true;
      if (data.input !== undefined) call.input = data.input;
      // Of a redacted decision the corrected input is gone, its hash is not: what is left is not what was approved.
      if (data.inputHash !== undefined) call.approval.inputHash = data.inputHash;
      return;
    }
    delete call.approval;
    if (data.decision !== "void") call.denied = data.reason ?? data.decision;
  });
};

/** Words may leave the conversation; calls and their results stay, for one without the other is refused. */
const mayLeave = (message: Message): boolean =>
  message.role === "user" || (message.role === "assistant" && message.parts.every((part) => part.type !== "call"));

const erased: Apply<"erased"> = (state, data, { seq }) => {
  const gone = new Set(data.seqs);
  state.messages = state.messages.filter((message) => !gone.has(message.seq) || !mayLeave(message));
  state.queue = state.queue.filter((message) => !gone.has(message.seq));
  const first = state.messages[0];
  // A conversation begins with a person's words, or with the gap that they left.
  if (first !== undefined && first.role !== "user") state.messages.unshift({ seq, role: "user", content: [text(GAP)] });
  if (state.objectiveSeq !== undefined && gone.has(state.objectiveSeq)) {
    delete state.objectiveSeq;
    state.objectiveErased = true;
  }
  delete state.chain;
};

const actionUnknown: Apply<"action_unknown"> = (state, data, { at }) => {
  withCall(state, data.callId, (call) => {
    call.phase = "unknown";
    call.unknownAt ??= at;
    call.unknownReason = data.reason;
  });
  delete state.waiting;
};

const detachedEnded: Apply<"detached_ended"> = (state, data) => {
  withCall(state, data.callId, (call) => {
    if (data.status === "unknown") call.phase = "started";
    else call.arrival = { status: data.status, content: [] };
  });
};

const reducers: { readonly [K in RecordKind]: Apply<K> } = {
  prompts: (state, data) => {
    // A redacted record has lost its texts.
    const { identity = "", system = "", parts = [] } = data as Partial<CoreRecord<"prompts">>;
    state.prompts = { identity, system, parts };
  },
  plugins: (state, data) => {
    state.pins = data.pins;
    state.tools = data.tools;
  },
  config: (state, data) => {
    state.settings = { ...state.settings, ...data.settings };
  },
  timer_set: (state, data) => {
    state.timers[data.id] = { dueAt: data.dueAt, ...(data.callId === undefined ? {} : { callId: data.callId }) };
  },
  timer_cancelled: (state, data) => {
    Reflect.deleteProperty(state.timers, data.id);
  },
  turn_failed: (state, data) => {
    if (state.turn !== undefined) state.turn.failed = data.reason;
    delete state.waiting;
  },
  model_failed: modelFailed,
  usage: (state, data) => {
    const { purpose, model, tokens, durationMs, priceEstimate } = data;
    const usage = { tokens, durationMs, ...(priceEstimate === undefined ? {} : { priceEstimate }) };
    countUsage(state, { purpose, model, usage, failed: data.failed !== undefined });
  },
  call_parked: (state, data) => {
    withCall(state, data.callId, (call) => {
      call.phase = "parked";
      call.parked = { on: data.on, ...(data.ref === undefined ? {} : { ref: data.ref }) };
    });
  },
  approval_requested: (state, data) => {
    withCall(state, data.callId, (call) => {
      const { requestId, inputHash, definition, decides } = data;
      call.phase = "parked";
      call.parked = { on: "approval", ref: requestId };
      call.approval = { requestId, inputHash, definition, decides, approved: false };
      call.asked = (call.asked ?? 0) + 1;
    });
  },
  approval_settled: approvalSettled,
  action_unknown: actionUnknown,
  action_settled: (state, data) => {
    withCall(state, data.callId, (call) => {
      delete call.verifyAskedBy;
    });
    delete state.waiting;
  },
  interrupted: (state, data) => {
    state.interrupted = data.reason;
  },
  handoff: (state, data) => {
    state.origin = data.origin;
    voidApprovals(state);
  },
  collaborator: (state, data) => {
    state.collaborators = state.collaborators.filter((principal) => principal !== data.principal);
    if (data.change === "add") state.collaborators.push(data.principal);
  },
  refreshed: () => undefined,
  erased,
  detached: (state, data) => {
    withCall(state, data.callId, (call) => {
      call.phase = "detached";
    });
  },
  detached_ended: detachedEnded,
};

/** Folds a core record. Of a redacted one, what the kernel needs is skeleton; its texts stay empty. */
export const applyCoreRecord = (state: TaskState, recorded: Recorded, event: EventOf<"ExtensionRecorded">): void => {
  const { kind } = event;
  if (!isRecordKind(kind) || event.v > RECORD_VERSION) {
    throw new Error(`core/${kind} v${String(event.v)} is not known here`);
  }
  const apply = reducers[kind] as Apply<RecordKind>;
  apply(state, event.data as CoreRecord<RecordKind>, recorded);
};
