// An answer stands for so long and no longer; an error and silence are a no, and are asked again.
import { expect, test } from "vitest";
import { isAllowed, type Access } from "./access.ts";
import { cachedAccess } from "./cached.ts";

const question = { principal: "discord:1", place: "here", to: "act" } as const;

/** A clock that a test moves. Sleepers wake when it passes them. */
const createClock = () => {
  let now = 0;
  const sleepers = new Set<{ readonly at: number; wake(): void }>();
  return {
    monotonic: () => now,
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const sleeper = { at: now + ms, wake: resolve };
        sleepers.add(sleeper);
        signal.addEventListener("abort", () => {
          sleepers.delete(sleeper);
          reject(signal.reason as Error);
        });
      }),
    pass: (ms: number): void => {
      now += ms;
      for (const sleeper of sleepers) if (sleeper.at <= now) sleeper.wake();
    },
    get asleep() {
      return sleepers.size;
    },
  };
};

const over = (may: Access["may"]) => {
  const clock = createClock();
  let asked = 0;
  const inner: Access = {
    may: (each) => {
      asked += 1;
      return may(each);
    },
  };
  const access = cachedAccess(inner, { forMs: 100, withinMs: 50, clock });
  return { access, clock, asked: () => asked };
};

test("an answer, yes or no, stands for so long and no longer", async () => {
  for (const first of [true, false]) {
    let answer = first;
    const { access, clock, asked } = over(() => Promise.resolve(answer));
    expect(await access.may(question)).toBe(first);
    answer = !first;
    clock.pass(99);
    expect(await access.may(question)).toBe(first);
    clock.pass(1);
    expect(await access.may(question)).toBe(!first);
    expect(asked()).toBe(2);
    expect(clock.asleep).toBe(0);
  }
});

test("each question has an answer of its own", async () => {
  const { access, asked } = over(({ to, place }) => Promise.resolve(to === "read" || place === "there"));
  expect(await access.may(question)).toBe(false);
  expect(await access.may({ ...question, place: "there" })).toBe(true);
  expect(await access.may({ ...question, to: "see" })).toBe(false);
  expect(await access.may({ ...question, to: "read", source: "a" })).toBe(true);
  expect(await access.may({ ...question, to: "read", source: "b" })).toBe(true);
  expect(asked()).toBe(5);
});

test("an error is a no, and is asked again", async () => {
  let fails = true;
  const { access } = over(() => (fails ? Promise.reject(new Error("down")) : Promise.resolve(true)));
  expect(await access.may(question)).toBe(false);
  fails = false;
  expect(await access.may(question)).toBe(true);
});

test("a port that throws at once, or answers something else than true, says no", async () => {
  const throws = over(() => {
    throw new Error("down");
  });
  expect(await throws.access.may(question)).toBe(false);
  const odd = over(() => Promise.resolve("yes" as unknown as boolean));
  expect(await odd.access.may(question)).toBe(false);
  expect(await isAllowed({ may: () => Promise.resolve("yes" as unknown as boolean) }, question)).toBe(false);
  expect(await isAllowed({ may: () => Promise.reject(new Error("down")) }, question)).toBe(false);
});

test("an answer that does not come in time is a no; one that comes too late counts for nobody", async () => {
  const late = Promise.withResolvers<boolean>();
  let first = true;
  const { access, clock, asked } = over(() => {
    if (!first) return Promise.resolve(false);
    first = false;
    return late.promise;
  });
  const answer = access.may(question);
  const again = access.may(question);
  clock.pass(50);
  expect([await answer, await again]).toEqual([false, false]);
  expect(asked()).toBe(1);
  late.resolve(true);
  expect(await access.may(question)).toBe(false);
  expect(asked()).toBe(2);
});

test("an answer is as old as its question: one that took long stands no longer for it", async () => {
  const slow = Promise.withResolvers<boolean>();
  let asked = 0;
  const { access, clock } = over(() => {
    asked += 1;
    return asked === 1 ? slow.promise : Promise.resolve(false);
  });
  const answer = access.may(question);
  clock.pass(40);
  slow.resolve(true);
  expect(await answer).toBe(true);
  clock.pass(60);
  expect(await access.may(question)).toBe(false);
});
