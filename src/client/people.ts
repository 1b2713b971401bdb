// The people around a task: who may correct it beside its owner, and its move to another place.
import { isAllowed } from "../access/access.ts";
import type { Recorded } from "../core/events.ts";
import type { NewItem } from "../core/items.ts";
import { handoffRefusal } from "../core/people.ts";
import { isRunning, type TaskState } from "../core/state.ts";
import type { TaskRow } from "../store/store.ts";
import { ClientError, type Client } from "./client.ts";
import { findTask, notFound } from "./find-task.ts";

/** The task, by its whole id, that the asker may correct although it is another's; null if there is none. */
const findOthers = async (client: Client, taskId: string): Promise<TaskRow | null> => {
  const { store, principal, place } = client;
  const row = await store.getTask({ taskId });
  if (row === null || row.origin.place !== place || row.origin.private) return null;
  const rows = await store.readRows({ taskId, table: "collaborators" });
  return rows.some((each) => each.key === principal) ? row : null;
};

/**
 * The task that an item may be posted to: the asker's own; for a correction also one that names the asker as a
 * collaborator. To any other verb a collaborator is a stranger. Codes: `not_found`, `ambiguous`.
 */
export const findToPost = async (client: Client, idOrPrefix: string, item: NewItem): Promise<TaskRow> => {
  if (item.type !== "Steer") return findTask(client, idOrPrefix);
  try {
    return await findTask(client, idOrPrefix);
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== "not_found") throw error;
    const others = await findOthers(client, idOrPrefix);
    if (others === null) throw notFound(client, idOrPrefix);
    return others;
  }
};

const collaborateRefusal = async (
  { access, place }: Client,
  state: TaskState,
  { principal, change }: Extract<NewItem, { type: "Collaborate" }>,
): Promise<string | null> => {
  const isNamed = state.collaborators.includes(principal);
  if (change === "remove") return isNamed ? null : `has no collaborator ${principal}`;
  if (!/^[a-z]+:\S+$/.test(principal)) return `takes a collaborator as kind:id, not ${JSON.stringify(principal)}`;
  if (principal.startsWith("core:")) return "takes no collaborator of the kind core: it is perdure's own";
  if (principal === state.owner) return `is ${principal}'s own: its owner needs no grant`;
  if (state.origin.private) return "is private: nobody but its owner may steer it";
  if (await isAllowed(access, { principal, place, to: "act" })) return null;
  return `cannot be opened to ${principal}, who may not act in ${place}, or nobody can say so now`;
};

const movesBlocked = {
  unknown_action: "cannot be moved while an action is unknown: resolve or verify it first",
  approval_pending: "cannot be moved while an approval is pending: decide it first",
  family: "cannot be moved alone: it has a parent, or a child that lives",
} as const;

const handoffRefusalOf = async (
  { access, principal, place, store }: Client,
  state: TaskState,
  { origin }: Extract<NewItem, { type: "Handoff" }>,
): Promise<string | null> => {
  const blocked = handoffRefusal(state);
  if (blocked !== null) return movesBlocked[blocked as keyof typeof movesBlocked];
  if (origin.place === place) return `lives in ${place} already`;
  const there = { principal, place: origin.place };
  if (!(await isAllowed(access, { ...there, to: "act" }))) {
    return `cannot be moved to ${origin.place}: ${principal} may not act there, or nobody can say so now`;
  }
  const rows = await store.readRows({ taskId: state.taskId, table: "sources" });
  const closed: string[] = [];
  for (const { key: source } of rows) {
    if (!(await isAllowed(access, { ...there, to: "read", source }))) closed.push(source);
  }
  if (closed.length === 0) return null;
  return `cannot be moved to ${origin.place}: ${principal} may not read there what it was given: ${closed.join(", ")}`;
};

/** A correction of a collaborator needs work that it can correct. */
const steerRefusal = ({ principal }: Client, state: TaskState): string | null =>
  principal === state.owner || isRunning(state) ? null : "is at rest: a correction needs a turn that runs";

/** Why the item's people or places do not allow it, after "task <id>"; null where they do. */
export const peopleRefusal = async (client: Client, state: TaskState, item: NewItem): Promise<string | null> => {
  switch (item.type) {
    case "Steer":
      return steerRefusal(client, state);
    case "Collaborate":
      return collaborateRefusal(client, state, item);
    case "Handoff":
      return handoffRefusalOf(client, state, item);
    default:
      return null;
  }
};

/**
 * The key of the next move: the same for all who would move the task from where it stands now, so that one of them alone
 * does. A move that was taken, and one that was refused then, make way for the next.
 */
export const moveKey = (events: readonly Recorded[]): string => {
  const items = events.flatMap(({ event }) => (event.type === "InputTaken" ? event.items : []));
  return `core:handoff:${String(items.filter((item) => item.type === "Handoff").length)}`;
};
