// The skeleton of an event: what stays in the log when its content is removed. A skeleton still folds.
import { eventContent, type Event, type EventOf } from "./events.ts";
import { itemContent, type Item, type NewItem } from "./items.ts";
import { GAP, text, type Reply, type ReplyPart } from "./messages.ts";
import { isRecordKind, recordSkeleton, type RecordKind } from "./records.ts";
import type { TaskState } from "./state.ts";

/** `null` is what a required free-form field holds when its content is gone. */
const emptyOf = (value: unknown): unknown => (typeof value === "string" ? "" : Array.isArray(value) ? [] : null);

/** An item without its words. Required content becomes empty, optional content goes. */
export const itemSkeleton = <T extends Item | NewItem>(item: T): T => {
  const kept: Record<string, unknown> = { ...item, redacted: true };
  for (const field of itemContent[item.type] ?? []) {
    if (!Object.hasOwn(kept, field)) continue;
    if (typeof kept[field] === "string") kept[field] = "";
    else Reflect.deleteProperty(kept, field);
  }
  return kept as unknown as T;
};

const partSkeleton = (part: ReplyPart): ReplyPart =>
  part.type === "call" ? { type: "call", name: part.name, input: {} } : { type: part.type, text: "" };

const replySkeleton = (message: Reply): Reply => ({
  parts: message.parts.map(partSkeleton),
});

const keep = (data: unknown, keys: readonly string[]): Record<string, unknown> => {
  if (typeof data !== "object" || data === null) return {};
  return Object.fromEntries(Object.entries(data).filter(([key]) => keys.includes(key)));
};

const recordSkeletonOf = (event: EventOf<"ExtensionRecorded">): Event => {
  const { data, message, ...rest } = event;
  const core = event.extension === "core" && isRecordKind(event.kind);
  const keys = core ? recordSkeleton(event.kind as RecordKind) : (event.skeleton ?? []);
  return { ...rest, data: keep(data, keys), ...(message === undefined ? {} : { message: [] }), redacted: true };
};

/**
 * The event with its content removed and marked `redacted`. Types, ids, names, seqs, statuses, counts and sources stay.
 * Repeatable: the skeleton of a skeleton is itself.
 */
export const skeletonOf = (event: Event): Event => {
  switch (event.type) {
    case "InputTaken":
      return { ...event, items: event.items.map(itemSkeleton), redacted: true };
    case "ModelReplied":
      return { ...event, message: replySkeleton(event.message), redacted: true };
    case "Waiting": {
      const { answer, ...detail } = event.detail;
      return { ...event, detail: answer === undefined ? detail : { ...detail, answer: "" }, redacted: true };
    }
    case "ExtensionRecorded":
      return recordSkeletonOf(event);
    default: {
      const kept: Record<string, unknown> = { ...event, redacted: true };
      for (const field of eventContent[event.type] as readonly string[]) {
        if (Object.hasOwn(kept, field)) kept[field] = emptyOf(kept[field]);
      }
      return kept as unknown as Event;
    }
  }
};

/** What came of something that may have held removed words: a result becomes a gap, a plugin's record its skeleton. */
export const asGap = (event: Event): Event => {
  if (event.type === "ExtensionRecorded" && event.extension !== "core") return skeletonOf(event);
  if (event.type !== "ToolFinished") return event;
  const { details: _, resources: __, ...kept } = event;
  return { ...kept, content: [text(GAP)] };
};

/**
 * Events made from a call whose input was redacted, before they are written: what came of it may hold what was removed, so
 * results become gaps and plugins' records their skeletons. Other events stay as they are.
 */
export const withoutTaint = (state: TaskState, events: readonly Event[]): readonly Event[] => {
  const isTainted = (event: Event): boolean =>
    event.type === "ToolFinished" && state.calls.some((call) => call.id === event.callId && call.redacted === true);
  if (!events.some(isTainted)) return events;
  return events.map((event) => (event.type === "ToolFinished" && !isTainted(event) ? event : asGap(event)));
};
