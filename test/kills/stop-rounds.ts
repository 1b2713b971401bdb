// A worker process that stands still past its lease (SIGSTOP), another that takes its task over and brings it to rest, and
// what the first one does when it goes on (SIGCONT).
import { setTimeout as delay } from "node:timers/promises";
import { createTask, type TaskRequest } from "../../src/client/create-task.ts";
import { StoreError, type Store, type TaskRow } from "../../src/store/store.ts";
import { temporaryFolder } from "../sqlite/log-writer.ts";
import { AGENT, MODEL, noPoints, prepareCountingAgent, readEffects } from "./counting-agent.ts";
import { judgeAll, type Figures } from "./judgement.ts";
import { openStore, type StorePlace } from "./open-store.ts";
import { clientOf } from "./person.ts";
import { post } from "../../src/client/post.ts";
import { WorkerHandle, type Order, type Told } from "./worker-handle.ts";

/** Where the worker stands still: at the n-th time it comes by a point, or wherever it is so long after its claim. */
export type Stop = NonNullable<Order["at"]> | { readonly afterMs: number };

export interface Round {
  readonly stop: Stop;
  /** What the worker that stood still told after it went on. */
  readonly afterwards: readonly Told[];
  /** Writes of its process that took effect after it went on. */
  readonly lateEffects: number;
  /** It stood still between its last check and the effect of a call: the window that is documented. */
  readonly inWindow: boolean;
  readonly faults: readonly string[];
  readonly figures: Figures;
  /** Where it was not `stood`, nothing was shown. */
  readonly how: Stood;
}

const LEASE_MS = 500;
const request = {
  ...{ agent: AGENT, settings: { model: MODEL }, objective: "Do all of it." },
  ...{ mode: "conversation", onInterrupt: "continue" },
} as const satisfies TaskRequest;

const rests = (row: TaskRow | null): row is TaskRow => row?.status === "waiting" && row.inboxSeq === row.inboxTaken;

/** The task's row once it rests and nobody holds it. */
const untilRest = async (store: Store, taskId: string): Promise<TaskRow> => {
  let hint = Promise.withResolvers<void>();
  const give = (): void => hint.resolve();
  const [timer, unsubscribe] = [setInterval(give, 50), store.subscribe(give)];
  try {
    for (;;) {
      const row = await store.getTask({ taskId });
      if (rests(row) && row.claimedBy === null) return row;
      await hint.promise;
      hint = Promise.withResolvers();
    }
  } finally {
    clearInterval(timer);
    unsubscribe();
  }
};

/** Gives a task what it waits for: settles what is unknown as the file of effects has it, and resumes. */
const answer = async (store: Store, { taskId, waitingOn }: TaskRow, effects: string): Promise<number[]> => {
  const client = clientOf(store);
  if (waitingOn === "resume") return [(await post(client, { taskId, item: { type: "Resume" } })).seq];
  if (waitingOn !== "resolution") throw new Error(`task ${taskId} waits on ${String(waitingOn)}`);
  const accepted: number[] = [];
  for (const { key: callId, set } of await store.readRows({ taskId, table: "actions" })) {
    if (set?.["status"] !== "unknown") continue;
    const outcome = readEffects(effects).some((line) => line.callId === callId) ? "done" : "absent";
    const item = { type: "Resolve", callId, outcome, verification: "looked at the file" } as const;
    accepted.push((await post(client, { taskId, item })).seq);
  }
  return accepted;
};

type Stood = "stood" | "rested" | "in a transaction";

/** Whether nobody can write: the one that stands still has a transaction open, and the file's lock with it. A server
 * finishes the statement that it was given, whatever becomes of who gave it. */
const isLocked = async (place: StorePlace): Promise<boolean> => {
  const impatient = await openStore({ ...place, busyMs: LEASE_MS }).catch((error: unknown) => error);
  if (impatient instanceof Error) {
    if (impatient instanceof StoreError && impatient.code === "unavailable") return true;
    throw impatient;
  }
  const store = impatient as Store;
  try {
    await createTask(clientOf(store), { ...request, agent: "nobody's" });
    return false;
  } catch (error) {
    if (error instanceof StoreError && error.code === "unavailable") return true;
    throw error;
  } finally {
    await store.close();
  }
};

/** Stops the worker where it was ordered to, unless its task rests before. */
const standStill = async (worker: WorkerHandle, stop: Stop, place: StorePlace): Promise<Stood> => {
  const stopped = "point" in stop ? (told: Told) => told.met !== undefined : (told: Told) => told.claimed !== undefined;
  const first = await worker.until((told) => stopped(told) || told.end !== undefined);
  if (first.end !== undefined) return "rested";
  if ("point" in stop) return "stood";
  await delay(stop.afterMs);
  worker.signal("SIGSTOP");
  if (worker.told.some(({ end }) => end !== undefined)) return "rested";
  return (await isLocked(place)) ? "in a transaction" : "stood";
};

/** Under its first claim: what it does under a later one is its right. */
const writesOf = (effects: string, { pid }: WorkerHandle): number =>
  readEffects(effects).filter((line) => line.tool !== "look" && line.pid === pid && line.fence === 1).length;

/** One round, from a fresh file to the judgement. */
export const runRound = async (stop: Stop, url?: string): Promise<Round> => {
  using folder = temporaryFolder();
  const effects = folder.path("effects");
  const place = { folder: folder.path("."), url };
  const store = await openStore(place);
  const order: Order = { leaseMs: LEASE_MS, url, ...("point" in stop ? { at: stop } : { modelMs: 20 }) };
  const workers = [new WorkerHandle(folder.path("."), order)];
  try {
    const [first] = workers;
    if (first === undefined) throw new Error("there is a first worker");
    await first.until((told) => told.ready === true);
    const { taskId } = await createTask(clientOf(store), request);
    const accepted = [1];
    const say = async (text: string): Promise<void> => {
      accepted.push((await post(clientOf(store), { taskId, item: { type: "Say", text } })).seq);
    };
    const how = await standStill(first, stop, place);
    const stood = how === "stood";
    // Nobody can take anything over meanwhile.
    if (how === "in a transaction") first.signal("SIGCONT");
    // What rests already is not taken over for its own sake.
    else if (stood && rests(await store.getTask({ taskId }))) await say("Are you there?");
    const second = new WorkerHandle(folder.path("."), { leaseMs: LEASE_MS, url });
    workers.push(second);
    // The lease runs out, and the other brings the task to its rest.
    if (stood) await second.until(({ claimed }) => claimed !== undefined && claimed.attempts > 1);
    for (;;) {
      const row = await untilRest(store, taskId);
      if (row.waitingOn === "input") break;
      accepted.push(...(await answer(store, row, effects)));
    }
    const before = { told: first.told.length, writes: writesOf(effects, first) };
    first.signal("SIGCONT");
    if (stood) await first.until((told) => told.end !== undefined, before.told);
    const afterwards = first.told.slice(before.told);
    // The next thing that is said is worked as ever, by whichever of the two.
    await say("And once more.");
    await untilRest(store, taskId);
    for (const worker of workers) await worker.stop();
    const { reducers } = await prepareCountingAgent(effects, noPoints);
    const judged = await judgeAll({ store, reducers, effects, accepted: new Map([[taskId, accepted]]) });
    const lateEffects = writesOf(effects, first) - before.writes;
    const inWindow = lateEffects > 0 && afterwards.every(({ dispatched }) => dispatched === undefined);
    return { stop, afterwards, lateEffects, inWindow, how, ...judged };
  } finally {
    await store.close();
  }
};
