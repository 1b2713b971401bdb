// Epochs: what a restore changes. A memory store cannot be backed up; this stands for one whose logs are a backup's.
import { FENCES_OF_AN_EPOCH } from "../backup.ts";
import { readyFrom } from "./inbox.ts";
import { nowOf, type State, type StoredTask } from "./state.ts";

/** The time of the earliest backup that the task's log does not tell of, a bundle being one; null if there is none, or the
 * task has ended. */
export const restoredFrom = (state: State, task: StoredTask): number | null => {
  if (task.ended) return null;
  const untold = [...state.restores].filter(([epoch]) => epoch > task.epoch).map(([, backupAt]) => backupAt);
  if (task.bundleAt !== null) untold.push(task.bundleAt);
  return untold.length === 0 ? null : Math.min(...untold);
};

/** Its turn may have gone on after the backup: whoever claims it next has to say so. */
const mayHaveGoneOn = ({ columns, inboxSeq, inboxTaken }: StoredTask): boolean =>
  columns.status !== "waiting" || columns.outcome === null || inboxSeq > inboxTaken;

/** Begins a new epoch: the logs are those of a backup. Nobody holds anything; what may have gone on is ready. */
export const beginEpoch = (state: State, backupAt: number): void => {
  state.epoch += 1;
  state.restores.set(state.epoch, backupAt);
  const now = nowOf(state);
  for (const task of state.tasks.values()) {
    Object.assign(task, { lease: null, attempts: 0, fence: task.fence + FENCES_OF_AN_EPOCH });
    if (!task.ended) task.readyAt = mayHaveGoneOn(task) ? now : readyFrom(task, now);
  }
};
