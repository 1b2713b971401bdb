// Pruning: ended tasks go whole; that their ids were used stays.
import type { PruneParams } from "../store.ts";
import { changed, type State, type StoredTask } from "./state.ts";

/** The tasks that `task` needs: its parent, and what it folds. */
const needsOf = ({ columns }: StoredTask): string[] =>
  [columns.parent, columns.historyFrom].filter((taskId) => taskId !== null);

/** What is kept for its own sake, and what that needs. */
const kept = (state: State, isOld: (task: StoredTask) => boolean): Set<string> => {
  const ids = new Set([...state.tasks.values()].filter((task) => !isOld(task)).map(({ taskId }) => taskId));
  // What is added to a set while it is iterated is visited too.
  for (const taskId of ids) {
    const task = state.tasks.get(taskId);
    if (task !== undefined) for (const needed of needsOf(task)) ids.add(needed);
  }
  return ids;
};

export const prune = (state: State, { endedBefore, limit, dryRun }: PruneParams): string[] => {
  const stays = kept(state, ({ ended, updatedAt }) => ended && updatedAt < endedBefore);
  const goes = [...state.tasks.keys()]
    .filter((taskId) => !stays.has(taskId))
    .reverse()
    .slice(0, limit);
  if (dryRun === true) return goes;
  const isGone = new Set(goes);
  for (const taskId of goes) {
    state.tasks.delete(taskId);
    state.pruned.add(taskId);
    changed(state, taskId);
  }
  for (const [name, taskId] of state.creationKeys) if (isGone.has(taskId)) state.creationKeys.delete(name);
  return goes;
};
