// A task's approvals as its owner is given them: what was asked, who decided, and as what it ran. A record, never a grant.
import type { Recorded } from "../core/events.ts";
import type { CoreRecord } from "../core/records.ts";
import { placeOf, type At } from "./read-log.ts";

/** Words are null where they were redacted or there were none. */
export interface ExportedApproval extends At {
  readonly request: string;
  readonly action: string;
  /** The call's arguments as they were shown. */
  readonly input: unknown;
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
        /** The corrected arguments, where they were corrected. */
        readonly input: unknown;
        readonly reason: string | null;
      })
    | null;
}

/** In the order in which they were asked for. */
export const exportApprovals = (events: readonly Recorded[]): ExportedApproval[] => {
  const asked = new Map<string, ExportedApproval>();
  for (const recorded of events) {
    const { event } = recorded;
    if (event.type !== "ExtensionRecorded" || event.extension !== "core") continue;
    if (event.kind === "approval_requested") {
      const { requestId: request, callId: action, ...data } = event.data as CoreRecord<"approval_requested">;
      const { input = null, inputHash, definition, decides, expiresAt = null } = data;
      const words = { input, inputHash, definition, decides, expiresAt };
      asked.set(request, { ...placeOf(recorded), request, action, ...words, voided: null, decision: null });
    } else if (event.kind === "approval_settled") {
      const { requestId, decision, by, input = null, reason = null } = event.data as CoreRecord<"approval_settled">;
      const request = asked.get(requestId);
      if (request === undefined) continue;
      if (request.decision !== null) {
        asked.set(requestId, { ...request, voided: placeOf(recorded) });
        continue;
      }
      asked.set(requestId, { ...request, decision: { ...placeOf(recorded), decision, by, input, reason } });
    }
  }
  return [...asked.values()];
};
