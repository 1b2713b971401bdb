// 2,000 seeds of the simulation, every seed that ever failed, and that a seed names one run.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { runSeed } from "../src/testing/simulation/seed-run.ts";

const simulate = join(import.meta.dirname, "../scripts/simulate.ts");

interface Bug {
  readonly seed: number;
  /** What it found when it failed. */
  readonly found: string;
}

const bugs = JSON.parse(await readFile(join(import.meta.dirname, "simulation-bugs.json"), "utf8")) as Bug[];

describe("the simulation", () => {
  it("keeps every promise over 2,000 seeds", { timeout: 900_000 }, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [simulate, "--seeds", "2000"]);
    console.log(stdout);
    expect(stdout).toContain("2000 seeds");
    expect(stdout).toContain(": 0 failed");
  });

  it.each(bugs)("keeps every promise at seed $seed, which found: $found", async ({ seed }) => {
    const { faults, log } = await runSeed(seed);
    expect(faults, log).toEqual([]);
  });

  it("runs a seed the same way twice", async () => {
    for (const seed of [3, 7, 82]) {
      const [once, again] = [await runSeed(seed), await runSeed(seed)];
      expect(again.traceHash).toBe(once.traceHash);
    }
  });
});
