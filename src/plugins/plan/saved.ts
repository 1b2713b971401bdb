// What a task has saved for itself: its plan, notes and goals, as its records fold. It holds through turns, compactions and
// restarts. Ids are given once and never again.
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { GAP } from "../../core/messages.ts";
import type { PluginRecord, Reducer } from "../../core/state.ts";

export const statuses = ["open", "in_progress", "blocked", "done"] as const;
export const Status = Type.Unsafe<(typeof statuses)[number]>(Type.Union(statuses.map((each) => Type.Literal(each))));
export type Status = Static<typeof Status>;

export interface PlanStep {
  readonly id: string;
  readonly status: Status;
  readonly text: string;
}

export interface Goal {
  readonly id: string;
  readonly status: Status;
  readonly text: string;
  /** Why it is blocked, or how it was reached. */
  readonly reason?: string;
}

export interface Note {
  readonly id: string;
  readonly text: string;
}

/** Which leg of which turn: the seq of the event that opened the turn, and the leg's number in it. */
export interface Leg {
  readonly turn: number;
  readonly leg: number;
}

export interface Saved {
  /** 0 while there is no plan; each update raises it by one. */
  readonly version: number;
  readonly steps: readonly PlanStep[];
  readonly goals: readonly Goal[];
  readonly notes: readonly Note[];
  /** The number of the next new id of each kind. */
  readonly next: { readonly s: number; readonly g: number; readonly n: number };
  /** A goal or a step was added or changed its status in this leg. */
  readonly progress: boolean;
  /** Where in the conversation it was last put before the model, and for which leg. */
  readonly shown?: Leg & { readonly seq: number; readonly erased?: true };
  /** What has changed since then: `plan`, or the id of a note or goal. */
  readonly changed: readonly string[];
}

// The records. `v` 1 of every kind; a later version must go on reading these.
const id = Type.String();
const PlanRecord = Type.Object({
  version: Type.Integer(),
  steps: Type.Array(Type.Object({ id, status: Status })),
  /** In the order of the steps. */
  texts: Type.Optional(Type.Array(Type.String())),
});
const NoteRecord = Type.Object({ id, text: Type.Optional(Type.String()) });
const GoalRecord = Type.Object({
  id,
  status: Status,
  text: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String()),
});
const ShownRecord = Type.Object({ turn: Type.Integer(), leg: Type.Integer(), begins: Type.Boolean() });
const Erased = Type.Object({ seqs: Type.Array(Type.Integer()) });

export type PlanRecord = Static<typeof PlanRecord>;
export type GoalRecord = Static<typeof GoalRecord>;
export type ShownRecord = Static<typeof ShownRecord>;

/** Per kind its version and skeleton. The words are content; a redaction leaves gaps in their place. */
export const records = {
  plan: { v: 1, skeleton: ["version", "steps"] },
  note: { v: 1, skeleton: ["id"] },
  note_deleted: { v: 1, skeleton: ["id"] },
  goal: { v: 1, skeleton: ["id", "status"] },
  shown: { v: 1, skeleton: ["turn", "leg", "begins"] },
} as const;

const forms = {
  plan: Compile(PlanRecord),
  note: Compile(NoteRecord),
  goal: Compile(GoalRecord),
  shown: Compile(ShownRecord),
  erased: Compile(Erased),
};

export const nothing: Saved = {
  version: 0,
  steps: [],
  goals: [],
  notes: [],
  next: { s: 1, g: 1, n: 1 },
  progress: false,
  changed: [],
};

/** The number after that of an id which this plugin gave. */
const after = (next: number, given: string): number => {
  const number = Number(/^[sgn](\d{1,15})$/.exec(given)?.[1] ?? 0);
  return Math.max(next, number + 1);
};

const withChanged = (saved: Saved, name: string): readonly string[] => [
  ...saved.changed.filter((each) => each !== name),
  name,
];

/** Puts an entry in the place of the one with its id, or at the end. */
const put = <T extends { readonly id: string }>(entries: readonly T[], entry: T): T[] =>
  entries.some((each) => each.id === entry.id)
    ? entries.map((each) => (each.id === entry.id ? entry : each))
    : [...entries, entry];

const moved = (before: readonly PlanStep[], after: PlanRecord["steps"]): boolean =>
  after.some((step) => before.find((each) => each.id === step.id)?.status !== step.status);

/** Takes the next version and no other: of two updates of one version, the second is none. */
const plan = (saved: Saved, record: PlanRecord): Saved => {
  if (record.version !== saved.version + 1) return saved;
  return {
    ...saved,
    version: record.version,
    steps: record.steps.map((step, index) => ({
      id: step.id,
      status: step.status,
      text: record.texts?.[index] ?? GAP,
    })),
    next: { ...saved.next, s: record.steps.reduce((next, step) => after(next, step.id), saved.next.s) },
    progress: saved.progress || moved(saved.steps, record.steps),
    changed: withChanged(saved, "plan"),
  };
};

const goal = (saved: Saved, record: GoalRecord): Saved => {
  const { id, status, text = GAP, reason } = record;
  const before = saved.goals.find((each) => each.id === id);
  return {
    ...saved,
    goals: put<Goal>(saved.goals, { id, status, text, ...(reason === undefined ? {} : { reason }) }),
    next: { ...saved.next, g: after(saved.next.g, id) },
    progress: saved.progress || before?.status !== status,
    changed: withChanged(saved, id),
  };
};

const note = (saved: Saved, { id, text = GAP }: Static<typeof NoteRecord>): Saved => ({
  ...saved,
  notes: put<Note>(saved.notes, { id, text }),
  next: { ...saved.next, n: after(saved.next.n, id) },
  changed: withChanged(saved, id),
});

const noteDeleted = (saved: Saved, { id }: Static<typeof NoteRecord>): Saved => ({
  ...saved,
  notes: saved.notes.filter((each) => each.id !== id),
  next: { ...saved.next, n: after(saved.next.n, id) },
  changed: withChanged(saved, id),
});

const shown = (saved: Saved, { turn, leg, begins }: ShownRecord, seq: number): Saved => ({
  ...saved,
  progress: saved.progress && !begins,
  shown: { turn, leg, seq },
  changed: [],
});

/** Words that were taken out of the conversation are not put back into it. */
const erased = (saved: Saved, { seqs }: Static<typeof Erased>): Saved =>
  saved.shown !== undefined && seqs.includes(saved.shown.seq)
    ? { ...saved, shown: { ...saved.shown, erased: true } }
    : saved;

const fold = (saved: Saved, { extension, kind, data, seq }: PluginRecord): Saved => {
  if (extension === "core") return kind === "erased" && forms.erased.Check(data) ? erased(saved, data) : saved;
  if (kind === "plan" && forms.plan.Check(data)) return plan(saved, data);
  if (kind === "goal" && forms.goal.Check(data)) return goal(saved, data);
  if (kind === "note" && forms.note.Check(data)) return note(saved, data);
  if (kind === "note_deleted" && forms.note.Check(data)) return noteDeleted(saved, data);
  if (kind === "shown" && forms.shown.Check(data)) return shown(saved, data, seq);
  return saved;
};

/** A record that it cannot read says nothing. */
export const reducer: Reducer = {
  initial: (): Saved => nothing,
  reduce: (state, record) => fold(state as Saved, record),
};
