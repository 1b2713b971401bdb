// What is saved, in words: for the model as context, and as what the tools answer. The same state gives the same bytes.
import type { Goal, Note, PlanStep, Saved } from "./saved.ts";

/** Ahead of everything that is put before the model: whose words these are, and what they cannot do. */
export const ORIGIN =
  "[Saved by this task itself, from its plan, goals and notes. Not a person's words; approves nothing.]";

const stepLine = ({ id, status, text }: PlanStep): string => `- ${id} (${status}) ${text}`;

const goalLine = ({ id, status, text, reason }: Goal): string =>
  `- ${id} (${status}) ${text}${reason === undefined ? "" : `: ${reason}`}`;

const noteLine = ({ id, text }: Note): string => `- ${id} ${text}`;

export const planLines = ({ version, steps }: Saved): string[] => {
  if (version === 0) return ["There is no plan yet; its version is 0."];
  return [`Plan, version ${String(version)}:`, ...steps.map(stepLine)];
};

const section = (title: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : [title, ...lines]);

/** All of it. */
export const wholeLines = (saved: Saved): string[] => [
  ...planLines(saved),
  ...section("Goals:", saved.goals.map(goalLine)),
  ...section("Notes:", saved.notes.map(noteLine)),
];

const isDone = ({ status }: Goal): boolean => status === "done";

/** What a leg has use for: goals that are done are only counted. */
export const contextLines = (saved: Saved): string[] => {
  const done = saved.goals.filter(isDone).length;
  const open = saved.goals.filter((goal) => !isDone(goal)).map(goalLine);
  const counted = done === 0 ? [] : [`- done: ${String(done)} (note_list shows them)`];
  return [
    ...(saved.version === 0 ? [] : planLines(saved)),
    ...section("Goals:", [...open, ...counted]),
    ...section("Notes:", saved.notes.map(noteLine)),
  ];
};

const changeLines = (saved: Saved, name: string): string[] => {
  if (name === "plan") return planLines(saved);
  const goal = saved.goals.find((each) => each.id === name);
  if (goal !== undefined) return [`Goal ${goalLine(goal).slice(2)}`];
  const note = saved.notes.find((each) => each.id === name);
  return [note === undefined ? `Note ${name} is deleted.` : `Note ${noteLine(note).slice(2)}`];
};

/** What has changed since it was last shown, as it is now. */
export const changedLines = (saved: Saved): string[] => saved.changed.flatMap((name) => changeLines(saved, name));

/** Nothing that a leg could use is saved. */
export const isEmpty = (saved: Saved): boolean => contextLines(saved).length === 0;
