// What a front end and a worker of one process tell each other of corrections: one that could not be saved pauses its turn.
// Of this process's life alone: whoever was told "not accepted" has it still to say.
export interface Corrections {
  /** A correction could not be saved. */
  unsaved(taskId: string): void;
  /** One was saved since, or the turn has stopped. */
  settled(taskId: string): void;
  isUnsaved(taskId: string): boolean;
}

export const createCorrections = (): Corrections => {
  const tasks = new Set<string>();
  return {
    unsaved: (taskId) => {
      tasks.add(taskId);
    },
    settled: (taskId) => {
      tasks.delete(taskId);
    },
    isUnsaved: (taskId) => tasks.has(taskId),
  };
};
