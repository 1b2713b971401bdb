// Snapshots: the newest per version, two versions at most, for open tasks and the current revision only.
import type { Snapshot } from "../store.ts";
import type { State, StoredTask } from "./state.ts";

const VERSIONS_KEPT = 2;

export const putSnapshot = (state: State, taskId: string, snapshot: Snapshot): boolean => {
  const task = state.tasks.get(taskId);
  if (task === undefined || task.ended || snapshot.revision !== task.revision) return false;
  const { seq, version, revision, bytes } = snapshot;
  const before = task.snapshots.get(version);
  if (before !== undefined && before.seq > seq) return false;
  task.snapshots.delete(version);
  task.snapshots.set(version, { seq, revision, content: state.seal.seal(bytes.slice(), taskId) });
  for (const oldest of [...task.snapshots.keys()].slice(0, -VERSIONS_KEPT)) task.snapshots.delete(oldest);
  return true;
};

export const readSnapshot = (state: State, task: StoredTask, version: string): Snapshot | null => {
  const found = task.snapshots.get(version);
  if (found === undefined) return null;
  const { seq, revision, content } = found;
  return { seq, version, revision, bytes: state.seal.open(content, task.taskId).slice() };
};

export const getSnapshot = (state: State, taskId: string, version: string): Snapshot | null => {
  const task = state.tasks.get(taskId);
  return task === undefined ? null : readSnapshot(state, task, version);
};
