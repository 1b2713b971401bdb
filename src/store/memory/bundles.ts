// Tasks whole, out of a store and into one. What comes in is verified before anything is kept.
import { checkBundle, mayHaveGoneOn } from "../check-bundle.ts";
import type { Bundle, Store } from "../store.ts";
import { getDefinitions, storeDefinitions } from "./definitions.ts";
import { getFile, listFiles, putFile } from "./files.ts";
import { read, storeEvents } from "./log.ts";
import { readRedactions } from "./redaction.ts";
import { readyFrom } from "./inbox.ts";
import { applyRows } from "./rows.ts";
import { changed, findTask, nowOf, type State, type StoredTask } from "./state.ts";
import { newTask, rowOf } from "./tasks.ts";

export const exportTask = (state: State, taskId: string): Bundle => {
  const task = findTask(state, taskId);
  return {
    format: "perdure-task/1",
    row: rowOf(state, task),
    entries: read(state, { taskId }),
    redactions: readRedactions(state, taskId),
    definitions: getDefinitions(state, task.definitions),
    files: listFiles(state, taskId).flatMap(({ name }) => {
      const file = getFile(state, taskId, name);
      return file === null ? [] : [{ name, ...file }];
    }),
  };
};

export const importTask = (state: State, params: Parameters<Store["importTask"]>[0]): void => {
  const { taskId, bundle, secret, columns, rows, bundleAt = null } = params;
  const made = newTask(state, { taskId, secret, columns });
  checkBundle(bundle);
  const { row, entries, redactions, definitions, files } = bundle;
  const task: StoredTask = {
    ...made,
    createdAt: entries[0]?.at ?? made.createdAt,
    createdSeq: entries.length,
    bundleAt,
    ended: columns.status === "ended",
    // Hashes in the log were made under the old secret: another revision tells that they no longer compare.
    revision: row.revision + 1,
    // Seqs go on, so that what the log has taken is never taken for something seen of the new inbox.
    inboxSeq: row.inboxSeq,
    inboxTaken: row.inboxSeq,
    redactions: redactions.map((redaction) => structuredClone(redaction)),
  };
  storeEvents(state, task, entries);
  applyRows(task, rows);
  const now = nowOf(state);
  task.readyAt = bundleAt !== null && mayHaveGoneOn(columns) ? now : readyFrom(task, now);
  storeDefinitions(state, task, definitions);
  state.tasks.set(taskId, task);
  for (const file of files) putFile(state, taskId, file);
  changed(state, taskId);
};
