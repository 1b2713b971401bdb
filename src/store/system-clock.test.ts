// Proves that leases of several processes on one host compare.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { Clock } from "./store.ts";
import { systemClock } from "./system-clock.ts";

const inAnotherProcess = (): { boot: string; monotonic: number } => {
  const module = JSON.stringify(new URL("system-clock.ts", import.meta.url).href);
  const program = `
    import { systemClock } from ${module};
    const clock = systemClock();
    console.log(JSON.stringify({ boot: clock.boot, monotonic: clock.monotonic() }));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  return JSON.parse(output) as { boot: string; monotonic: number };
};

test("tells two processes of one host the same boot, and times in one order", () => {
  const clock: Clock = systemClock();
  const before = clock.monotonic();
  const other = inAnotherProcess();
  const after = clock.monotonic();
  expect(other.boot).toBe(clock.boot);
  expect(other.monotonic).toBeGreaterThanOrEqual(before);
  expect(other.monotonic).toBeLessThanOrEqual(after);
});

test("tells whole milliseconds", () => {
  const { wall, monotonic } = systemClock();
  expect([wall(), monotonic()].every(Number.isInteger)).toBe(true);
});
