// The same operations on a real store, answered in the model's words.
import { randomUUID } from "node:crypto";
import { FIRST_CHAIN, sealEvents } from "../../src/core/envelope.ts";
import type { Event } from "../../src/core/events.ts";
import { createState } from "../../src/core/fold.ts";
import { columnsOf, type TaskColumns } from "../../src/core/project.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import { StoreError, type Clock, type Store } from "../../src/store/store.ts";
import { created } from "../../src/testing/given.ts";
import { HOLD_TICKS, LEASE_TICKS, type Answer, type Op } from "./model.ts";

const TICK_MS = 1_000;
const salt = (): Uint8Array => new Uint8Array(16);

/** A clock that goes on by ticks. */
export const tickingClock = (): Clock & { tick(): void } => {
  let ms = 1_000_000;
  return {
    wall: () => ms,
    monotonic: () => ms,
    boot: "boot 1",
    tick: () => {
      ms += TICK_MS;
    },
  };
};

/** Two or more tasks of one store, and the workers that claim them. */
export interface Real {
  perform(op: Op): Promise<Answer>;
  /** A claim of whatever is next; `task` is null where nothing was. */
  claimAny(worker: number): Promise<{ readonly task: number | null; readonly answer: Answer }>;
}

const newTask = async (store: Store, agent: string): Promise<string> => {
  const taskId = `claimed-${randomUUID()}`;
  const event = created({ agent, origin: { frontEnd: "test", place: taskId, conversation: "one", private: false } });
  const state = createState(taskId, { seq: 1, at: 1, event });
  await store.createTask({
    task: { taskId, secret: new Uint8Array(32), columns: columnsOf(state), rows: [] },
    drafts: sealEvents(nodeHasher, { seq: 0, chain: FIRST_CHAIN }, [event], salt),
    items: [],
  });
  return taskId;
};

const written: Readonly<Record<"work" | "take" | "wait", readonly [Event, Partial<TaskColumns>]>> = {
  work: [{ type: "ExtensionRecorded", extension: "test", kind: "worked", v: 1, data: {} }, { status: "running" }],
  take: [{ type: "InputTaken", items: [], through: 0 }, { status: "running" }],
  wait: [
    { type: "Waiting", on: "input", detail: {} },
    { status: "waiting", waitingOn: "input" },
  ],
};

const append = async (store: Store, taskId: string, fence: number, act: "work" | "take" | "wait"): Promise<void> => {
  const row = await store.getTask({ taskId });
  if (row === null) throw new Error(`task ${taskId} is gone`);
  const [event, columns] = written[act];
  const after = { seq: row.lastSeq, chain: new Uint8Array(Buffer.from(row.head, "hex")) };
  await store.append({
    ...{ taskId, fence, columns, rows: [], revision: row.revision },
    drafts: sealEvents(nodeHasher, after, [event], salt),
    ...(act === "take" ? { taken: row.inboxSeq } : {}),
    ...(act === "wait" ? { inboxSeen: row.inboxTaken } : {}),
  });
};

/** Tasks made anew in a store, for one sequence of operations. */
export const realOver = async (store: Store, clock: { tick(): void }, tasks: number): Promise<Real> => {
  // Of an agent of their own, so that whoever claims whatever is next gets one of them.
  const agent = `agent-${randomUUID()}`;
  const taskIds: string[] = [];
  for (let task = 0; task < tasks; task += 1) taskIds.push(await newTask(store, agent));
  const fences = new Map<string, number>();
  const leaseMs = LEASE_TICKS * TICK_MS;

  const claim = async (worker: number, only?: string): Promise<{ task: number | null; answer: Answer }> => {
    const params = { worker: `worker ${String(worker)}`, leaseMs, offers: [`agent:${agent}`], snapshotVersions: {} };
    const found = await store.claim({ ...params, build: "one", ...(only === undefined ? {} : { taskId: only }) });
    if (found === null) return { task: null, answer: "null" };
    const { taskId, fence, attempts } = found;
    fences.set(`${String(worker)} ${taskId}`, fence);
    return { task: taskIds.indexOf(taskId), answer: `fence ${String(fence)}, attempt ${String(attempts)}` };
  };

  const release = (taskId: string, fence: number, act: "park" | "stop" | "hold", inboxSeen: number): Promise<void> => {
    if (act === "park") return store.release({ taskId, fence, kind: "parked", inboxSeen });
    if (act === "stop") return store.release({ taskId, fence, kind: "stop" });
    const hold = { kind: "held", reason: "the model says so", build: "one" } as const;
    return store.release({ taskId, fence, ...hold, retryAfterMs: HOLD_TICKS * TICK_MS });
  };

  const act = async (op: Op): Promise<Answer> => {
    if (op.do === "tick") {
      clock.tick();
      return "ok";
    }
    const taskId = taskIds[op.task] ?? "";
    if (op.do === "post") {
      await store.post({ taskId, by: "local:root", key: randomUUID(), item: { type: "Say", text: "hello" } });
      return "ok";
    }
    if (op.do === "claim") return (await claim(op.worker, taskId)).answer;
    const fence = fences.get(`${String(op.worker)} ${taskId}`) ?? 0;
    if (op.do === "renew") await store.renew({ taskId, fence, leaseMs });
    else if (op.do === "work" || op.do === "take" || op.do === "wait") await append(store, taskId, fence, op.do);
    else await release(taskId, fence, op.do, (await store.getTask({ taskId }))?.inboxTaken ?? 0);
    return "ok";
  };

  return {
    claimAny: (worker) => claim(worker),
    perform: async (op) => {
      try {
        return await act(op);
      } catch (error) {
        if (error instanceof StoreError) return error.code;
        throw error;
      }
    },
  };
};
