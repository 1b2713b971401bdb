// Renewals by themselves, on a clock that is moved by hand.
import { describe, expect, it } from "vitest";
import { StoreError } from "../store/store.ts";
import { ClaimLost, createLease, type Lease } from "./lease.ts";
import type { RunnerClock } from "./ports.ts";
import { ensureFresh, keepRenewing, type Renewal } from "./renew.ts";

const LEASE_MS = 3_000;
const THIRD = LEASE_MS / 3;

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

class HandClock implements RunnerClock {
  now = 10_000;
  readonly sleepers = new Set<Sleeper>();

  wall(): number {
    return this.now;
  }

  monotonic(): number {
    return this.now;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { until: this.now + ms, wake: resolve };
    this.sleepers.add(sleeper);
    signal.addEventListener("abort", () => {
      reject(signal.reason as Error);
    });
    return promise.finally(() => this.sleepers.delete(sleeper));
  }

  /** Time passes, and what follows from it happens. */
  async pass(ms: number): Promise<void> {
    this.now += ms;
    for (const { until, wake } of this.sleepers) if (until <= this.now) wake();
    await new Promise(setImmediate);
  }
}

type Answer = () => Promise<void>;

const given = (answer: Answer = () => Promise.resolve()) => {
  const clock = new HandClock();
  const lease: Lease = createLease(clock, LEASE_MS, { wall: clock.now, monotonic: clock.now });
  const asked: object[] = [];
  const told: string[] = [];
  const renewal: Renewal = {
    store: {
      renew: (params) => {
        asked.push(params);
        return answer();
      },
    },
    clock,
    claim: { taskId: "task", fence: 7 },
    lease,
    told: (what) => told.push(what),
  };
  return { clock, lease, asked, told, renewal };
};

const unavailable = () => Promise.reject(new StoreError("unavailable", "the disk is full"));
const refused = () => Promise.reject(new StoreError("not_owner", "another holds task task"));

describe("right before a dispatch", () => {
  it("nothing is asked while less than half a lease has passed", async () => {
    const { clock, asked, renewal } = given(refused);
    await clock.pass(LEASE_MS / 2 - 1);
    await expect(ensureFresh(renewal)).resolves.toBeUndefined();
    expect(asked).toEqual([]);
  });

  it("a claim that was not confirmed for half a lease is renewed first", async () => {
    const { clock, asked, lease, renewal } = given();
    await clock.pass(LEASE_MS / 2);
    await ensureFresh(renewal);
    expect(asked).toEqual([{ taskId: "task", fence: 7, leaseMs: LEASE_MS }]);
    expect(lease.isFresh()).toBe(true);
  });

  it.each([
    ["cannot be reached", unavailable, "the disk is full"],
    ["says no", refused, "another holds task task"],
  ])("nothing is started where the store %s, and the claim is given up with what it said", async (_, answer, said) => {
    const { clock, lease, renewal } = given(answer);
    await clock.pass(LEASE_MS);
    await expect(ensureFresh(renewal)).rejects.toThrow(ClaimLost);
    await expect(ensureFresh(renewal)).rejects.toThrow("task task: nothing is started");
    expect(String(lease.lost.reason)).toContain(`the claim could not be renewed: StoreError: ${said}`);
  });

  it("nothing is started when the answer took half a lease itself", async () => {
    const { clock, lease, renewal } = given(() => clock.pass(LEASE_MS / 2));
    await clock.pass(LEASE_MS);
    await expect(ensureFresh(renewal)).rejects.toThrow(ClaimLost);
    expect(lease.lost.aborted).toBe(false);
  });
});

describe("while steps work", () => {
  const renewing = async (answer?: Answer) => {
    const done = new AbortController();
    const all = { ...given(answer), done, rounds: 0 };
    const over = keepRenewing(all.renewal, done.signal, () => {
      all.rounds += 1;
    });
    await all.clock.pass(0);
    return Object.assign(all, { over });
  };

  it("a claim is renewed a third of a lease apart, and no longer than they do", async () => {
    const { clock, lease, asked, told, done, over } = await renewing();
    await clock.pass(THIRD - 1);
    expect(asked).toEqual([]);
    await clock.pass(1);
    expect(asked).toEqual([{ taskId: "task", fence: 7, leaseMs: LEASE_MS }]);
    for (let n = 0; n < 3; n += 1) await clock.pass(THIRD);
    expect(told).toEqual(["confirmed", "confirmed", "confirmed", "confirmed"]);
    expect(lease.isFresh()).toBe(true);
    expect(clock.sleepers.size).toBe(1);
    done.abort(new Error("done"));
    await over;
    expect(told).toHaveLength(4);
    expect(clock.sleepers.size).toBe(0);
  });

  it("one that hangs is given up for the next, which asks again", async () => {
    let asks = 0;
    const { clock, told, lease } = await renewing(() => {
      asks += 1;
      return asks === 1 ? new Promise(() => undefined) : Promise.resolve();
    });
    await clock.pass(THIRD);
    await clock.pass(THIRD);
    expect(told).toEqual(["unanswered"]);
    await clock.pass(THIRD);
    expect(told).toEqual(["unanswered", "confirmed"]);
    expect(lease.doubted.aborted).toBe(false);
    expect(clock.sleepers.size).toBe(1);
  });

  it("a store that cannot be reached is asked again; after a whole lease the claim is in doubt, and not lost", async () => {
    const all = await renewing(unavailable);
    for (let n = 0; n < 2; n += 1) await all.clock.pass(THIRD);
    expect(all.lease.doubted.aborted).toBe(false);
    await all.clock.pass(THIRD);
    expect(all.told).toEqual(["unanswered", "unanswered", "unanswered"]);
    expect(all.rounds).toBe(3);
    expect(all.lease.doubted.aborted).toBe(true);
    expect(all.lease.lost.aborted).toBe(false);
  });

  it("a claim that another has is lost, with what the store said, and asked for no more", async () => {
    const all = await renewing(refused);
    await all.clock.pass(THIRD);
    await all.over;
    expect(all.told).toEqual(["refused"]);
    expect(all.rounds).toBe(1);
    expect(all.lease.lost.reason).toMatchObject({ message: "another holds task task" });
    await all.clock.pass(LEASE_MS);
    expect(all.asked).toHaveLength(1);
  });

  it("what fails because it is over is told to nobody", async () => {
    const { clock, lease, told, done, over } = await renewing(() => {
      done.abort(new Error("done"));
      return refused();
    });
    await clock.pass(THIRD);
    await over;
    expect(told).toEqual([]);
    expect(lease.lost.aborted).toBe(false);
  });

  it("nobody has to be told", async () => {
    const { clock, renewal, asked } = given(() => (asked.length === 2 ? unavailable() : Promise.resolve()));
    const { told: _, ...quiet } = renewal;
    const done = new AbortController();
    const over = keepRenewing(quiet, done.signal, () => undefined);
    for (let n = 0; n < 3; n += 1) await clock.pass(THIRD);
    expect(asked).toHaveLength(3);
    done.abort(new Error("done"));
    await over;
  });
});
