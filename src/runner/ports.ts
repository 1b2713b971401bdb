// What a runner is given: the stores and models it works with, and every source of time, chance and identity.
import type { Access } from "../access/access.ts";
import type { Hasher } from "../core/envelope.ts";
import type { Tokens } from "../core/events.ts";
import type { Mac } from "../core/request.ts";
import type { Exec } from "../exec/exec.ts";
import type { Model, ModelPart } from "../model/model.ts";
import type { PreparedAgent } from "../plugins/plugin.ts";
import type { Store } from "../store/store.ts";

/** Time in this process. `sleep` rejects with the signal's reason when aborted. */
export interface RunnerClock {
  wall(): number;
  monotonic(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Randomness and identity, passed in so that a run can be repeated. */
export interface Random {
  /** A fresh id of 100 random bits or more, `[a-z0-9]+`. */
  id(): string;
  /** 16 random bytes. */
  salt(): Uint8Array;
  /** Uniform in [0, 1). */
  fraction(): number;
}

/** How the slots are used. */
export interface SlotLoad {
  readonly limit: number;
  readonly taken: number;
  /** Calls that wait for a slot now, and how many had to since the process began. */
  readonly waiting: number;
  readonly waited: number;
  /** The tasks whose calls wait. */
  readonly waitingTasks: readonly string[];
}

/** A call of this task, which counts for its owner. Nobody waits for what is done in the background. */
export interface SlotRequest {
  readonly principal: string;
  readonly taskId: string;
  readonly background: boolean;
}

/** The slots for model calls of a process. */
export interface ModelSlots {
  load(): SlotLoad;
  /** A slot at once, or null when none is free. */
  tryAcquire(request: SlotRequest): (() => void) | null;
  /** Waits for a slot, foreground before background; rejects with the signal's reason when aborted. */
  acquire(request: SlotRequest, signal: AbortSignal): Promise<() => void>;
}

/** What viewers in this process may watch; none of it is durable. */
export interface Watcher {
  delta?(taskId: string, part: Exclude<ModelPart, { type: "reply" }>): void;
  /** A line for an operator: what happened, to which task. */
  note?(taskId: string, message: string): void;
  /** A renewal of the task's claim: `refused` when another holds it, `unanswered` when that is not known in time. */
  renewal?(taskId: string, answer: "confirmed" | "refused" | "unanswered"): void;
}

export interface RunnerPorts {
  readonly store: Store;
  /** Corrections that a front end of this process could not save: their turn pauses before its next dispatch. */
  readonly corrections?: { isUnsaved(taskId: string): boolean; settled(taskId: string): void };
  /** Asked when a correction, a collaborator or a move is taken; see cached.ts for its bounds. */
  readonly access: Access;
  readonly agents: ReadonlyMap<string, PreparedAgent>;
  /** Throws if no model of that name can be had; the message is for a person. */
  model(name: string): Model;
  /** Where a task's tools run. `null`: the task has no workspace. */
  exec(workspace: string | null): Promise<Exec>;
  readonly hasher: Hasher;
  mac(secret: Uint8Array): Mac;
  /** gzip or the like; snapshots only. */
  compress(text: string): Promise<Uint8Array>;
  decompress(bytes: Uint8Array): string;
  readonly clock: RunnerClock;
  readonly random: Random;
  readonly slots: ModelSlots;
  /** An estimate of what a model call cost, from configured prices; undefined where there is no price for it. */
  price?(model: string, tokens: Tokens): number | undefined;
  readonly watcher: Watcher;
  readonly limits: RunnerLimits;
  /** Names the running code: what a hold is by. */
  readonly build: string;
  /** The fold's version for an agent: which snapshots may be used and are written; null writes none. */
  snapshotVersion(agent: string): string | null;
}

export interface RunnerLimits {
  readonly leaseMs: number;
  /** Snapshots at least this many events apart; 0 never. */
  readonly snapshotEvery: number;
  /** Back-off before another model attempt: doubles from the first to the last of these (ms). */
  readonly retryFirstMs: number;
  readonly retryLastMs: number;
  /** How long a tool may go on after its signal was aborted before it is given up. */
  readonly abandonMs: number;
  /** A read's time limit where its tool names none. */
  readonly readTimeoutMs: number;
  /** A result's limit where its tool names none; and for one reply's results together. */
  readonly outputChars: number;
  readonly replyChars: number;
  /** How long an append whose outcome is unknown is tried again. */
  readonly storeRetryMs: number;
}

export const defaultLimits: RunnerLimits = {
  leaseMs: 5_000,
  snapshotEvery: 100,
  retryFirstMs: 500,
  retryLastMs: 30_000,
  abandonMs: 5_000,
  readTimeoutMs: 120_000,
  outputChars: 50_000,
  replyChars: 200_000,
  storeRetryMs: 30_000,
};
