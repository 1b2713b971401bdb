// A task's actions as its owner is given them: what was asked for, what the tool returned, what became of the unknown ones.
import type { Effect, EventOf, Recorded } from "../core/events.ts";
import type { Content } from "../core/messages.ts";
import type { CoreRecord } from "../core/records.ts";
import { placeOf, type At } from "./read-log.ts";

/** A write or destructive call. Words are null where they were redacted. */
export interface ExportedAction {
  readonly action: string;
  readonly name: string;
  readonly effect: Effect;
  /** `started`, `unknown`, or how it finished. */
  readonly status: "started" | "unknown" | EventOf<"ToolFinished">["status"];
  /** Handed to the tool with each attempt. */
  readonly invocationId: string;
  /** The arguments as they ran last. */
  readonly input: unknown;
  /** Each time that it was announced. */
  readonly attempts: readonly At[];
  readonly unknown: (At & { readonly reason: string; readonly message: string | null }) | null;
  /** Each time that somebody said, or the tool saw, what became of it. `attestation`: nobody but the owner says so. */
  readonly settled: readonly (At & {
    readonly how: "attestation" | "verification";
    readonly outcome: "done" | "absent" | "unknown";
    readonly by: string;
    readonly verification: string | null;
  })[];
  readonly finished:
    | (At & {
        readonly status: EventOf<"ToolFinished">["status"];
        readonly output: Content | null;
        readonly details: unknown;
        readonly resources: readonly string[] | null;
        readonly settledBy: "attestation" | "verification" | null;
      })
    | null;
}

type Making = { -readonly [K in keyof ExportedAction]: ExportedAction[K] };

const begin = (made: Map<string, Making>, recorded: Recorded, event: EventOf<"ToolStarted">): void => {
  const { callId: action, name, effect, invocationId, redacted } = event;
  if (effect !== "write" && effect !== "destructive") return;
  const attempts = [...(made.get(action)?.attempts ?? []), placeOf(recorded)];
  const input = redacted === true ? null : event.input;
  const open = { unknown: null, settled: [], finished: null } as const;
  made.set(action, { action, name, effect, status: "started", invocationId, input, attempts, ...open });
};

const finish = (action: Making | undefined, recorded: Recorded, event: EventOf<"ToolFinished">): void => {
  if (action === undefined) return;
  const { status, content, details = null, resources, settledBy = null, redacted } = event;
  const words = { output: content, details, resources: resources ?? [] };
  const gap = { output: null, details: null, resources: null };
  action.status = status;
  action.finished = { ...placeOf(recorded), status, ...(redacted === true ? gap : words), settledBy };
};

const note = (made: Map<string, Making>, recorded: Recorded, event: EventOf<"ExtensionRecorded">): void => {
  if (event.extension !== "core") return;
  if (event.kind === "action_unknown") {
    const { callId, reason, message = null } = event.data as CoreRecord<"action_unknown">;
    const action = made.get(callId);
    if (action === undefined) return;
    action.status = "unknown";
    action.unknown = { ...placeOf(recorded), reason, message };
  } else if (event.kind === "action_settled") {
    const { callId, how, outcome, by, verification = null } = event.data as CoreRecord<"action_settled">;
    const action = made.get(callId);
    if (action === undefined) return;
    action.settled = [...action.settled, { ...placeOf(recorded), how, outcome, by, verification }];
  }
};

/** In the order in which they were first announced. */
export const exportActions = (events: readonly Recorded[]): ExportedAction[] => {
  const made = new Map<string, Making>();
  for (const recorded of events) {
    const { event } = recorded;
    if (event.type === "ToolStarted") begin(made, recorded, event);
    else if (event.type === "ToolFinished") finish(made.get(event.callId), recorded, event);
    else if (event.type === "ExtensionRecorded") note(made, recorded, event);
  }
  return [...made.values()];
};
