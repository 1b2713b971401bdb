// Tasks and appends of a steady loop, as the store is given them.
import { randomBytes } from "node:crypto";
import type { Event } from "../../../src/core/events.ts";
import { createState } from "../../../src/core/fold.ts";
import { columnsOf, type Row } from "../../../src/core/project.ts";
import type { AppendParams, Claim, Store } from "../../../src/store/store.ts";
import { cycle, draftsAfter } from "../postgres/fixture.ts";

export const offers = ["agent:demo"];

const usageOf = (count: number): Row => ({
  table: "usage",
  key: "turn m",
  set: {
    ...{ purpose: "turn", model: "m", calls: count, failed: 0, unknown: 0, input: count * 4000, output: count },
    ...{ cacheRead: count, cacheWrite: 0, reasoning: 0, durationMs: count, priceEstimate: null },
  },
});

export type Claimed = Pick<Claim, "taskId" | "fence" | "revision">;

/** The two appends of one model-and-tool cycle after `seq`. */
export const appendsOf = (claim: Claimed, seq: number, outputChars = 450): AppendParams[] => {
  const { taskId, fence, revision } = claim;
  const [called, replied, started, finished] = cycle(seq, outputChars) as [Event, Event, Event, Event];
  const one = { taskId, fence, revision, columns: {} };
  return [
    { ...one, drafts: draftsAfter(seq, [replied, started]), rows: [usageOf(seq)] },
    { ...one, drafts: draftsAfter(seq + 2, [finished, called]), rows: [] },
  ];
};

const created: Event = {
  type: "TaskCreated",
  agent: "demo",
  config: { model: "m" },
  objective: "loop",
  owner: "local:root",
  origin: { frontEnd: "cli", place: "here", conversation: "one", private: true },
  root: "task",
  onInterrupt: "continue",
  mode: "run",
};

export const begin = async (store: Store, taskId: string): Promise<Claimed> => {
  const columns = { ...columnsOf(createState(taskId, { seq: 1, at: 0, event: created })), requires: offers };
  const task = { taskId, secret: randomBytes(32), columns: { ...columns, status: "running" as const }, rows: [] };
  await store.createTask({ task, drafts: draftsAfter(0, [created]), items: [] });
  const claim = await claimOf(store, taskId);
  if (claim === null) throw new Error("the task was not claimed");
  return claim;
};

export const claimOf = (store: Store, taskId: string): Promise<Claim | null> =>
  store.claim({ worker: "w", leaseMs: 3_600_000, offers, snapshotVersions: {}, build: "b", taskId });
