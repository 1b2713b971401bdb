// A failing seed made small: leaves out deeds and faults, one at a time, as long as something still fails.
import type { Leave } from "./seed-plan.ts";
import { planOf, runSeed, type SeedResult } from "./seed-run.ts";

export interface Shrunk {
  readonly leave: Leave;
  readonly result: SeedResult;
  /** Runs exactly this again. */
  readonly command: string;
}

const listOf = (name: string, left: ReadonlySet<number>): string =>
  left.size === 0 ? "" : ` ${name} ${[...left].sort((a, b) => a - b).join(",")}`;

export const commandOf = (seed: number, { deeds, faults }: Leave): string =>
  `npm run simulate -- --seed ${String(seed)}${listOf("--leave-deeds", deeds)}${listOf("--leave-faults", faults)}`;

/** The smallest run found that fails, from a seed that fails whole. */
export const shrink = async (seed: number): Promise<Shrunk> => {
  const plan = planOf(seed);
  let leave: Leave = { deeds: new Set(), faults: new Set() };
  let result = await runSeed(seed, leave);
  const attempt = async (smaller: Leave): Promise<void> => {
    const tried = await runSeed(seed, smaller);
    if (tried.faults.length === 0) return;
    leave = smaller;
    result = tried;
  };
  for (let deed = plan.deeds.length - 1; deed >= 0; deed -= 1) {
    await attempt({ ...leave, deeds: new Set([...leave.deeds, deed]) });
  }
  for (let fault = plan.faultBudget - 1; fault >= 0; fault -= 1) {
    await attempt({ ...leave, faults: new Set([...leave.faults, fault]) });
  }
  return { leave, result, command: commandOf(seed, leave) };
};
