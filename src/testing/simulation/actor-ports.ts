// The ports of one simulated process: every call of store, clock and model goes through the scheduler.
import type { Access } from "../../access/access.ts";
import { cachedAccess, defaultCaching } from "../../access/cached.ts";
import { macUnder, nodeHasher } from "../../store/node-hasher.ts";
import type { Model } from "../../model/model.ts";
import type { PreparedAgent } from "../../plugins/plugin.ts";
import type { RunnerLimits, RunnerPorts } from "../../runner/ports.ts";
import { ModelQueue } from "../../model/queue.ts";
import type { Hint, Store } from "../../store/store.ts";
import type { Exec } from "../../exec/exec.ts";
import type { Chance } from "./chance.ts";
import type { Actor, Scheduler } from "./scheduler.ts";

/** Calls that wait in no queue: they read no state and change none. */
const direct = new Set(["name", "subscribe", "follow", "close"]);

/** A view of `store` for one actor: each call waits for the scheduler, hints reach only the living. */
export const storeFor = (scheduler: Scheduler, actor: Actor, store: Store): Store =>
  new Proxy(store, {
    get: (target, property: keyof Store & string) => {
      if (property === "subscribe") {
        return (hint: Hint) =>
          target.subscribe((taskId, only) => {
            scheduler.later(actor, () => {
              hint(taskId, only);
            });
          });
      }
      const value: unknown = target[property];
      if (typeof value !== "function" || direct.has(property)) return value;
      const method = value as (params: unknown) => Promise<unknown>;
      return (params: unknown) => scheduler.port(actor, `store.${property}`, () => method.call(target, params));
    },
  });

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** As a process asks it: each question waits for the scheduler, an answer is remembered briefly. */
const accessFor = (scheduler: Scheduler, actor: Actor, access: Access): Access =>
  cachedAccess(
    { may: (question) => scheduler.port(actor, "access.may", () => access.may(question)) },
    {
      ...defaultCaching,
      clock: { monotonic: () => scheduler.now, sleep: (ms, signal) => scheduler.sleep(actor, ms, signal) },
    },
  );

export interface ActorParts {
  readonly store: Store;
  readonly access: Access;
  readonly agents: ReadonlyMap<string, PreparedAgent>;
  readonly model: Model;
  readonly exec: Exec;
  readonly chance: Chance;
  readonly limits: RunnerLimits;
  readonly notes: string[];
}

/** What the runner and worker of one simulated process are given. */
export const portsFor = (scheduler: Scheduler, actor: Actor, parts: ActorParts): RunnerPorts => ({
  store: storeFor(scheduler, actor, parts.store),
  access: accessFor(scheduler, actor, parts.access),
  agents: parts.agents,
  model: () => parts.model,
  exec: () => Promise.resolve(parts.exec),
  hasher: nodeHasher,
  mac: macUnder,
  compress: (text) => Promise.resolve(encoder.encode(text)),
  decompress: (bytes) => decoder.decode(bytes),
  clock: {
    wall: () => scheduler.now,
    monotonic: () => scheduler.now,
    sleep: (ms, signal) => scheduler.sleep(actor, ms, signal),
  },
  random: {
    id: () => parts.chance.id(),
    salt: () => parts.chance.bytes(16),
    fraction: () => parts.chance.fraction(),
  },
  slots: new ModelQueue({ concurrency: 4, perPrincipal: 4 }),
  watcher: {
    note: (taskId, message) => {
      parts.notes.push(`${actor.name} ${taskId}: ${message}`);
    },
  },
  limits: parts.limits,
  build: "simulation",
  snapshotVersion: () => "simulation",
});
