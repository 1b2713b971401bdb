// Goes on from a cut of a golden log: its first events in a store, a worker that died holding the task, and a fresh one
// with the same tools. What is wrong afterwards is returned.
import { toHex } from "../../src/core/envelope.ts";
import { callId, fold } from "../../src/core/fold.ts";
import { MAX_DISPATCHES } from "../../src/core/recovery.ts";
import type { EventOf, Recorded } from "../../src/core/events.ts";
import type { NewItem } from "../../src/core/items.ts";
import type { Clock, Envelope, Store } from "../../src/store/store.ts";
import { faultsOf } from "../../src/testing/check-task.ts";
import { TASK, emptyHarness, type Harness, type HarnessOptions } from "../../src/testing/harness.ts";
import { storeLog } from "../../src/testing/kept-log.ts";
import { wakingItem } from "../../src/testing/pure-run/world.ts";
import type { Golden } from "./logs.ts";
import type { Scenario } from "./scenario.ts";

/** More wakings than this, and the task would never have come to an end. */
const PATIENCE = 20;

/** The harness of a scenario with no plan, where its log can go on. */
export const harnessFor = async (
  scenario: Scenario,
  store?: (clock: Clock) => Store,
  more: Partial<HarnessOptions> = {},
): Promise<Harness> => {
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => harness.sleep(ms, signal);
  const options = { ...scenario.options(sleep), ...more };
  const harness: Harness = await emptyHarness({ ...options, ...(store === undefined ? {} : { store }) });
  return harness;
};

/** Puts the first `through` events into the store, and time to where they end. */
export const load = async (harness: Harness, golden: Golden, through: number): Promise<void> => {
  const log = golden.log.slice(0, through);
  harness.system.scheduler.now = Math.max(harness.now, (log.at(-1)?.at ?? 0) + 1);
  await storeLog(harness.store, { ...golden, log }, harness.agent.reducers);
};

/** A worker claims the task, if there is something to do, and is never heard of again. */
export const dieHolding = async (harness: Harness): Promise<void> => {
  const offers = (await harness.row()).requires;
  await harness.store.claim({
    worker: "gone",
    leaseMs: 1_000,
    offers,
    snapshotVersions: {},
    build: "gone",
    taskId: TASK,
  });
};

/** What somebody posts to a task that rests, so that it goes on; null where only time does. */
const wake = async (harness: Harness): Promise<NewItem | null> => {
  const state = fold(TASK, await harness.events(), harness.agent.reducers);
  const { on } = state.waiting ?? { on: "input" };
  if (on === "approval") return { type: "Cancel" };
  const isOver = on === "input" || (on === "resume" && state.turn?.outcome === "completed");
  if (isOver) return { type: "Close" };
  const item = wakingItem(state, 0);
  if (item === null) return null;
  const { seq: _seq, at: _at, by: _by, key: _key, ...body } = item;
  return body;
};

/** Wakes the task until it has ended. */
const bringToItsEnd = async (harness: Harness): Promise<void> => {
  harness.start();
  await harness.rest();
  for (let times = 0; (await harness.row()).status !== "ended"; times += 1) {
    if (times > PATIENCE) throw new Error(`the task does not end:\n${await harness.log()}`);
    const item = await wake(harness);
    if (item === null) await harness.pass(Math.max(1, ((await harness.row()).nextTimerAt ?? 0) - harness.now));
    else await harness.post(item);
    await harness.rest();
  }
};

const startsOf = (log: readonly Recorded[], id: string): EventOf<"ToolStarted">[] =>
  log.flatMap(({ event }) => (event.type === "ToolStarted" && event.callId === id ? [event] : []));

/** Each call has exactly one result. */
const resultFaults = (log: readonly Recorded[]): string[] => {
  const results = log.flatMap(({ event }) => (event.type === "ToolFinished" ? [event.callId] : []));
  const asked = log.flatMap(({ seq, event }) =>
    event.type === "ModelReplied"
      ? event.message.parts.flatMap((part, index) => (part.type === "call" ? [callId(0, seq, index)] : []))
      : [],
  );
  return asked.flatMap((id) => {
    const count = results.filter((other) => other === id).length;
    return count === 1 ? [] : [`call ${id} has ${String(count)} results`];
  });
};

/** No call that was finished, or started and may not run again, was dispatched again. */
const dispatchFaults = (before: readonly Recorded[], harness: Harness): string[] => {
  const faults: string[] = [];
  for (const { callId: id, name, invocationId } of harness.ran) {
    const finished = before.some(({ event }) => event.type === "ToolFinished" && event.callId === id);
    if (finished) faults.push(`call ${id} has a result, and ran again`);
    const effect = harness.agent.tools.get(name)?.tool.effect;
    if (effect === "read" || effect === "internal") continue;
    const starts = startsOf(before, id);
    const dispatches = starts.length + harness.ran.filter((other) => other.callId === id).length;
    const again = harness.agent.tools.get(name)?.tool.idempotent !== undefined;
    if (dispatches > (again ? MAX_DISPATCHES : 1)) faults.push(`call ${id} was dispatched ${String(dispatches)} times`);
    if (starts.some((start) => start.invocationId !== invocationId)) faults.push(`call ${id} has a new invocation id`);
  }
  return faults;
};

const text = (entries: readonly Envelope[]): string[] =>
  entries.map(({ seq, at, type, body, chain }) => `${String(seq)} ${String(at)} ${type} ${body} ${toHex(chain)}`);

/** Everything that is wrong once the task went on from `through` to its end; empty when all holds. */
export const goOn = async (
  scenario: Scenario,
  golden: Golden,
  through: number,
  store?: (clock: Clock) => Store,
): Promise<string[]> => {
  const harness = await harnessFor(scenario, store);
  const { upgrade } = scenario;
  if (upgrade !== undefined && through >= upgrade.from) await harness.use(upgrade.code);
  await load(harness, golden, through);
  const before = text(await harness.store.read({ taskId: TASK }));
  await dieHolding(harness);
  await bringToItsEnd(harness);
  const after = text(await harness.store.read({ taskId: TASK, limit: through }));
  const log = await harness.events();
  const { sent, agent } = harness;
  // What the cut took from the inbox is in its log; only what was posted since must be taken.
  const accepted = harness.accepted.slice(1);
  const { reducers } = agent;
  return [
    ...before.flatMap((line, index) => (line === after[index] ? [] : [`event ${String(index + 1)} was changed`])),
    ...resultFaults(log),
    ...dispatchFaults(golden.log.slice(0, through), harness),
    ...(await faultsOf({ store: harness.store, taskId: TASK, reducers, sent, accepted })),
  ];
};
