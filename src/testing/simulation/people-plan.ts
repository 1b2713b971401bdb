// The part of a seed's plan that is about the people around a task. It has a chance of its own and leaves the other seeds
// alone, among them those that once found a bug.
import type { Chance } from "./chance.ts";
import type { Deed, SeedPlan } from "./seed-plan.ts";

/** What people do beside talking to the task; each kind is carried out in people.ts. */
export type PeopleDeed =
  | { readonly at: number; readonly kind: "name"; readonly change: "add" | "remove" }
  /** Of a turn that the owner's words begin. `dismissed`: the owner takes the grant away at the same moment. */
  | { readonly at: number; readonly kind: "friend steers"; readonly text: string; readonly dismissed: boolean }
  /** A front end that checks nothing lets another ask for what only the owner may. */
  | { readonly at: number; readonly kind: "friend meddles"; readonly verb: "Say" | "Interrupt" | "Cancel" | "Resume" }
  /** `twice`: two front ends move it at once, to different places. */
  | { readonly at: number; readonly kind: "move"; readonly twice: boolean }
  | { readonly at: number; readonly kind: "say from behind"; readonly text: string };

/** Words are marked from here on; those of the rest of the plan have other numbers. */
const FIRST_MARKER = 2_000;

const pick = <T>(chance: Chance, from: readonly T[]): T => from[chance.below(from.length)] as T;

/** Names a friend early, lets them steer and meddle, dismisses them, and moves the task now and then. */
export const withPeople = (seed: number, plan: SeedPlan, chance: Chance): SeedPlan => {
  if (seed % 5 !== 1) return plan;
  let markers = FIRST_MARKER;
  const words = (): string => {
    markers += 1;
    return `steer mark${String(markers)}mark`;
  };
  const deedAt = (at: number): PeopleDeed => {
    switch (chance.below(10)) {
      case 0:
        return { at, kind: "name", change: "remove" };
      case 1:
        return { at, kind: "name", change: "add" };
      case 2:
      case 3:
        return { at, kind: "friend meddles", verb: pick(chance, ["Say", "Interrupt", "Cancel", "Resume"]) };
      case 4:
        return { at, kind: "move", twice: chance.below(2) === 0 };
      case 5:
        return { at, kind: "say from behind", text: words() };
      default:
        return { at, kind: "friend steers", text: words(), dismissed: chance.below(3) === 0 };
    }
  };
  const named: PeopleDeed = { at: chance.below(50), kind: "name", change: "add" };
  const later = Array.from({ length: 2 + chance.below(8) }, () => deedAt(chance.below(chance.below(2) ? 400 : 20_000)));
  const deeds: Deed[] = [...plan.deeds, named, ...later];
  return { ...plan, deeds: deeds.sort((a, b) => a.at - b.at) };
};
