// Tasks for the tests of the Postgres store: created, claimed and appended to without a runner.
import { randomBytes, randomUUID } from "node:crypto";
import { FIRST_CHAIN, sealEvents } from "../../src/core/envelope.ts";
import type { Event } from "../../src/core/events.ts";
import { columnsOf } from "../../src/core/project.ts";
import { createState } from "../../src/core/fold.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import type { AppendParams, Claim, ClaimParams, CreateParams, Draft, Store } from "../../src/store/store.ts";

export const LEASE_MS = 600_000;

const created = (taskId: string): Event => ({
  type: "TaskCreated",
  agent: "demo",
  config: { model: "scripted" },
  objective: "count",
  owner: "local:root",
  origin: { frontEnd: "cli", place: "here", conversation: "c", private: false },
  root: taskId,
  onInterrupt: "continue",
  mode: "run",
});

export const told = (text: string): Event => ({
  type: "ExtensionRecorded",
  extension: "test",
  kind: "told",
  v: 1,
  data: { text },
});

export const draftsAfter = (log: { seq: number; chain: Uint8Array }, events: readonly Event[]): Draft[] =>
  sealEvents(nodeHasher, log, events, () => new Uint8Array(randomBytes(16)));

export const creation = (queue: string, taskId: string = randomUUID()): CreateParams => {
  const columns = { ...columnsOf(createState(taskId, { seq: 1, at: 0, event: created(taskId) })), queue };
  const drafts = draftsAfter({ seq: 0, chain: FIRST_CHAIN }, [created(taskId)]);
  const task = { taskId, secret: new Uint8Array(randomBytes(32)), columns, rows: [] };
  return { task, drafts, items: [] };
};

export const createTask = async (store: Store, queue = "default", taskId?: string): Promise<string> =>
  (await store.createTask(creation(queue, taskId))).taskId;

export const claiming = (over: Partial<ClaimParams> = {}): ClaimParams => ({
  worker: "w",
  leaseMs: LEASE_MS,
  offers: ["agent:demo"],
  snapshotVersions: {},
  build: "build",
  ...over,
});

export const claimTask = async (store: Store, taskId: string): Promise<Claim> => {
  const claim = await store.claim(claiming({ taskId }));
  if (claim === null) throw new Error(`nobody may claim ${taskId}`);
  return claim;
};

/** An append of these events after a log's end. */
export const appending = (
  claim: Pick<Claim, "taskId" | "fence" | "revision">,
  log: { seq: number; chain: Uint8Array },
  events: readonly Event[],
  more: Partial<AppendParams> = {},
): AppendParams => {
  const { taskId, fence, revision } = claim;
  return { taskId, fence, revision, drafts: draftsAfter(log, events), columns: {}, rows: [], ...more };
};

export const endOf = ({ lastSeq, chain }: Claim): { seq: number; chain: Uint8Array } => ({ seq: lastSeq, chain });
