// Puts the parts together: a store, agents, models and this machine's clock and chance become what a runner works with.
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync, gzip } from "node:zlib";
import { promisify } from "node:util";
import type { Exec } from "./exec/exec.ts";
import type { Model } from "./model/model.ts";
import { ModelQueue, type SlotLimits } from "./model/queue.ts";
import type { PreparedAgent } from "./plugins/plugin.ts";
import { defaultLimits, type Random, type RunnerClock, type RunnerLimits, type RunnerPorts } from "./runner/ports.ts";
import type { Watcher } from "./runner/ports.ts";
import { mac, nodeHasher } from "./store/node-hasher.ts";
import type { Store } from "./store/store.ts";
import { processBuild } from "./versions.ts";

const gzipText = promisify(gzip);

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** 100 random bits as 20 characters of `[a-z2-7]`. Random alone: an order of ids would invite sorting by them. */
export const randomId = (): string => {
  let id = "";
  for (const byte of randomBytes(20)) id += ALPHABET.charAt(byte & 31);
  return id;
};

/** 16 random bytes at a time out of a larger draw: asking the system for each salt costs more than the salt's hash. */
const saltPool = (): (() => Uint8Array) => {
  let pool = new Uint8Array(0);
  let next = 0;
  return () => {
    if (next + 16 > pool.length) {
      pool = new Uint8Array(randomBytes(4_096));
      next = 0;
    }
    next += 16;
    return pool.slice(next - 16, next);
  };
};

export const systemRandom = (): Random => ({ id: randomId, salt: saltPool(), fraction: Math.random });

export const systemRunnerClock: RunnerClock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { signal });
  },
};

export interface RuntimeParts {
  readonly store: Store;
  readonly agents: ReadonlyMap<string, PreparedAgent>;
  model(name: string): Model;
  exec(workspace: string | null): Promise<Exec>;
  /** The fold's version by agent; see versions.ts. Without it, no snapshots. */
  readonly snapshotVersions?: ReadonlyMap<string, string>;
  /** Without it, this process is a build of its own. */
  readonly build?: string;
  readonly slots?: SlotLimits;
  readonly limits?: Partial<RunnerLimits>;
  readonly watcher?: Watcher;
}

/** What a runner or worker of this process works with. */
export const createRunnerPorts = (parts: RuntimeParts): RunnerPorts => ({
  store: parts.store,
  agents: parts.agents,
  model: parts.model,
  exec: parts.exec,
  hasher: nodeHasher,
  mac: (secret) => (text) => mac(secret, text),
  compress: (text) => gzipText(text, { level: 1 }),
  decompress: (bytes) => gunzipSync(bytes).toString("utf8"),
  clock: systemRunnerClock,
  random: systemRandom(),
  slots: new ModelQueue(parts.slots ?? { concurrency: 4, perPrincipal: 4 }),
  watcher: parts.watcher ?? {},
  limits: { ...defaultLimits, ...parts.limits },
  build: parts.build ?? processBuild,
  snapshotVersion: (agent) => parts.snapshotVersions?.get(agent) ?? null,
});
