// Whether drafts may follow a log, and whether a creation is one that came before.
import { StoreError, type Draft } from "./store.ts";

/** Refuses (`conflict`) what does not go on, one by one, after `lastSeq`. */
export const checkDrafts = (taskId: string, drafts: readonly Draft[], lastSeq: number): void => {
  if (drafts.length === 0) throw new StoreError("conflict", `nothing to append to task ${taskId}`);
  for (const [index, draft] of drafts.entries()) {
    const expected = lastSeq + 1 + index;
    if (draft.seq === expected) continue;
    const told = `task ${taskId} goes on at seq ${String(expected)}, not at ${String(draft.seq)}`;
    throw new StoreError("conflict", told);
  }
};

const asked = (body: string): string => {
  const { agent, objective } = JSON.parse(body) as { agent: unknown; objective: unknown };
  return JSON.stringify([agent, objective]);
};

/** Whether two `TaskCreated` bodies ask the same of the same agent. Settings may differ: defaults change in between. */
export const isSameCreation = (first: string, second: string): boolean => asked(first) === asked(second);
