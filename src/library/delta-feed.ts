// Pieces of replies on their way from a model in this process to those who watch. Nothing of it is kept.
import type { Delta } from "./task.ts";

export interface DeltaFeed {
  /** Calls `take` with each delta of the task's model calls. Returns how to stop. */
  subscribe(taskId: string, take: (delta: Delta) => void): () => void;
  give(taskId: string, delta: Delta): void;
}

export const createDeltaFeed = (): DeltaFeed => {
  const takers = new Map<string, Set<(delta: Delta) => void>>();
  return {
    subscribe: (taskId, take) => {
      const known = takers.get(taskId) ?? new Set();
      takers.set(taskId, known.add(take));
      return () => {
        known.delete(take);
        if (known.size === 0) takers.delete(taskId);
      };
    },
    give: (taskId, delta) => {
      for (const take of takers.get(taskId) ?? []) take(delta);
    },
  };
};
