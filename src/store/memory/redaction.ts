// Redaction: content goes, skeleton, digest and chain stay, and a list says what was done.
import { FIRST_CHAIN, redactionChain } from "../../core/envelope.ts";
import { nodeHasher } from "../node-hasher.ts";
import { openText, sealText } from "../seal.ts";
import { StoreError, type RedactParams, type Redaction } from "../store.ts";
import { eventTombstone, itemTombstone } from "../tombstone.ts";
import { changed, findTask, type State, type StoredEvent, type StoredItem, type StoredTask } from "./state.ts";

const unique = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

/** The events to redact that are not redacted yet. Codes: `not_found`. */
const eventsFor = (task: StoredTask, seqs: readonly number[]): StoredEvent[] =>
  unique(seqs).flatMap((seq) => {
    const event = task.events[seq - 1];
    if (event === undefined) throw new StoreError("not_found", `task ${task.taskId} has no event ${String(seq)}`);
    return event.salt === null ? [] : [event];
  });

/** The task, and every task that folds it through `historyFrom`, at any distance. */
const foldersOf = (state: State, task: StoredTask): Set<StoredTask> => {
  const folders = new Set([task]);
  // What is added to a set while it is iterated is visited too.
  for (const { taskId } of folders) {
    for (const other of state.tasks.values()) if (other.columns.historyFrom === taskId) folders.add(other);
  }
  return folders;
};

const record = (task: StoredTask, seq: number, digest: Uint8Array): void => {
  const entry = { n: task.redactions.length + 1, seq, digest };
  const before = task.redactions.at(-1)?.chain ?? FIRST_CHAIN;
  task.redactions.push({ ...entry, chain: redactionChain(nodeHasher, before, entry) });
};

export const redact = (state: State, params: RedactParams): { revision: number } => {
  const { taskId } = params;
  const task = findTask(state, taskId);
  const open = ({ seq, content }: { seq: number; content: Uint8Array }) => ({
    seq,
    body: openText(state.seal, taskId, content),
  });
  const events = eventsFor(task, params.seqs).map((event) => {
    return { event, ...eventTombstone(taskId, { type: event.type, ...open(event) }) };
  });
  const asked = new Set(params.items);
  const items = [...task.items.values()].flatMap((item): { item: StoredItem; body: string }[] => {
    const { seq, content } = item;
    if (content === null || !asked.has(seq)) return [];
    const entry = open({ seq, content });
    const body = itemTombstone(taskId, entry);
    return body === entry.body ? [] : [{ item, body }];
  });
  if (events.length === 0 && items.length === 0) return { revision: task.revision };

  for (const { event, body, digest } of events) {
    event.content = sealText(state.seal, taskId, body);
    event.salt = null;
    record(task, event.seq, digest);
  }
  for (const { item, body } of items) item.content = sealText(state.seal, taskId, body);
  task.secret = params.secret.slice();
  for (const item of task.items.values()) item.hash = null;
  for (const folder of foldersOf(state, task)) {
    folder.revision += 1;
    folder.snapshots.clear();
    changed(state, folder.taskId);
  }
  return { revision: task.revision };
};

export const readRedactions = (state: State, taskId: string): Redaction[] =>
  findTask(state, taskId).redactions.map((redaction) => structuredClone(redaction));
