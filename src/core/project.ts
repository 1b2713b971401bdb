// The task's row and the projection tables, from the state after each event. Pointers (seqs), never copies of content.
// A store writes what this gives in the append's transaction; `check` makes it again from the log and compares.
import { isEqualJson } from "./equal.ts";
import {
  changesOutside,
  type EndOutcome,
  type Event,
  type EventOf,
  type Mode,
  type Outcome,
  type Recorded,
  type WaitingOn,
} from "./events.ts";
import { apply } from "./fold.ts";
import type { Origin } from "./items.ts";
import { isRecordKind, type CoreRecord } from "./records.ts";
import { type Call, type Reducers, type TaskState } from "./state.ts";

/** The columns of a task's row that its log decides. */
export interface TaskColumns {
  readonly agent: string;
  readonly owner: string;
  readonly origin: Origin;
  readonly parent: string | null;
  readonly root: string;
  readonly mode: Mode;
  readonly historyFrom: string | null;
  readonly status: "ready" | "running" | "waiting" | "ended";
  readonly waitingOn: WaitingOn | null;
  readonly outcome: Outcome | EndOutcome | null;
  readonly reason: string | null;
  /** Sorted; what a worker must offer to claim the task. */
  readonly requires: readonly string[];
  readonly queue: string;
  readonly priority: number;
}

/** The tables and their columns, beside `task` and `key`. Values are numbers, strings or null. */
export const projections = {
  actions: {
    name: "text",
    effect: "text",
    status: "text",
    invocationId: "text",
    attempt: "integer",
    startedSeq: "integer",
    unknownSeq: "integer",
    settledSeq: "integer",
    finishedSeq: "integer",
  },
  approvals: {
    callId: "text",
    status: "text",
    decides: "text",
    inputHash: "text",
    definition: "text",
    expiresAt: "integer",
    requestedSeq: "integer",
    settledSeq: "integer",
  },
  usage: {
    purpose: "text",
    model: "text",
    calls: "integer",
    failed: "integer",
    unknown: "integer",
    input: "integer",
    output: "integer",
    cacheRead: "integer",
    cacheWrite: "integer",
    reasoning: "integer",
    durationMs: "integer",
    priceEstimate: "real",
  },
  sources: { version: "text", cursor: "text", seq: "integer" },
  evidence: { callId: "text", source: "text", version: "text", seq: "integer" },
  collaborators: { seq: "integer", by: "text" },
  plans: { version: "integer", seq: "integer" },
  goals: { status: "text", seq: "integer" },
  notes: { seq: "integer" },
  timers: { dueAt: "integer", callId: "text", seq: "integer" },
} as const satisfies Record<string, Record<string, "text" | "integer" | "real">>;

export type Table = keyof typeof projections;
export type Value = string | number | null;

/** One projection row: its columns after the event (absent columns stay as they are), or `null` when it is gone. */
export interface Row {
  readonly table: Table;
  readonly key: string;
  readonly set: Readonly<Record<string, Value>> | null;
}

const requiresOf = (state: TaskState): string[] => {
  const requires = [`agent:${state.agent}`, ...state.pins.map((pin) => `plugin:${pin.name}`)];
  if (state.settings.workspace !== undefined) requires.push(`host:${state.settings.workspace.host}`);
  return requires.sort();
};

const statusOf = (state: TaskState): TaskColumns["status"] => {
  if (state.ended !== undefined) return "ended";
  if (state.waiting !== undefined) return "waiting";
  return state.turn === undefined && state.inboxTaken === 0 ? "ready" : "running";
};

/** The row's columns for a state. */
export const columnsOf = (state: TaskState): TaskColumns => ({
  agent: state.agent,
  owner: state.owner,
  origin: state.origin,
  parent: state.parent?.taskId ?? null,
  root: state.root,
  mode: state.mode,
  historyFrom: state.historyFrom?.taskId ?? null,
  status: statusOf(state),
  waitingOn: state.ended === undefined ? (state.waiting?.on ?? null) : null,
  outcome: state.ended?.outcome ?? state.waiting?.outcome ?? null,
  reason: state.ended === undefined ? (state.waiting?.reason ?? null) : (state.ended.reason ?? null),
  requires: requiresOf(state),
  queue: state.settings.queue ?? "default",
  priority: state.settings.priority ?? 0,
});

/** The columns that are not as they were; all of them where that is not known. */
export const changedColumns = (before: TaskColumns | undefined, after: TaskColumns): Partial<TaskColumns> => {
  if (before === undefined) return after;
  const changed: Record<string, unknown> = {};
  for (const name of Object.keys(after) as (keyof TaskColumns)[]) {
    if (!isEqualJson(after[name], before[name])) changed[name] = after[name];
  }
  return changed;
};

const usageRow = (state: TaskState, purpose: string, model: string): Row[] => {
  const counter = state.usage.find((candidate) => candidate.purpose === purpose && candidate.model === model);
  if (counter === undefined) return [];
  const { priceEstimate, ...counts } = counter;
  return [{ table: "usage", key: `${purpose} ${model}`, set: { ...counts, priceEstimate: priceEstimate ?? null } }];
};

const sourceRows = (event: Event, seq: number): Row[] => {
  if (!("sources" in event) || event.sources === undefined) return [];
  const rows: Row[] = event.sources.map(({ id, version, cursor }) => ({
    table: "sources",
    key: id,
    set: { version: version ?? null, cursor: cursor ?? null, seq },
  }));
  if (event.type !== "ToolFinished") return rows;
  for (const { id, version } of event.sources) {
    const set = { callId: event.callId, source: id, version: version ?? null, seq };
    rows.push({ table: "evidence", key: `${String(seq)} ${id}`, set });
  }
  return rows;
};

const recordRows = (state: TaskState, seq: number, record: EventOf<"ExtensionRecorded">, model?: string): Row[] => {
  const { kind, data } = record;
  if (!isRecordKind(kind)) return [];
  switch (kind) {
    case "action_unknown": {
      const { callId } = data as CoreRecord<"action_unknown">;
      return [{ table: "actions", key: callId, set: { status: "unknown", unknownSeq: seq } }];
    }
    case "action_settled": {
      const { callId, outcome } = data as CoreRecord<"action_settled">;
      return outcome === "unknown" ? [] : [{ table: "actions", key: callId, set: { settledSeq: seq } }];
    }
    case "approval_requested": {
      const { requestId, callId, decides, inputHash, definition, expiresAt } = data as CoreRecord<"approval_requested">;
      const set = { callId, status: "pending", decides, inputHash, definition, expiresAt: expiresAt ?? null };
      return [{ table: "approvals", key: requestId, set: { ...set, requestedSeq: seq } }];
    }
    case "approval_settled": {
      const { requestId, decision } = data as CoreRecord<"approval_settled">;
      return [{ table: "approvals", key: requestId, set: { status: decision, settledSeq: seq } }];
    }
    case "collaborator": {
      const { principal, change, by } = data as CoreRecord<"collaborator">;
      return [{ table: "collaborators", key: principal, set: change === "add" ? { seq, by } : null }];
    }
    case "timer_set": {
      const { id, dueAt, callId } = data as CoreRecord<"timer_set">;
      return [{ table: "timers", key: id, set: { dueAt, callId: callId ?? null, seq } }];
    }
    case "timer_cancelled":
      return [{ table: "timers", key: (data as CoreRecord<"timer_cancelled">).id, set: null }];
    case "usage": {
      const { purpose, model } = data as CoreRecord<"usage">;
      return usageRow(state, purpose, model);
    }
    case "model_failed":
      return model === undefined ? [] : usageRow(state, (data as CoreRecord<"model_failed">).purpose, model);
    default:
      return [];
  }
};

/** Rows of the `plan` plugin's records, from their skeletons alone: a client has no plugins. Others' records give none. */
const planRows = (seq: number, { kind, data }: EventOf<"ExtensionRecorded">): Row[] => {
  const { id, status, version } = (data ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === "plan")
    return Number.isSafeInteger(version)
      ? [{ table: "plans", key: "plan", set: { version: version as number, seq } }]
      : [];
  if (typeof id !== "string") return [];
  switch (kind) {
    case "goal":
      return typeof status === "string" ? [{ table: "goals", key: id, set: { status, seq } }] : [];
    case "note":
      return [{ table: "notes", key: id, set: { seq } }];
    case "note_deleted":
      return [{ table: "notes", key: id, set: null }];
    default:
      return [];
  }
};

const isAction = (call: Call | undefined): boolean => call !== undefined && changesOutside(call);

const finishedRow = (event: EventOf<"ToolFinished">, seq: number): Row => {
  const set = { status: event.status, finishedSeq: seq };
  return { table: "actions", key: event.callId, set };
};

const startedRow = (event: EventOf<"ToolStarted">, seq: number): Row => {
  const { callId, name, effect, invocationId, attempt } = event;
  const set = { name, effect, status: "started", invocationId, attempt, startedSeq: seq };
  return { table: "actions", key: callId, set };
};

/** Folds one event into `state`, like `apply`, and gives the rows that it changes. */
export const applyAndProject = (state: TaskState, recorded: Recorded, reducers: Reducers): Row[] => {
  const { seq, event } = recorded;
  const { open } = state.model;
  const action = event.type === "ToolFinished" && isAction(state.calls.find((call) => call.id === event.callId));
  const timers = event.type === "TaskEnded" ? Object.keys(state.timers) : [];
  apply(state, recorded, reducers);
  const rows = sourceRows(event, seq);
  switch (event.type) {
    case "ToolStarted":
      if (changesOutside(event)) rows.push(startedRow(event, seq));
      break;
    case "ToolFinished":
      if (action) rows.push(finishedRow(event, seq));
      break;
    case "ModelReplied":
      if (open !== undefined) rows.push(...usageRow(state, open.purpose, open.model));
      break;
    case "InputTaken":
      for (const item of event.items) {
        if (item.type !== "TimerFired" || Object.hasOwn(state.timers, item.timerId)) continue;
        rows.push({ table: "timers", key: item.timerId, set: null });
      }
      break;
    case "ExtensionRecorded":
      if (event.extension === "core") rows.push(...recordRows(state, seq, event, open?.model));
      if (event.extension === "plan") rows.push(...planRows(seq, event));
      break;
    default:
      for (const key of timers) rows.push({ table: "timers", key, set: null });
  }
  return rows;
};

/** Rows of one table and key become one row, later values first. The order of first appearance is kept. */
export const mergeRows = (rows: readonly Row[]): Row[] => {
  const merged = new Map<string, Row>();
  for (const row of rows) {
    const name = `${row.table} ${row.key}`;
    const before = merged.get(name)?.set;
    const set = row.set === null || before === null || before === undefined ? row.set : { ...before, ...row.set };
    merged.set(name, { ...row, set });
  }
  return [...merged.values()];
};

const byTableAndKey = (a: Row, b: Row): number => {
  if (a.table !== b.table) return a.table < b.table ? -1 : 1;
  return a.key < b.key ? -1 : 1;
};

/** Rows as a store gives them back: every column there, those never set null; gone rows left out; by table and key. */
export const asStored = (rows: readonly Row[]): Row[] =>
  mergeRows(rows)
    .filter((row) => row.set !== null)
    .map((row) => {
      const columns = Object.keys(projections[row.table]);
      return { ...row, set: Object.fromEntries(columns.map((column) => [column, row.set?.[column] ?? null])) };
    })
    .sort(byTableAndKey);
