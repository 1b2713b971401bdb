// The store's clock over several processes and restarts, with wall clocks that jump.
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  appendTo,
  claimLog,
  claiming,
  createLog,
  manualClock,
  temporaryFolder,
  told,
} from "../../../test/sqlite/log-writer.ts";
import type { Clock, Store } from "../store.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const HOUR = 3_600_000;
const START = 1_000_000_000;

let folder: ReturnType<typeof temporaryFolder>;
let stores: Store[];
beforeEach(() => {
  folder = temporaryFolder();
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  folder[Symbol.dispose]();
});

const open = async (clock: Clock): Promise<Store> => {
  const store = await openSqliteStore({ path: folder.path("tasks.db"), clock });
  stores.push(store);
  return store;
};

it("gives no process an earlier time than any other was given", async () => {
  const [ahead, behind] = [manualClock(START), manualClock(START - HOUR)];
  const [one, other] = [await open(ahead), await open(behind)];
  const times: number[] = [];
  for (let step = 0; step < 20; step += 1) {
    const store = step % 2 === 0 ? one : other;
    const log = await createLog(store);
    times.push((await store.getTask({ taskId: log.taskId }))?.createdAt ?? 0, await store.now());
    for (const clock of [ahead, behind]) clock.move(7, 7);
  }
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.at(-1)).toBe(START + 19 * 7);
});

it("goes on from there when it is opened again, also after the machine was started anew", async () => {
  const store = await open(manualClock(START));
  await createLog(store);
  await store.close();
  const again = await open({ ...manualClock(START - HOUR), boot: "boot 2" });
  expect(await again.now()).toBe(START);
});

it("keeps pace with real time while the wall clock is behind, so that timers of seconds take seconds", async () => {
  const clock = manualClock(START);
  const store = await open(clock);
  await createLog(store);
  clock.move(-HOUR);
  expect(await store.now()).toBe(START);
  clock.move(5_000, 5_000);
  expect(await store.now()).toBe(START + 5_000);
});

it("neither ends nor extends a lease when the wall clock jumps an hour", async () => {
  const clock = manualClock(START);
  const store = await open(clock);
  const log = await createLog(store);
  await claimLog(store, log, { leaseMs: 8_000 });
  const next = async () => (await store.claim(claiming({ worker: "w2" })))?.taskId ?? null;
  clock.move(HOUR);
  expect(await next()).toBeNull();
  clock.move(-2 * HOUR, 7_999);
  expect(await next()).toBeNull();
  clock.move(1, 1);
  expect(await next()).toBe(log.taskId);
});

it("takes a lease of an earlier boot as over once its time has passed, however the new boot counts", async () => {
  const first = manualClock(START, 5_000_000);
  const store = await open(first);
  const log = await createLog(store);
  await claimLog(store, log, { leaseMs: 8_000 });
  await store.close();
  const second = { ...manualClock(START + 8_000, 10), boot: "boot 2" };
  const again = await open(second);
  expect(await again.claim(claiming())).toMatchObject({ attempts: 2, previousEndedAt: START + 8_000 });
});

it("case-42: orders by commits, whatever the clocks of the writers say", async () => {
  const [ahead, behind] = [manualClock(START), manualClock(START - HOUR)];
  const [one, other] = [await open(ahead), await open(behind)];
  const made: string[] = [];
  for (const store of [one, other, one, other]) made.push((await createLog(store)).taskId);
  const listed = (await other.listTasks({ limit: 10 })).map((row) => row.taskId);
  expect(listed).toEqual(made.toReversed());
  const log = await createLog(one);
  const claim = await claimLog(one, log);
  for (const store of [other, one, other]) await appendTo(store, log, claim, [told("a")]);
  const times = (await other.read({ taskId: log.taskId })).map((entry) => entry.at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});
