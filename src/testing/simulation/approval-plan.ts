// The part of a seed's plan that is about approvals. It has a chance of its own and leaves the other seeds alone, among them
// those that once found a bug (see plugin-plan.ts).
import type { Chance } from "./chance.ts";
import type { DecideHow, Deed, SeedPlan } from "./seed-plan.ts";
import type { Scripted } from "./world.ts";

/** Words are marked from here on; those of the rest of the plan have smaller numbers. */
const FIRST_MARKER = 700;

const hows: readonly DecideHow[] = ["both", "both", "both", "correct", "correct", "stale", "changed", "stranger"];
const pick = <T>(chance: Chance, from: readonly T[]): T => from[chance.below(from.length)] as T;

const deedOf = (chance: Chance, marker: () => string): Deed => {
  const at = chance.below(25_000);
  const kind = chance.below(10);
  if (kind === 0) return { at, kind: "autoApprove", on: chance.below(3) > 0 };
  if (kind === 1) return { at, kind: "steerByOther", text: `steer ${marker()}` };
  return { at, kind: "decide", how: pick(chance, hows) };
};

/** Puts calls that are asked for into the script, beside others and in replies of their own, and decisions into the deeds. */
export const withApprovals = (seed: number, plan: SeedPlan, chance: Chance): SeedPlan => {
  if (seed % 5 !== 1) return plan;
  let markers = FIRST_MARKER;
  const marker = (): string => {
    markers += 1;
    return `mark${String(markers)}mark`;
  };
  const callOf = () => ({ name: "drop", value: marker() });
  const script: Scripted[] = plan.script.map((line) =>
    "calls" in line && chance.below(2) === 0 ? { calls: [callOf(), ...line.calls] } : line,
  );
  for (let line = 1 + chance.below(4); line > 0; line -= 1) {
    const calls = Array.from({ length: 1 + chance.below(3) }, callOf);
    // The same call again, word for word: what was approved of one says nothing of the other.
    if (chance.below(2) === 0) calls.push({ ...(calls[0] ?? callOf()) });
    script.splice(chance.below(script.length + 1), 0, { calls });
  }
  const deeds = Array.from({ length: 1 + chance.below(8) }, () => deedOf(chance, marker));
  const expiryMs = pick(chance, [null, null, 3_000, 30_000]);
  const all = [...plan.deeds, ...deeds].sort((a, b) => a.at - b.at);
  return { ...plan, script, deeds: all, approvals: { expiryMs } };
};
