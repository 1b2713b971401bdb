// goal_set and goal_update: what a task is to reach. An answer that leaves one open does not end the turn.
import { Type } from "typebox";
import { NothingHappened, type TypedTool } from "../plugin.ts";
import { Status, type Goal, type GoalRecord, type Saved } from "./saved.ts";

const strict = { additionalProperties: false };
const optional = Type.Optional;

const Wanted = Type.Object(
  {
    text: Type.String({ description: "What is to be reached, so that anyone can tell whether it was." }),
    status: optional(Status),
  },
  strict,
);

const Updated = Type.Object(
  {
    id: Type.String({ description: "The goal's id, such as g1." }),
    status: optional(Status),
    text: optional(Type.String()),
    reason: optional(Type.String({ description: "Why it is blocked, or how you know that it is done." })),
  },
  strict,
);

const requireWords = (text: string | undefined): void => {
  if (text?.trim() === "") throw new NothingHappened("The goal has no text. Nothing was saved.");
};

const found = ({ goals }: Saved, given: string): Goal => {
  const goal = goals.find((each) => each.id === given);
  if (goal !== undefined) return goal;
  const known = goals.length === 0 ? "it has none" : `it has ${goals.map((each) => each.id).join(", ")}`;
  throw new NothingHappened(`This task has no goal ${given}; ${known}. Nothing was changed.`);
};

export const goalSet: TypedTool<typeof Wanted> = {
  name: "goal_set",
  description: [
    "Sets a goal of this task. While one is open or in progress, an answer does not end the turn: you are asked to go on.",
    "The turn pauses when only blocked goals are left, or when nothing has moved since it last went on.",
  ].join(" "),
  inputSchema: Wanted,
  effect: "internal",
  execute: ({ text, status = "open" }, context) => {
    requireWords(text);
    const id = `g${String((context.state as Saved).next.g)}`;
    context.record({ kind: "goal", data: { id, status, text } satisfies GoalRecord });
    return `Saved as goal ${id} (${status}).`;
  },
};

export const goalUpdate: TypedTool<typeof Updated> = {
  name: "goal_update",
  description: "Changes a goal of this task: its status (open, in_progress, blocked, done), its text, the reason.",
  inputSchema: Updated,
  effect: "internal",
  execute: ({ id, ...given }, context) => {
    requireWords(given.text);
    const before = found(context.state as Saved, id);
    const status = given.status ?? before.status;
    const text = given.text ?? before.text;
    // A reason belongs to the status that it was given with.
    const reason = given.reason ?? (status === before.status ? before.reason : undefined);
    const data: GoalRecord = { id, status, text, ...(reason === undefined ? {} : { reason }) };
    context.record({ kind: "goal", data });
    return `Goal ${id} is ${status}.`;
  },
};
