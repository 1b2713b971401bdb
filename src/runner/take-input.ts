// TakeInput: copies untaken inbox items into the log, whole; they are consumed by that append and by nothing else.
import { decodeItem } from "../core/codec.ts";
import type { Event } from "../core/events.ts";
import type { Item } from "../core/items.ts";
import type { InboxEntry } from "../store/store.ts";
import { inPieces, judged, peopleRecords } from "./judge-items.ts";
import { coreRecord } from "./records.ts";
import { decisionRecords, unusedApprovals, voidRecords } from "./take-decision.ts";
import { stateOf, type Run } from "./run.ts";

/** An item that cannot be read. It stays in the inbox; the task is held, or left to a newer version. */
export class UnreadableItem extends Error {
  override readonly name = "UnreadableItem";
}

const toItem = (taskId: string, entry: InboxEntry): Item => {
  try {
    const { seq, at, by, key } = entry;
    return { seq, at, by, key, ...decodeItem(entry.body) };
  } catch (cause) {
    throw new UnreadableItem(`task ${taskId}: inbox item ${String(entry.seq)} cannot be read`, { cause });
  }
};

/** The items, decoded. What has happened since the claim is committed before one that cannot be read ends it. */
const itemsOf = async (run: Run, entries: readonly InboxEntry[], atClaim: boolean): Promise<Item[]> => {
  try {
    return entries.map((entry) => toItem(run.claim.taskId, entry));
  } catch (error) {
    if (!atClaim) await run.journal.commitAll();
    throw error;
  }
};

/** What the owner's changes of settings are recorded as. Nobody else may change any. */
const configRecords = (run: Run, items: readonly Item[]): Event[] =>
  items.flatMap((item) =>
    item.type === "Reconfigure" && item.by === stateOf(run).owner
      ? [coreRecord("config", { settings: item.settings, by: item.by })]
      : [],
  );

/** Folds what is taken in pieces, so that each item meets the people and the place that those before it left. */
const addPieces = async (run: Run, items: readonly Item[], through: number): Promise<void> => {
  const pieces = inPieces(items, stateOf(run).owner);
  for (const [index, piece] of pieces.entries()) {
    const taken = await judged(run, piece);
    const last = taken.at(-1);
    const upTo = index === pieces.length - 1 ? through : (last?.seq ?? through);
    const unused = unusedApprovals(stateOf(run));
    run.journal.add({ type: "InputTaken", items: taken, through: upTo }, ...configRecords(run, taken));
    run.journal.add(...peopleRecords(stateOf(run), last));
    run.journal.add(...voidRecords(stateOf(run), unused));
    for (const item of taken) run.journal.add(...(await decisionRecords(run, item)));
  }
};

/** A task's move is judged by its sources, which are known once what it has done is committed. */
const commitBeforeMove = async (run: Run, items: readonly Item[]): Promise<boolean> => {
  if (!run.journal.hasPending || items.every((item) => item.type !== "Handoff")) return true;
  return (await run.journal.commit()) === "appended";
};

/**
 * Adds InputTaken for what the inbox holds now; nothing when it holds nothing. It commits before any other step but a model
 * call, which is announced in the same append: until then the items are as untaken as they were.
 */
export const takeInput = async (run: Run, loaded?: readonly InboxEntry[]): Promise<void> => {
  const { taskId, fence } = run.claim;
  const taken = stateOf(run).inboxTaken;
  const entries = (loaded ?? (await run.ports.store.readInbox({ taskId, fence }))).filter((entry) => entry.seq > taken);
  const last = entries.at(-1);
  if (last === undefined) {
    run.journal.inboxSeq = taken;
    run.journal.timerDue = false;
    return;
  }
  const items = await itemsOf(run, entries, loaded !== undefined);
  if (!(await commitBeforeMove(run, items))) return;
  await addPieces(run, items, last.seq);
  run.journal.timerDue = false;
  run.watch.took(last.seq);
  run.contextFull = false;
};
