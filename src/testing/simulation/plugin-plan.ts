// The part of a seed's plan that is about the plan and ask plugins. It has a chance of its own and leaves the other seeds
// alone, among them those that once found a bug: they name the run that found it still.
import type { Chance } from "./chance.ts";
import type { Deed, SeedPlan } from "./seed-plan.ts";
import type { Scripted } from "./world.ts";

const tools = ["ask", "ask", "ask", "plan_update", "plan_update", "goal_set", "goal_update", "note_add", "note_delete"];

/** Words are marked from here on; those of the rest of the plan have smaller numbers. */
const FIRST_MARKER = 500;

const pick = <T>(chance: Chance, from: readonly T[]): T => from[chance.below(from.length)] as T;

/** Puts calls of the plugins into the script, beside others and in replies of their own, and answers into the deeds. */
export const withPlugins = (seed: number, plan: SeedPlan, chance: Chance): SeedPlan => {
  if (seed % 5 !== 2 && seed % 5 !== 3) return plan;
  let markers = FIRST_MARKER;
  const callOf = () => {
    markers += 1;
    return { name: pick(chance, tools), value: `mark${String(markers)}mark` };
  };
  const script: Scripted[] = plan.script.map((line) =>
    "calls" in line && chance.below(3) === 0 ? { calls: [...line.calls, callOf()] } : line,
  );
  for (let line = 1 + chance.below(4); line > 0; line -= 1) {
    const calls = Array.from({ length: 1 + chance.below(3) }, callOf);
    script.splice(chance.below(script.length + 1), 0, { calls });
  }
  const deeds: Deed[] = Array.from({ length: chance.below(4) }, () => ({
    at: chance.below(20_000),
    kind: "answer",
    stale: chance.below(3) === 0,
  }));
  return { ...plan, script, deeds: [...plan.deeds, ...deeds].sort((a, b) => a.at - b.at) };
};
