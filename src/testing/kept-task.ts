// Clients of a store, and tasks whose logs a test writes down: what front ends make of a log that is there already.
import { randomBytes } from "node:crypto";
import { openAccess } from "../access/local/local.ts";
import type { Client } from "../client/client.ts";
import type { Recorded } from "../core/events.ts";
import { systemRandom } from "../runtime.ts";
import { macUnder, nodeHasher } from "../store/node-hasher.ts";
import type { Definition, Store } from "../store/store.ts";
import { created, logOf, OWNER, type Step } from "./given.ts";
import { storeLog } from "./kept-log.ts";

/** The owner of a given log and the place that it lives in, unless told otherwise. */
export const clientOf = (store: Store, principal = OWNER, place = "here"): Client => ({
  store,
  access: openAccess,
  hasher: nodeHasher,
  mac: macUnder,
  random: { ...systemRandom(), secret: () => new Uint8Array(randomBytes(32)) },
  principal,
  frontEnd: "test",
  place,
});

/** Keeps a log, begun by `created()` where the first step is none, as a task at rest in the store. */
export const keepTask = async (
  store: Store,
  steps: readonly Step[],
  {
    taskId = "task",
    definitions = [],
  }: { readonly taskId?: string; readonly definitions?: readonly Definition[] } = {},
): Promise<Recorded[]> => {
  const [first] = steps;
  const begins = first !== undefined && "type" in first && first.type === "TaskCreated";
  const log = logOf(...(begins ? steps : [created({ root: taskId }), ...steps]));
  const secret = new Uint8Array(randomBytes(32));
  await storeLog(store, { taskId, log, secret, revision: 1, definitions }, {});
  return log;
};
