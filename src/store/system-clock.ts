// The machine's own clock, comparable between the processes of one host.
import { readFileSync } from "node:fs";
import { hostname, uptime } from "node:os";
import type { Clock } from "./store.ts";

/**
 * The name of this boot. Where the system gives none, the minute it started in: a name that two processes may see
 * differently, after which leases count by the wall clock.
 */
const bootName = (): string => {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return `${hostname()} ${String(Math.round((Date.now() / 1000 - uptime()) / 60))}`;
  }
};

export const systemClock = (): Clock => ({
  wall: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint() / 1_000_000n),
  boot: bootName(),
});
