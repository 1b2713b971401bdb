// The memory store: the reference adapter, as small as the contract allows. Lost with its process.
import { plainSeal } from "../seal.ts";
import { StoreError, type Clock, type Hint, type Seal, type Store, type StoreStats } from "../store.ts";
import { systemClock } from "../system-clock.ts";
import { append } from "./append.ts";
import { exportTask, importTask } from "./bundles.ts";
import { claim, letGo, letLapse, readInbox, readySince, release, renew } from "./claims.ts";
import { readDecisions, showApproval } from "./decisions.ts";
import { getDefinitions } from "./definitions.ts";
import { getFile, listFiles, putFile } from "./files.ts";
import { follow } from "./follow.ts";
import { post } from "./inbox.ts";
import { read } from "./log.ts";
import { prune } from "./prune.ts";
import { readRedactions, redact } from "./redaction.ts";
import { readRows } from "./rows.ts";
import { getSnapshot, putSnapshot } from "./snapshots.ts";
import { findTask, nowOf, openState, type State } from "./state.ts";
import { createTask, getTask, listTasks } from "./tasks.ts";

const statsOf = (state: State): StoreStats => {
  const types = new Map<string, { events: number; bytes: number }>();
  let [snapshotBytes, fileBytes] = [0, 0];
  for (const task of state.tasks.values()) {
    for (const { type, content } of task.events) {
      const counted = types.get(type) ?? { events: 0, bytes: 0 };
      types.set(type, { events: counted.events + 1, bytes: counted.bytes + content.length });
    }
    for (const { content } of task.snapshots.values()) snapshotBytes += content.length;
    for (const { content } of task.files.values()) fileBytes += content.length;
  }
  const ofTypes = [...types].map(([type, counted]) => ({ type, ...counted }));
  return { tasks: state.tasks.size, types: ofTypes, snapshotBytes, fileBytes, storeBytes: null };
};

/** A handle on `state`. Several handles on one state are to each other what processes on one database are. */
export const storeOver = (state: State): Store => {
  const closing = new AbortController();
  const own = new Set<Hint>();
  const checkOpen = (): void => {
    if (closing.signal.aborted) throw new StoreError("unavailable", "the memory store was closed");
  };
  /** Runs a whole operation at once, as the transaction that it is. */
  const run = async <T>(work: () => T): Promise<T> => {
    checkOpen();
    return work();
  };
  const unsubscribe = (hint: Hint): boolean => own.delete(hint) && state.hints.delete(hint);
  return {
    name: "memory",
    createTask: (params) => run(() => createTask(state, params)),
    append: (params) => run(() => append(state, params)),
    post: (params) => run(() => post(state, params)),
    showApproval: (params) => run(() => showApproval(state, params)),
    readDecisions: ({ taskId }) => run(() => readDecisions(state, taskId)),
    claim: (params) => run(() => claim(state, params)),
    readySince: (params) => run(() => readySince(state, params)),
    renew: (params) => run(() => renew(state, params)),
    release: (params) => run(() => release(state, params)),
    letLapse: (params) => run(() => letLapse(state, params)),
    letGo: ({ taskId }) => run(() => letGo(state, taskId)),
    readInbox: ({ taskId, fence }) => run(() => readInbox(state, taskId, fence)),
    read: (params) => run(() => read(state, params)),
    readRedactions: ({ taskId }) => run(() => readRedactions(state, taskId)),
    async *follow({ signal, ...params }) {
      checkOpen();
      yield* follow(state, params, AbortSignal.any([signal, closing.signal]));
    },
    getTask: ({ taskId }) => run(() => getTask(state, taskId)),
    listTasks: (params) => run(() => listTasks(state, params)),
    readRows: ({ taskId, table }) => run(() => readRows(state, taskId, table)),
    getDefinitions: ({ hashes }) => run(() => getDefinitions(state, hashes)),
    getSecret: ({ taskId }) => run(() => findTask(state, taskId).secret.slice()),
    putSnapshot: ({ taskId, snapshot }) => run(() => putSnapshot(state, taskId, snapshot)),
    getSnapshot: ({ taskId, version }) => run(() => getSnapshot(state, taskId, version)),
    redact: (params) => run(() => redact(state, params)),
    prune: (params) => run(() => prune(state, params)),
    putFile: ({ taskId, ...file }) => run(() => putFile(state, taskId, file)),
    getFile: ({ taskId, name }) => run(() => getFile(state, taskId, name)),
    listFiles: ({ taskId }) => run(() => listFiles(state, taskId)),
    exportTask: ({ taskId }) => run(() => exportTask(state, taskId)),
    importTask: (params) => run(() => importTask(state, params)),
    check: () => run(() => []),
    stats: () => run(() => statsOf(state)),
    subscribe(hint) {
      const told: Hint = (taskId, only) => hint(taskId, only);
      own.add(told);
      state.hints.add(told);
      return () => void unsubscribe(told);
    },
    now: () => run(() => nowOf(state)),
    async close() {
      closing.abort();
      own.forEach(unsubscribe);
    },
  };
};

/** A store that lives in this process. `clock` is the machine's, `seal` none, unless given. */
export const createMemoryStore = (options: { readonly clock?: Clock; readonly seal?: Seal } = {}): Store =>
  storeOver(openState(options.clock ?? systemClock(), options.seal ?? plainSeal));
