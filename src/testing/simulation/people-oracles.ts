// What must hold of who may ask what. Who is named, and where the task lives, is followed here from the items alone.
import { apply, createState } from "../../core/fold.ts";
import { isEqualJson } from "../../core/equal.ts";
import type { Recorded } from "../../core/events.ts";
import type { Item } from "../../core/items.ts";
import type { Reducers, TaskState } from "../../core/state.ts";

/** Only the owner asks for these. */
const ownersAlone = ["Say", "Interrupt", "Cancel", "Close", "Resume", "Resolve", "Verify", "Answer"];
const peoples = ["Handoff", "Collaborate"];

interface Around {
  readonly named: ReadonlySet<string>;
  readonly isPrivate: boolean;
}

/** Who may not ask this, whatever the state. */
const isUnheard = (item: Item, owner: string, { named, isPrivate }: Around): boolean => {
  if (item.refused !== undefined) return true;
  if (item.by === owner || item.by.startsWith("core")) return false;
  if (item.type === "Steer") return isPrivate || !named.has(item.by);
  return [...ownersAlone, ...peoples].includes(item.type);
};

/** The people after an item that nobody refused. */
const after = (item: Item, { named, isPrivate }: Around): Around => {
  if (item.type === "Handoff") return { named: new Set(), isPrivate: true };
  if (item.type !== "Collaborate") return { named, isPrivate };
  const others = [...named].filter((each) => each !== item.principal);
  return { named: new Set(item.change === "add" ? [...others, item.principal] : others), isPrivate };
};

/** The log as it would be had nobody asked what they may not; and the people at its end. */
const withoutUnheard = (log: readonly Recorded[], first: TaskState): { heard: Recorded[]; around: Around } => {
  let around: Around = { named: new Set(), isPrivate: first.origin.private };
  const heard = log.map((recorded): Recorded => {
    const { event } = recorded;
    if (event.type !== "InputTaken") return recorded;
    const items = event.items.filter((item) => {
      if (isUnheard(item, first.owner, around)) return false;
      around = after(item, around);
      return true;
    });
    return { ...recorded, event: { ...event, items } };
  });
  return { heard, around };
};

/** What somebody may not ask leaves no trace: without it, the log folds to the same at every seq. */
export const peopleOracle = (taskId: string, log: readonly Recorded[], reducers: Reducers, faults: string[]): void => {
  const [first] = log;
  if (first === undefined) return;
  let state = createState(taskId, first);
  const { heard, around } = withoutUnheard(log, state);
  let other = createState(taskId, first);
  for (const [index, recorded] of log.entries()) {
    const without = heard[index];
    if (index === 0 || without === undefined) continue;
    try {
      state = apply(state, recorded, reducers);
      other = apply(other, without, reducers);
    } catch (error) {
      faults.push(`without what nobody may ask the log does not fold at seq ${String(recorded.seq)}: ${String(error)}`);
      return;
    }
    if (isEqualJson(state, other)) continue;
    faults.push(`what somebody may not ask left a trace at seq ${String(recorded.seq)}`);
    return;
  }
  const wanted = [...around.named].sort();
  if (!isEqualJson([...state.collaborators].sort(), wanted)) {
    faults.push(`the collaborators are ${state.collaborators.join(", ")} instead of ${wanted.join(", ")}`);
  }
  if (state.origin.private !== around.isPrivate) faults.push(`the task is private: ${String(state.origin.private)}`);
};
