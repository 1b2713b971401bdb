// What a chat shows, as a pure function of the log and of the pieces of the reply that is on its way. Blocks are only added;
// what still changes is the state.
import { apply, createState } from "../../core/fold.ts";
import type { Event, EventOf, Recorded } from "../../core/events.ts";
import type { Item } from "../../core/items.ts";
import { textOf } from "../../core/messages.ts";
import type { CoreRecord } from "../../core/records.ts";
import type { Call, Reducers, TaskState } from "../../core/state.ts";
import type { ModelPart } from "../../model/model.ts";
import { oneLine } from "../one-line.ts";

export type Delta = Exclude<ModelPart, { type: "reply" }>;

/** Something that is over. */
export type Block =
  | { readonly kind: "person"; readonly text: string; readonly by: string }
  | { readonly kind: "agent"; readonly text: string }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly input: string;
      readonly status: EventOf<"ToolFinished">["status"];
      readonly output: string;
      /** From its first announcement; null where it never ran. */
      readonly durationMs: number | null;
    }
  | { readonly kind: "asked"; readonly lines: readonly string[] }
  | { readonly kind: "note"; readonly text: string };

export interface Transcript {
  readonly blocks: Block[];
  /** Undefined before the first event. */
  state: TaskState | undefined;
  /** What was asked, by request id. */
  readonly requests: Map<string, CoreRecord<"approval_requested">>;
  /** Seqs of the events that hold what people said. */
  readonly inputs: Set<number>;
  /** What was posted from here, by its seq in the inbox, until it is taken. */
  readonly sent: Map<number, string>;
  /** The reply on its way, as far as this process is given it. */
  saying: string;
  thinking: boolean;
}

export const createTranscript = (): Transcript => ({
  blocks: [],
  state: undefined,
  requests: new Map(),
  inputs: new Set(),
  sent: new Map(),
  saying: "",
  thinking: false,
});

const INPUT_CHARS = 160;

/** On one line. */
export const lineOf = (value: unknown, chars = INPUT_CHARS): string =>
  oneLine(typeof value === "string" ? value : JSON.stringify(value), chars);

/** A call's input as a person reads it: the values alone, where they are few and short. */
export const inputLine = (input: unknown): string => {
  if (typeof input !== "object" || input === null) return lineOf(input);
  const parts = Object.entries(input).map(([name, value]) => `${name}=${lineOf(value, 60)}`);
  return lineOf(parts.join(" "));
};

const spoken = (item: Item): Block | null => {
  if (item.refused !== undefined) {
    return { kind: "note", text: `${item.type} of ${item.by} was passed over (${item.refused})` };
  }
  switch (item.type) {
    case "Say":
      return { kind: "person", text: item.text, by: item.by };
    case "Steer":
      return { kind: "person", text: `(steers) ${item.text}`, by: item.by };
    case "Answer":
      return { kind: "person", text: item.text, by: item.by };
    case "Resume":
      return item.text === undefined
        ? { kind: "note", text: "resumed" }
        : { kind: "person", text: item.text, by: item.by };
    case "Interrupt":
      return { kind: "note", text: "interrupted" };
    case "Cancel":
      return { kind: "note", text: "cancelled" };
    case "Collaborate":
      return { kind: "note", text: `${item.principal} ${item.change === "add" ? "may" : "may no longer"} steer it` };
    case "Handoff":
      return { kind: "note", text: `moved to ${item.origin.place}: from now on it is found there alone` };
    case "Resolve":
      return { kind: "note", text: `${item.callId} is settled as ${item.outcome}: ${item.verification}` };
    default:
      return null;
  }
};

/** Null for an attempt that was stopped: whoever stopped it is told of elsewhere. */
const failureNote = ({ class: failure, message, retryAt }: CoreRecord<"model_failed">): Block | null => {
  if (failure === "aborted") return null;
  const why = message === undefined ? "" : `: ${lineOf(message)}`;
  return { kind: "note", text: `the model failed (${failure})${why}${retryAt === undefined ? "" : "; trying again"}` };
};

const decisionWords = { approved: "approved", denied: "denied", cancelled: "called off" } as const;

/** What became of a request; what its call then does stands by itself. */
const decisionNote = ({ requestId, decision, by, auto, input, reason }: CoreRecord<"approval_settled">): Block => {
  if (decision === "expired") return { kind: "note", text: `nobody decided on ${requestId} in time` };
  if (decision === "void") {
    const why = reason === undefined ? "" : `: ${lineOf(reason)}`;
    return { kind: "note", text: `${requestId} has to be asked again${why}` };
  }
  const who = auto === true ? " by auto-approve" : by === "core" ? "" : ` by ${by}`;
  const as = input === undefined ? "" : `, as ${lineOf(input)}`;
  return { kind: "note", text: `${requestId} is ${decisionWords[decision]}${who}${as}` };
};

const recordBlock = ({ extension, kind, data }: EventOf<"ExtensionRecorded">): Block | null => {
  if (extension !== "core") return null;
  if (kind === "model_failed") return failureNote(data as CoreRecord<"model_failed">);
  if (kind === "turn_failed") {
    const { reason, message } = data as CoreRecord<"turn_failed">;
    return { kind: "note", text: `the turn failed (${reason})${message === undefined ? "" : `: ${lineOf(message)}`}` };
  }
  if (kind === "approval_settled") return decisionNote(data as CoreRecord<"approval_settled">);
  if (kind !== "action_unknown") return null;
  const { callId, reason } = data as CoreRecord<"action_unknown">;
  return { kind: "note", text: `nobody knows whether ${callId} took effect (${reason})` };
};

const finishedBlock = (event: EventOf<"ToolFinished">, call: Call | undefined, at: number): Block => ({
  kind: "call",
  name: call?.name ?? event.callId,
  input: inputLine(call?.input ?? ""),
  status: event.status,
  output: textOf(event.content),
  durationMs: call?.startedAt === undefined ? null : Math.max(0, at - call.startedAt),
});

/** The blocks that an event adds, from the state before it. */
const blocksOf = (event: Event, state: TaskState | undefined, at: number): Block[] => {
  switch (event.type) {
    case "InputTaken":
      return event.items.flatMap((item) => spoken(item) ?? []);
    case "ModelReplied": {
      const said = textOf(event.message.parts.filter((part) => part.type === "text")).trim();
      return said === "" ? [] : [{ kind: "agent", text: said }];
    }
    case "ToolFinished":
      return [
        finishedBlock(
          event,
          state?.calls.find(({ id }) => id === event.callId),
          at,
        ),
      ];
    case "ExtensionRecorded": {
      const block = recordBlock(event);
      return block === null ? [] : [block];
    }
    case "Compacted":
      return [{ kind: "note", text: "the conversation so far was summarised" }];
    case "TaskEnded":
      return [{ kind: "note", text: `the task has ended: ${event.outcome}` }];
    default:
      return [];
  }
};

/** Takes the next event of the log. */
export const take = (transcript: Transcript, taskId: string, recorded: Recorded, reducers: Reducers): void => {
  const { event, at } = recorded;
  transcript.blocks.push(...blocksOf(event, transcript.state, at));
  if (event.type === "InputTaken") transcript.inputs.add(recorded.seq);
  if (event.type === "ExtensionRecorded" && event.extension === "core" && event.kind === "approval_requested") {
    const asked = event.data as CoreRecord<"approval_requested">;
    transcript.requests.set(asked.requestId, asked);
  }
  if (transcript.state === undefined) transcript.state = createState(taskId, recorded);
  else apply(transcript.state, recorded, reducers);
  for (const seq of transcript.sent.keys()) if (seq <= transcript.state.inboxTaken) transcript.sent.delete(seq);
  if (event.type !== "ModelCalled" && event.type !== "ModelReplied") return;
  transcript.saying = "";
  transcript.thinking = false;
};

/** Takes a piece of the reply that is on its way. It stands until the reply is in the log, or another attempt begins. */
export const hear = (transcript: Transcript, delta: Delta): void => {
  transcript.thinking = delta.type === "reasoning";
  if (delta.type === "text") transcript.saying += delta.delta;
};
