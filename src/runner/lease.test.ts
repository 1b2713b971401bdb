import { describe, expect, it } from "vitest";
import { call } from "../testing/given.ts";
import { at, both } from "../testing/fault-plans.ts";
import { createHarness, toolOf, type Harness } from "../testing/harness.ts";
import { lines } from "../testing/printed-log.ts";
import type { FaultPlan } from "../testing/simulation/scheduler.ts";
import { createLease } from "./lease.ts";

const LEASE_MS = 5_000;

const task = { tools: [toolOf("send", "write")], script: [[call("send")], "It is done."] };

/** From the first call of `port` on, the first process reaches none of `others`. */
const cutOffAfter = (port: string, ...others: readonly string[]): FaultPlan => {
  let met = false;
  return (each) => {
    met ||= each.port === port;
    return met && each.actor === "process 1" && others.includes(each.port) ? "fail" : null;
  };
};

describe("a lease", () => {
  const clock = { wall: () => wall, monotonic: () => monotonic };
  let [wall, monotonic] = [0, 0];
  const leaseAt = (now: number) => {
    [wall, monotonic] = [now, now];
    return createLease(clock, LEASE_MS, { wall, monotonic });
  };

  it("is fresh for half of it, by both clocks", () => {
    const lease = leaseAt(10_000);
    monotonic += 2_499;
    wall += 2_499;
    expect(lease.isFresh()).toBe(true);
    monotonic += 1;
    expect(lease.isFresh()).toBe(false);
  });

  it.each([60_000, -60_000])("is not fresh after the wall clock jumps by %i ms", (jump) => {
    const lease = leaseAt(10_000);
    wall += jump;
    expect(lease.isFresh()).toBe(false);
    lease.confirm({ wall, monotonic });
    expect(lease.isFresh()).toBe(true);
  });

  it("counts from when the renewal was sent, and takes no older one for newer", () => {
    const lease = leaseAt(10_000);
    monotonic += 2_400;
    wall += 2_400;
    lease.confirm({ wall: 12_000, monotonic: 12_000 });
    lease.confirm({ wall: 11_000, monotonic: 11_000 });
    monotonic += 2_000;
    wall += 2_000;
    expect(lease.isFresh()).toBe(true);
  });

  it("is doubted once it was not confirmed for as long as it lasts, and no longer once it is", () => {
    const lease = leaseAt(10_000);
    monotonic += LEASE_MS - 1;
    lease.checkAge();
    expect(lease.doubted.aborted).toBe(false);
    monotonic += 1;
    lease.checkAge();
    expect(lease.doubted.aborted).toBe(true);
    expect(lease.lost.aborted).toBe(false);
    lease.confirm({ wall, monotonic });
    expect(lease.doubted.aborted).toBe(false);
  });

  it("tells of a doubt whoever began to listen before it was confirmed again", () => {
    const lease = leaseAt(10_000);
    const heard = lease.doubted;
    monotonic += LEASE_MS / 2;
    lease.confirm({ wall, monotonic });
    monotonic += LEASE_MS;
    lease.checkAge();
    expect(heard.aborted).toBe(true);
  });

  it("that is lost is not fresh, whatever is confirmed", () => {
    const lease = leaseAt(10_000);
    lease.lose("another holds the task");
    lease.confirm({ wall, monotonic });
    expect(lease.isFresh()).toBe(false);
    expect(lease.lost.reason).toMatchObject({ message: "another holds the task" });
  });
});

describe("a process that stalls before a dispatch", () => {
  it("renews first, when it can, and then dispatches", async () => {
    // The answer of the append comes after more than half a lease.
    const harness = await createHarness({ ...task, limits: { leaseMs: 30_000 }, plan: at("store.append", "delay", 2) });
    harness.start();
    await harness.rest();
    expect(harness.ran).toHaveLength(1);
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ToolFinished c6_0 "send is done"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
  });

  it("starts nothing when it cannot renew, and stops; another finds what it announced", async () => {
    const harness = await createHarness({
      ...task,
      plan: both(cutOffAfter("model.stream", "store.renew", "store.claim"), at("store.append", "delay", 2)),
    });
    harness.start();
    await harness.until(() => harness.ends.length > 0);
    expect(harness.ends).toEqual(["lost"]);
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ExtensionRecorded core/action_unknown {callId: c6_0, reason: crashed}
        9 Waiting on=resolution outcome=paused reason=unknown_action detail={waits: [{on: resolution, callId: c6_0}]}
      `),
    );
    expect(harness.ran).toEqual([]);
  });

  it("is refused its append once another holds the task", async () => {
    const harness = await createHarness({
      ...task,
      plan: both(cutOffAfter("model.stream", "store.renew", "store.claim"), at("store.append", "delay", 2)),
    });
    harness.start();
    harness.start();
    await harness.rest();
    await harness.pass(20_000);
    expect(await harness.log(4)).toBe(
      lines(`
        5 ModelCalled model=script request_hash=A
        6 ModelCalled model=script request_hash=A attempt=2
        7 ModelReplied tool_use send {} stop_reason=tool_use
        8 ToolStarted c7_0 send {}
        9 ToolFinished c7_0 "send is done"
        10 ModelCalled model=script request_hash=B
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ends.toSorted()).toEqual(["lost", "parked"]);
    expect(harness.ran.map(({ actor }) => actor)).toEqual(["process 2"]);
  });
});

describe("a claim that cannot be renewed", () => {
  const stops = { stopped: 0, verified: 0 };
  /** A send that takes an hour, or until it is told to stop. */
  const sending = async (): Promise<Harness> => {
    const slow = toolOf("send", "write", {
      execute: async (_, { signal }) => {
        await harness.sleep(3_600_000, signal).catch(() => {
          stops.stopped = harness.now;
        });
        return "sent";
      },
      verify: async () => {
        stops.verified = harness.now;
        return "absent";
      },
    });
    const harness: Harness = await createHarness({
      ...task,
      tools: [slow],
      plan: cutOffAfter("tool.send", "store.renew", "store.claim"),
    });
    harness.start();
    await harness.until(() => harness.ran.length === 1);
    return harness;
  };

  it("is another's after a lease, and the old process writes nothing more", async () => {
    const harness = await sending();
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 send {}
        8 ExtensionRecorded core/action_settled {callId: c6_0, how: verification, outcome: absent, by: core}
        9 ToolFinished c6_0 error "It was interrupted, then checked: it did not take effect." settled_by=verification
        10 ModelCalled model=script request_hash=A
        11 ModelReplied "It is done." stop_reason=end_turn
        12 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.ends.toSorted()).toEqual(["lost", "parked"]);
  });

  it("stops the tool that runs once a whole lease was not confirmed, before another asks what it did", async () => {
    const harness = await sending();
    const startedAt = harness.now;
    harness.start();
    await harness.rest();
    expect(stops.stopped - startedAt).toBeGreaterThanOrEqual(LEASE_MS);
    expect(stops.stopped).toBeLessThan(stops.verified);
  });

  it("goes on when the store can be reached again before another comes", async () => {
    let fails = false;
    const slow = toolOf("look", "read", {
      execute: async () => {
        fails = true;
        await harness.sleep(4_000);
        fails = false;
        await harness.sleep(10_000);
        return "looked";
      },
    });
    const harness: Harness = await createHarness({
      tools: [slow],
      script: [[call("look")], "It is done."],
      plan: ({ port }) => (fails && port === "store.renew" ? "fail" : null),
    });
    harness.start();
    await harness.rest();
    expect(await harness.log(6)).toBe(
      lines(`
        7 ToolStarted c6_0 look {}
        8 ToolFinished c6_0 "looked"
        9 ModelCalled model=script request_hash=A
        10 ModelReplied "It is done." stop_reason=end_turn
        11 Waiting on=input outcome=completed detail={answer: "It is done."}
      `),
    );
    expect(harness.claims).toHaveLength(1);
  });

  it("is renewed by its own loop while a tool works for many leases", async () => {
    const slow = toolOf("look", "read", { execute: async () => harness.sleep(60_000).then(() => "looked") });
    const harness: Harness = await createHarness({ tools: [slow], script: [[call("look")], "It is done."] });
    harness.start();
    harness.start();
    await harness.rest();
    expect(harness.claims).toHaveLength(1);
    expect(harness.ran).toHaveLength(1);
    expect(lines(await harness.log(9))).toContain("ModelReplied");
  });

  it("is guarded from outside the event loop from its first tool to its end, where the store can", async () => {
    const guarded: object[] = [];
    let released = 0;
    const heard: string[] = [];
    const look = (): string => {
      heard.push(`looked, guarded ${String(guarded.length)}, released ${String(released)}`);
      return "looked";
    };
    const harness = await createHarness({
      tools: [toolOf("look", "read", { execute: look })],
      script: [[call("look")], [call("look")], "It is done."],
    });
    harness.start({
      ports: {
        store: {
          ...harness.store,
          guard: (params) => {
            guarded.push(params);
            return () => {
              released += 1;
            };
          },
        },
      },
    });
    await harness.rest();
    await harness.pass(100);
    expect(guarded).toEqual([{ taskId: "task", fence: 1, leaseMs: LEASE_MS }]);
    expect(heard).toEqual(["looked, guarded 1, released 0", "looked, guarded 1, released 0"]);
    expect(released).toBe(1);
  });

  it("is asked for again when a renewal hangs", async () => {
    let hung = 0;
    const slow = toolOf("look", "read", { execute: async () => harness.sleep(20_000).then(() => "looked") });
    const harness: Harness = await createHarness({ tools: [slow], script: [[call("look")], "It is done."] });
    const { renew } = harness.store;
    harness.start({
      ports: {
        store: {
          ...harness.store,
          renew: (params) => {
            hung += 1;
            return hung === 1 ? new Promise(() => undefined) : renew(params);
          },
        },
      },
    });
    await harness.rest();
    expect(hung).toBeGreaterThan(2);
    expect(harness.claims).toHaveLength(1);
  });
});
