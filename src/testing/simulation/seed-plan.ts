// From a seed to a plan: what the model answers, what people do and when, how many processes, which faults.
import type { NewItem } from "../../core/items.ts";
import type { Mode } from "../../core/events.ts";
import type { Chance } from "./chance.ts";
import type { PeopleDeed } from "./people-plan.ts";
import type { Fault, FaultPlan } from "./scheduler.ts";
import type { Scripted } from "./world.ts";

/**
 * How a person decides on the first request that waits: two front ends at once, with a correction, under controls that were
 * put up anew, for another input, or as somebody who may not.
 */
export type DecideHow = "both" | "correct" | "stale" | "changed" | "stranger";

/** Something a person does at a time. `twice`: two front ends send it at once, under one key. */
export type Deed =
  | PeopleDeed
  | { readonly at: number; readonly kind: "post"; readonly item: NewItem; readonly twice: boolean }
  | { readonly at: number; readonly kind: "answer"; readonly stale: boolean }
  | { readonly at: number; readonly kind: "decide"; readonly how: DecideHow }
  | { readonly at: number; readonly kind: "autoApprove"; readonly on: boolean }
  | { readonly at: number; readonly kind: "steerByOther"; readonly text: string }
  | { readonly at: number; readonly kind: "verify" }
  | { readonly at: number; readonly kind: "redact" }
  | { readonly at: number; readonly kind: "kill" };

export interface SeedPlan {
  readonly mode: Mode;
  readonly onInterrupt: "continue" | "pause";
  readonly objective: string;
  readonly processes: number;
  readonly script: readonly Scripted[];
  readonly deeds: readonly Deed[];
  /** Chance of a fault at a port call, and how many at the most. */
  readonly faultRate: number;
  readonly faultBudget: number;
  readonly snapshotEvery: number;
  /** The agent has a tool that is asked for, and requests expire after so long (ms); null where they do not. */
  readonly approvals?: { readonly expiryMs: number | null };
}

/** Every word that may be redacted later stands in one place of the plan and is found by this. */
export const markerPattern = /mark\d+mark/g;

const between = (chance: Chance, low: number, high: number): number => low + chance.below(high - low + 1);
const pick = <T>(chance: Chance, from: readonly T[]): T => from[chance.below(from.length)] as T;

const tools = ["look", "look", "look", "put", "send", "pay"] as const;

const createMarkers = (): (() => string) => {
  let markers = 0;
  return () => {
    markers += 1;
    return `mark${String(markers)}mark`;
  };
};

const replyOf = (chance: Chance, marker: () => string): Scripted => {
  if (chance.below(3) === 0) return { text: `answer ${marker()}` };
  const calls = Array.from({ length: between(chance, 1, 3) }, () => ({ name: pick(chance, tools), value: marker() }));
  return { calls };
};

const itemOf = (chance: Chance, marker: () => string): NewItem => {
  switch (chance.below(8)) {
    case 0:
    case 1:
    case 2:
      return { type: "Say", text: `say ${marker()}` };
    case 3:
      return { type: "Steer", text: `steer ${marker()}` };
    case 4:
    case 5:
      return { type: "Interrupt" };
    case 6:
      return { type: "Cancel" };
    default:
      return { type: "Resume" };
  }
};

const deedOf = (chance: Chance, marker: () => string): Deed => {
  const at = between(chance, 0, 20_000);
  const kind = chance.below(10);
  if (kind === 0) return { at, kind: "verify" };
  if (kind === 1) return { at, kind: "redact" };
  if (kind === 2) return { at, kind: "kill" };
  return { at, kind: "post", item: itemOf(chance, marker), twice: chance.below(4) === 0 };
};

export const createPlan = (chance: Chance): SeedPlan => {
  const marker = createMarkers();
  const deeds = Array.from({ length: between(chance, 0, 8) }, () => deedOf(chance, marker));
  if (chance.below(6) === 0) deeds.push({ at: 30_000, kind: "post", item: { type: "Close" }, twice: false });
  return {
    mode: pick(chance, ["conversation", "conversation", "run", "oneShot"]),
    onInterrupt: pick(chance, ["continue", "continue", "pause"]),
    objective: "the objective",
    processes: between(chance, 1, 3),
    script: Array.from({ length: between(chance, 1, 7) }, () => replyOf(chance, marker)),
    deeds: deeds.sort((a, b) => a.at - b.at),
    faultRate: pick(chance, [0, 0.01, 0.03, 0.08]),
    faultBudget: between(chance, 1, 8),
    snapshotEvery: pick(chance, [0, 2, 5, 20]),
  };
};

const faultsOf = (port: string): readonly Fault[] => {
  const all: Fault[] = ["crash_before", "crash_after", "lose_answer", "fail", "delay", "stall"];
  // What happens twice outside is what tools must never do; a person's front end and the store's client may.
  return port.startsWith("store.") || port.startsWith("model.") ? [...all, "twice"] : all;
};

/** Port calls that are made all the time, or hardly ever, meet faults less, or more, often than their number would say. */
const weightOf = (port: string): number => {
  if (port === "store.claim") return 0.1;
  if (port === "store.append") return 1;
  if (port === "store.getTask") return 4;
  if (port === "tool.verify") return 60;
  if (port === "tool.drop") return 40;
  return port.startsWith("tool.") ? 16 : 8;
};

/** What to leave out of a seed's run: deeds by their place in the plan, faults by the order in which they would come. */
export interface Leave {
  readonly deeds: ReadonlySet<number>;
  readonly faults: ReadonlySet<number>;
}

export const leaveNothing: Leave = { deeds: new Set(), faults: new Set() };

/** Faults by chance, within the plan's budget; the person is spared. */
export const faultPlan = (plan: SeedPlan, chance: Chance, leave: Leave): FaultPlan => {
  let faults = 0;
  return ({ actor, port }) => {
    if (faults === plan.faultBudget || actor === "person") return null;
    if (chance.fraction() >= plan.faultRate * weightOf(port)) return null;
    const fault = pick(chance, faultsOf(port));
    faults += 1;
    return leave.faults.has(faults - 1) ? null : fault;
  };
};
