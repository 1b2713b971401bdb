// How what is saved comes before the model: whole once per leg, later changes at the tail, so that what was sent stays as
// it was; and what begins another leg while goals are open.
import { text } from "../../core/messages.ts";
import type { TaskState, Turn } from "../../core/state.ts";
import type { NewRecord, Plugin } from "../plugin.ts";
import { nothing, type Saved, type ShownRecord } from "./saved.ts";
import { ORIGIN, changedLines, contextLines, isEmpty } from "./words.ts";

const savedOf = (state: TaskState): Saved =>
  Object.hasOwn(state.plugins, "plan") ? (state.plugins["plan"] as Saved) : nothing;

const shownRecord = (data: ShownRecord, lines: readonly string[]): NewRecord => ({
  kind: "shown",
  data,
  message: [text([ORIGIN, ...lines].join("\n"))],
});

/** It stands in the conversation still: a compaction takes it out, and then it is shown anew. */
const stands = (state: TaskState, { shown }: Saved, turn: Turn): boolean =>
  shown?.turn === turn.seq &&
  shown.leg === turn.legs &&
  (shown.erased === true || state.messages.some((message) => message.seq === shown.seq));

export const reminders = (state: TaskState): readonly NewRecord[] => {
  const saved = savedOf(state);
  const { turn } = state;
  if (turn === undefined) return [];
  const begins = turn.steps === turn.legSteps;
  const data = { turn: turn.seq, leg: turn.legs, begins };
  if (stands(state, saved, turn)) {
    return saved.changed.length === 0 ? [] : [shownRecord({ ...data, begins: false }, changedLines(saved))];
  }
  // Saved for the first time in the middle of a leg: all of it is a change.
  if (isEmpty(saved)) return [];
  return [shownRecord(data, contextLines(saved))];
};

const NEXT_LEG = [
  "Your answer left goals that are not done, so the turn goes on. Work on them now.",
  "Set a goal to done once it is reached, or to blocked with the reason if it cannot go on without somebody.",
  "Answer when none is left.",
].join(" ");

export const nextLeg = (state: TaskState): NewRecord => {
  const { seq = 0, legs = 0 } = state.turn ?? {};
  const data = { turn: seq, leg: legs + 1, begins: true };
  return shownRecord(data, [NEXT_LEG, ...contextLines(savedOf(state))]);
};

export const goals: NonNullable<Plugin["goals"]> = (state) => {
  const { goals: all, progress } = state as Saved;
  const open = all.filter(({ status }) => status !== "done");
  return { open: open.length, blocked: open.filter(({ status }) => status === "blocked").length, progress };
};
