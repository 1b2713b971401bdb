// A task's approvals as its owner is given them: what was asked, who decided, and as what it ran. A record, never a grant.
import type { Recorded } from "../core/events.ts";
import { callId } from "../core/fold.ts";
import type { CallPart } from "../core/messages.ts";
import type { CoreRecord } from "../core/records.ts";
import { placeOf, type At } from "./read-log.ts";

/** Words are null where they were redacted or there were none. */
export interface ExportedApproval extends At {
  readonly request: string;
  readonly action: string;
  /** The call's tool. */
  readonly name: string;
  /** The call's arguments as they were shown. */
  readonly input: unknown;
  /** Of a batch, each thing that it would do. Null where redacted. */
  readonly items: readonly string[] | null;
  /** Why it was asked. */
  readonly askedBecause: string | null;
  readonly inputHash: string;
  readonly definition: string;
  /** Who may decide. */
  readonly decides: string;
  readonly expiresAt: number | null;
  /** The resume or the move that voided what was approved before it; the call is asked about anew. Null where none did. */
  readonly voided: At | null;
  /** Null while it is open. */
  readonly decision:
    | (At & {
        readonly decision: CoreRecord<"approval_settled">["decision"];
        readonly by: string;
        /** Nobody was asked: auto-approve was on. */
        readonly auto: boolean;
        /** The corrected arguments, where they were corrected. */
        readonly input: unknown;
        readonly reason: string | null;
      })
    | null;
}

type CallOf = Pick<CallPart, "name" | "input">;

/** The calls of all replies, by their ids. The input is null where it was redacted. */
const callsOf = (events: readonly Recorded[], forkDepth: number): ReadonlyMap<string, CallOf> =>
  new Map(
    events.flatMap(({ seq, event }) => {
      if (event.type !== "ModelReplied") return [];
      return event.message.parts.flatMap((part, index): [string, CallOf][] => {
        if (part.type !== "call") return [];
        return [
          [callId(forkDepth, seq, index), { name: part.name, input: event.redacted === true ? null : part.input }],
        ];
      });
    }),
  );

const askedOf = (recorded: Recorded, data: CoreRecord<"approval_requested">, call?: CallOf): ExportedApproval => {
  const { requestId: request, callId: action, inputHash, definition, decides, expiresAt = null } = data;
  const redacted = recorded.event.redacted === true;
  // A request holds the arguments only where they are not those of the reply.
  const { input = call?.input ?? null, items = [], reason = null } = data;
  const words = redacted ? { input: null, items: null } : { input, items };
  const about = { request, action, name: call?.name ?? "", ...words, askedBecause: reason };
  return { ...placeOf(recorded), ...about, inputHash, definition, decides, expiresAt, voided: null, decision: null };
};

/** In the order in which they were asked for. `forkDepth`: the task's. */
export const exportApprovals = (events: readonly Recorded[], forkDepth: number): ExportedApproval[] => {
  const calls = callsOf(events, forkDepth);
  const asked = new Map<string, ExportedApproval>();
  for (const recorded of events) {
    const { event } = recorded;
    if (event.type !== "ExtensionRecorded" || event.extension !== "core") continue;
    if (event.kind === "approval_requested") {
      const data = event.data as CoreRecord<"approval_requested">;
      asked.set(data.requestId, askedOf(recorded, data, calls.get(data.callId)));
    } else if (event.kind === "approval_settled") {
      const { requestId, decision, by, auto = false, ...said } = event.data as CoreRecord<"approval_settled">;
      const request = asked.get(requestId);
      if (request === undefined) continue;
      if (request.decision !== null) {
        asked.set(requestId, { ...request, voided: placeOf(recorded) });
        continue;
      }
      const { input = null, reason = null } = said;
      asked.set(requestId, { ...request, decision: { ...placeOf(recorded), decision, by, auto, input, reason } });
    }
  }
  return [...asked.values()];
};
