// A store as a front end has it that asks again until the server is back. Every call is safe to repeat: posts have keys, and
// creations are given one here.
import { setTimeout as delay } from "node:timers/promises";
import { StoreError, type Store } from "../../src/store/store.ts";

const PAUSE_MS = 50;

/** Does `work` again while the store says `unavailable`. */
export const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "unavailable") throw error;
    }
    await delay(PAUSE_MS);
  }
};

/** What a person of the kill tests, and their judge, ask of a store. */
export const patientStore = (store: Store): Store => ({
  ...store,
  createTask: (params) => {
    const { task } = params;
    return patiently(() => store.createTask({ ...params, task: { ...task, key: task.key ?? task.taskId } }));
  },
  post: (params) => patiently(() => store.post(params)),
  getTask: (params) => patiently(() => store.getTask(params)),
  read: (params) => patiently(() => store.read(params)),
  readRows: (params) => patiently(() => store.readRows(params)),
  getSecret: (params) => patiently(() => store.getSecret(params)),
  check: () => patiently(() => store.check()),
});
