// What a task has been, for its owner to keep: words, actions and decisions whole, from the log. What was redacted is a gap:
// null in place of words, and its event is named in `gaps`.
import type { EventOf, Outcome, Recorded, Source } from "../core/events.ts";
import type { Item, Origin } from "../core/items.ts";
import { fold } from "../core/fold.ts";
import { textOf, type Content } from "../core/messages.ts";
import type { Client } from "./client.ts";
import { exportActions, type ExportedAction } from "./export-actions.ts";
import { exportApprovals, type ExportedApproval } from "./export-approvals.ts";
import { placeOf, readEvents, type At } from "./read-log.ts";
import { showTask, type TaskView } from "./show-task.ts";

/** A turn that ended. */
export interface ExportedOutcome extends At {
  readonly outcome: Outcome | EventOf<"TaskEnded">["outcome"];
  readonly reason: string | null;
  readonly answer: string | null;
}

/** What a person said, corrected or answered. */
export interface ExportedWords extends At {
  readonly as: "Say" | "Steer" | "Answer";
  readonly by: string;
  readonly text: string | null;
}

export interface ExportedCollaborator extends At {
  readonly principal: string;
  readonly change: "add" | "remove";
  readonly by: string;
}

export interface TaskExport
  extends
    Pick<TaskView, "taskId" | "agent" | "model" | "mode" | "onInterrupt" | "workspace" | "owner" | "objective">,
    Pick<TaskView, "createdAt" | "updatedAt" | "lastSeq" | "head" | "status" | "waitingOn" | "outcome" | "reason">,
    Pick<TaskView, "problem" | "answer" | "saved"> {
  readonly format: "perdure-export/1";
  /** The store's clock (ms). */
  readonly exportedAt: number;
  /** Where it lives now, and whether it is private. */
  readonly origin: Origin;
  readonly parent: string | null;
  readonly outcomes: readonly ExportedOutcome[];
  readonly words: readonly ExportedWords[];
  readonly actions: readonly ExportedAction[];
  readonly approvals: readonly ExportedApproval[];
  /** Who may steer it now. */
  readonly collaborators: readonly string[];
  /** Who was named and unnamed, in order. */
  readonly collaboration: readonly ExportedCollaborator[];
  readonly usage: TaskView["usageTree"];
  readonly files: readonly { readonly name: string; readonly mediaType: string; readonly size: number }[];
  /** Seqs of redacted events. */
  readonly gaps: readonly number[];
}

/** A result with its sources. */
export interface EvidenceRecord extends At {
  readonly callId: string;
  readonly name: string | null;
  readonly status: EventOf<"ToolFinished">["status"];
  readonly sources: readonly Source[];
  /** The arguments as they ran, and the output as the model was given it; null where they were redacted. */
  readonly input: unknown;
  readonly output: Content | null;
  readonly details: unknown;
}

export interface TaskEvidence {
  readonly format: "perdure-evidence/1";
  readonly taskId: string;
  readonly exportedAt: number;
  readonly results: readonly EvidenceRecord[];
}

export interface Exported {
  readonly task: TaskExport;
  /** Null where no result has a source. */
  readonly evidence: TaskEvidence | null;
}

const outcomesOf = (events: readonly Recorded[]): ExportedOutcome[] =>
  events.flatMap((recorded): ExportedOutcome[] => {
    const { event } = recorded;
    if (event.type !== "TaskEnded" && event.type !== "Waiting") return [];
    const { outcome, reason = null, redacted } = event;
    const { answer = null } = event.type === "TaskEnded" ? event : event.detail;
    if (outcome === undefined) return [];
    return [{ ...placeOf(recorded), outcome, reason, answer: redacted === true ? null : answer }];
  });

const wordsOf = (recorded: Recorded, item: Item): ExportedWords[] => {
  if (item.type !== "Say" && item.type !== "Steer" && item.type !== "Answer") return [];
  const { type, by, text, redacted } = item;
  return [{ ...placeOf(recorded), as: type, by, text: redacted === true ? null : text }];
};

const collaborationOf = (recorded: Recorded): ExportedCollaborator[] => {
  const { event } = recorded;
  if (event.type !== "ExtensionRecorded" || event.extension !== "core" || event.kind !== "collaborator") return [];
  return [{ ...placeOf(recorded), ...(event.data as Omit<ExportedCollaborator, keyof At>) }];
};

const evidenceOf = (events: readonly Recorded[]): EvidenceRecord[] => {
  const started = new Map<string, EventOf<"ToolStarted">>();
  return events.flatMap((recorded): EvidenceRecord[] => {
    const { event } = recorded;
    if (event.type === "ToolStarted") started.set(event.callId, event);
    if (event.type !== "ToolFinished" || event.sources === undefined || event.sources.length === 0) return [];
    const { callId, status, sources, content, details = null, redacted } = event;
    const call = started.get(callId);
    const input: unknown = call === undefined || call.redacted === true ? null : call.input;
    const output = redacted === true ? null : content;
    return [
      {
        ...placeOf(recorded),
        callId,
        name: call?.name ?? null,
        status,
        sources,
        input,
        output,
        details: redacted === true ? null : details,
      },
    ];
  });
};

/** The parts of a task's view that an export has too. */
const seen = (view: TaskView) => {
  const { taskId, agent, model, mode, onInterrupt, workspace, owner, objective, createdAt, updatedAt } = view;
  const { lastSeq, head, status, waitingOn, outcome, reason, problem, answer, saved, usageTree: usage } = view;
  const about = { taskId, agent, model, mode, onInterrupt, workspace, owner, objective, createdAt, updatedAt };
  return { ...about, lastSeq, head, status, waitingOn, outcome, reason, problem, answer, saved, usage };
};

/** Codes: `not_found`, `ambiguous`, `unreadable`. */
export const exportTask = async (client: Client, idOrPrefix: string): Promise<Exported> => {
  const { store } = client;
  const view = await showTask(client, idOrPrefix);
  const { taskId, lastSeq } = view;
  const events = await readEvents(store, { taskId, through: lastSeq });
  const { origin, parent, collaborators, forkDepth } = fold(taskId, events, {});
  const exportedAt = await store.now();
  const taken = events.flatMap((recorded) =>
    recorded.event.type === "InputTaken" ? recorded.event.items.flatMap((item) => wordsOf(recorded, item)) : [],
  );
  const task: TaskExport = {
    format: "perdure-export/1",
    exportedAt,
    ...seen(view),
    origin,
    parent: parent?.taskId ?? null,
    outcomes: outcomesOf(events),
    words: taken,
    actions: exportActions(events),
    approvals: exportApprovals(events, forkDepth),
    collaborators,
    collaboration: events.flatMap(collaborationOf),
    files: await store.listFiles({ taskId }),
    gaps: events.flatMap(({ seq, event }) => (event.redacted === true ? [seq] : [])),
  };
  const results = evidenceOf(events);
  const evidence = { format: "perdure-evidence/1", taskId, exportedAt, results } as const;
  return { task, evidence: results.length === 0 ? null : evidence };
};

/** A result's text; null where it was redacted. */
export const outputText = (content: Content | null): string | null => (content === null ? null : textOf(content));
