// What must hold while nobody knows what an action did. From events alone: the fold that is under test is not asked.
import type { Recorded } from "../../core/events.ts";
import type { CoreRecord } from "../../core/records.ts";

/** While an action is unknown the task waits for its resolution, and no turn and no task comes to an end over it. */
export const unknownOracle = (log: readonly Recorded[], faults: string[]): void => {
  const unknown = new Set<string>();
  for (const { seq, event } of log) {
    if (event.type === "ExtensionRecorded" && event.extension === "core" && event.kind === "action_unknown") {
      unknown.add((event.data as CoreRecord<"action_unknown">).callId);
    }
    if (event.type === "ToolFinished") unknown.delete(event.callId);
    if (unknown.size === 0) continue;
    const names = [...unknown].join(", ");
    if (event.type === "TaskEnded") faults.push(`at seq ${String(seq)} the task ended while ${names} is unknown`);
    if (event.type === "Waiting" && event.on !== "resolution") {
      faults.push(`at seq ${String(seq)} the task waits on ${event.on} while ${names} is unknown`);
    }
  }
};
