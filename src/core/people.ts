// Who may ask what of a task, from its state alone. The runner, which also asks the access port, writes on an item that it takes
// why it does nothing; the fold passes over what is so marked. In logs of before nothing is: they fold as they did.
import { isPending } from "./approval.ts";
import type { Item, ItemOf, ItemType } from "./items.ts";
import { isRunning, type TaskState } from "./state.ts";

/**
 * Why an item that was taken does nothing, in a word. The last two are what the access port said, and on no state.
 *
 * - `not_owner`: only the owner may ask that.
 * - `not_collaborator`, `private`, `at_rest`: the poster of a correction is no collaborator, or the task takes none (any more);
 *   or nothing runs that could be corrected: a collaborator begins no turn.
 * - `unknown_action`, `approval_pending`, `family`: a task in that state, or with a parent or a child, cannot be moved.
 */
export type Refusal =
  | "not_owner"
  | "not_collaborator"
  | "private"
  | "at_rest"
  | "unknown_action"
  | "approval_pending"
  | "family"
  | "no_access"
  | "no_source_access";

/** What only the owner says. The rest comes from outside the task, or is judged where it is taken (`Decide`). */
const ownersAlone: ReadonlySet<ItemType> = new Set<ItemType>([
  ...["Say", "Answer", "Interrupt", "Cancel", "Close", "Resume", "Resolve", "Verify"],
  ...["Handoff", "Collaborate", "Reconfigure"],
] as ItemType[]);

/** The kernel asks as `core`, and its policies as `core:…`. */
const isKernel = (by: string): boolean => by === "core" || by.startsWith("core:");

/** A collaborator steers a public task while its turn runs. */
const steerRefusal = (state: TaskState, by: string): Refusal | null => {
  if (state.origin.private) return "private";
  if (!state.collaborators.includes(by)) return "not_collaborator";
  return isRunning(state) ? null : "at_rest";
};

const collaborateRefusal = (state: TaskState, { change }: ItemOf<"Collaborate">): Refusal | null =>
  change === "add" && state.origin.private ? "private" : null;

/**
 * Why a task cannot be moved now. What is asked or unknown was asked in the old place, and is settled there; parents,
 * children and their tasks live in one place.
 */
export const handoffRefusal = (state: TaskState): Refusal | null => {
  if (state.calls.some((call) => call.phase === "unknown")) return "unknown_action";
  if (state.calls.some(isPending)) return "approval_pending";
  return state.parent === undefined && Object.keys(state.children).length === 0 ? null : "family";
};

/** Why the poster may not ask this now; null if they may. */
export const refusalFor = (state: TaskState, item: Item): Refusal | null => {
  const owns = item.by === state.owner || isKernel(item.by);
  if (item.type === "Steer") return owns ? null : steerRefusal(state, item.by);
  if (!owns && ownersAlone.has(item.type)) return "not_owner";
  if (item.type === "Collaborate") return collaborateRefusal(state, item);
  return item.type === "Handoff" ? handoffRefusal(state) : null;
};
