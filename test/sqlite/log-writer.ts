// A writer of small logs for tests of the SQLite store: makes tasks, claims them, appends to them.
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FIRST_CHAIN, sealEvents } from "../../src/core/envelope.ts";
import type { Event } from "../../src/core/events.ts";
import type { TaskColumns } from "../../src/core/project.ts";
import { nodeHasher } from "../../src/store/node-hasher.ts";
import type {
  AppendParams,
  AppendReceipt,
  Claim,
  ClaimParams,
  Clock,
  CreateParams,
  Store,
} from "../../src/store/store.ts";

export interface Log {
  readonly taskId: string;
  seq: number;
  chain: Uint8Array;
}

export const randomSalt = (): Uint8Array => new Uint8Array(randomBytes(16));
export const randomSecret = (): Uint8Array => new Uint8Array(randomBytes(32));

export const told = (text: string): Event => ({
  type: "ExtensionRecorded",
  extension: "test",
  kind: "told",
  v: 1,
  data: { text },
});
export const waits: Event = { type: "Waiting", on: "input", detail: {} };

const origin = { frontEnd: "cli", place: "here", conversation: "c", private: false };

const columnsOf = (taskId: string): TaskColumns => ({
  ...{ agent: "scribe", owner: "local:root", origin, parent: null, root: taskId, mode: "conversation" },
  ...{ historyFrom: null, status: "ready", waitingOn: null, outcome: null, reason: null },
  ...{ requires: ["agent:scribe"], queue: "default", priority: 0 },
});

const createdEvent = (taskId: string): Event => ({
  ...{ type: "TaskCreated", agent: "scribe", config: { model: "scripted" }, objective: "write", owner: "local:root" },
  ...{ origin, root: taskId, onInterrupt: "continue", mode: "conversation" },
});

export const creation = (taskId: string, items: CreateParams["items"] = []): CreateParams => {
  const drafts = sealEvents(nodeHasher, { seq: 0, chain: FIRST_CHAIN }, [createdEvent(taskId)], randomSalt);
  return { task: { taskId, secret: randomSecret(), columns: columnsOf(taskId), rows: [] }, drafts, items };
};

export const createLog = async (store: Store, taskId: string = randomUUID()): Promise<Log> => {
  const params = creation(taskId);
  await store.createTask(params);
  return { taskId, seq: 1, chain: params.drafts[0]?.chain ?? FIRST_CHAIN };
};

export const claiming = (over: Partial<ClaimParams> = {}): ClaimParams => ({
  ...{ worker: "w1", leaseMs: 8_000, offers: ["agent:scribe"], snapshotVersions: {}, build: "build 1" },
  ...over,
});

export const claimLog = async (store: Store, log: Log, over: Partial<ClaimParams> = {}): Promise<Claim> => {
  const claim = await store.claim(claiming({ taskId: log.taskId, ...over }));
  if (claim === null) throw new Error(`nobody may claim ${log.taskId}`);
  return claim;
};

type Held = Pick<Claim, "fence" | "revision">;
type More = Partial<AppendParams>;

export const appending = (log: Log, claim: Held, events: readonly Event[], more: More = {}): AppendParams => ({
  ...{ taskId: log.taskId, fence: claim.fence, revision: claim.revision, columns: {}, rows: [] },
  drafts: sealEvents(nodeHasher, log, events, randomSalt),
  ...more,
});

export const appendTo = async (
  store: Store,
  log: Log,
  claim: Held,
  events: readonly Event[],
  more: More = {},
): Promise<AppendReceipt> => {
  const params = appending(log, claim, events, more);
  const receipt = await store.append(params);
  const last = params.drafts.at(-1);
  if (last !== undefined) Object.assign(log, { seq: last.seq, chain: last.chain });
  return receipt;
};

/** A clock that moves only when it is told to. */
export const manualClock = (
  wall: number,
  monotonic = 1_000,
): Clock & { move(wallMs: number, passedMs?: number): void } => {
  let now = { wall, monotonic };
  return {
    wall: () => now.wall,
    monotonic: () => now.monotonic,
    boot: "boot 1",
    /** `passedMs` of real time passed; the wall clock moved by `wallMs`. */
    move: (wallMs, passedMs = 0) => {
      now = { wall: now.wall + wallMs, monotonic: now.monotonic + passedMs };
    },
  };
};

/** Without a disk, where there is such a place: how long a commit takes is not what these tests show. */
const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** A folder of a test's own, removed when it is disposed of. */
export const temporaryFolder = (): Disposable & { readonly path: (name: string) => string } => {
  const folder = mkdtempSync(join(root, "perdure-"));
  return {
    path: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
};
