// Puts the parts together: a store, agents, models and this machine's clock and chance become what a runner works with.
import { randomBytes } from "node:crypto";
import { gunzipSync, gzip } from "node:zlib";
import { promisify } from "node:util";
import type { Access } from "./access/access.ts";
import { cachedAccess, defaultCaching } from "./access/cached.ts";
import { openAccess } from "./access/local/local.ts";
import type { Client } from "./client/client.ts";
import type { Exec } from "./exec/exec.ts";
import type { Model, Prices } from "./model/model.ts";
import { estimatePrice } from "./model/prices.ts";
import { defaultSlots, ModelQueue, type SlotLimits } from "./model/queue.ts";
import type { PreparedAgent } from "./plugins/plugin.ts";
import { defaultLimits, type Random, type RunnerClock, type RunnerLimits, type RunnerPorts } from "./runner/ports.ts";
import type { Watcher } from "./runner/ports.ts";
import { macUnder, nodeHasher } from "./store/node-hasher.ts";
import type { Store } from "./store/store.ts";
import { processBuild } from "./versions.ts";

const gzipText = promisify(gzip);

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** `size` random bytes at a time out of a larger draw: asking the system for so few costs more than what they are for. */
const randomPool = (size: number): (() => Uint8Array) => {
  let pool = new Uint8Array(0);
  let next = 0;
  return () => {
    if (next + size > pool.length) {
      pool = new Uint8Array(randomBytes(size * 256));
      next = 0;
    }
    next += size;
    return pool.slice(next - size, next);
  };
};

const idBytes = randomPool(20);

/** 100 random bits as 20 characters of `[a-z2-7]`. Random alone: an order of ids would invite sorting by them. */
export const randomId = (): string => {
  let id = "";
  for (const byte of idBytes()) id += ALPHABET.charAt(byte & 31);
  return id;
};

export const systemRandom = (): Random => ({ id: randomId, salt: randomPool(16), fraction: Math.random });

/** As `timers/promises`, at a tenth of its cost when aborted, which is how most sleeps of a runner end. */
const sleep = (ms: number, signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", wake);
      resolve();
    }, ms);
    signal.addEventListener("abort", wake, { once: true });
  });
};

/** What a front end of this process works with. Without `access` whoever calls has checked who asks, and where. */
export const createClient = (
  of: Pick<Client, "store" | "principal" | "frontEnd" | "place"> & Partial<Pick<Client, "access" | "corrections">>,
): Client => ({
  access: openAccess,
  ...of,
  hasher: nodeHasher,
  mac: macUnder,
  random: { ...systemRandom(), secret: () => new Uint8Array(randomBytes(32)) },
});

export const systemRunnerClock: RunnerClock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  sleep,
};

/** The port as a process asks it: remembered briefly, and no for an error or for no answer in time. */
export const patient = (access: Access): Access =>
  cachedAccess(access, { ...defaultCaching, clock: systemRunnerClock });

export interface RuntimeParts {
  readonly store: Store;
  /** Without it every place is open to everybody: then it is the front ends that check. */
  readonly access?: Access;
  readonly corrections?: RunnerPorts["corrections"];
  readonly agents: ReadonlyMap<string, PreparedAgent>;
  model(name: string): Model;
  exec(workspace: string | null): Promise<Exec>;
  /** The fold's version by agent; see versions.ts. Without it, no snapshots. */
  readonly snapshotVersions?: ReadonlyMap<string, string>;
  /** Without it, this process is a build of its own. */
  readonly build?: string;
  readonly slots?: Partial<SlotLimits>;
  readonly limits?: Partial<RunnerLimits>;
  readonly watcher?: Watcher;
  /** What models cost, for estimates in the log. */
  readonly prices?: Prices;
}

/** What a runner or worker of this process works with. */
export const createRunnerPorts = (parts: RuntimeParts): RunnerPorts => ({
  store: parts.store,
  access: parts.access ?? openAccess,
  ...(parts.corrections === undefined ? {} : { corrections: parts.corrections }),
  agents: parts.agents,
  model: parts.model,
  exec: parts.exec,
  hasher: nodeHasher,
  mac: macUnder,
  compress: (text) => gzipText(text, { level: 1 }),
  decompress: (bytes) => gunzipSync(bytes).toString("utf8"),
  clock: systemRunnerClock,
  random: systemRandom(),
  slots: new ModelQueue({ ...defaultSlots, ...parts.slots }),
  price: (model, tokens) => estimatePrice(parts.prices ?? {}, model, tokens),
  watcher: parts.watcher ?? {},
  limits: { ...defaultLimits, ...parts.limits },
  build: parts.build ?? processBuild,
  snapshotVersion: (agent) => parts.snapshotVersions?.get(agent) ?? null,
});
