// What the simulated model asks of the plan and ask plugins, and what people find of it in the log.
import type { Event, Recorded } from "../../core/events.ts";
import type { CoreRecord } from "../../core/records.ts";
import type { TaskState } from "../../core/state.ts";
import { nothing, type Saved } from "../../plugins/plan/saved.ts";

export const savedIn = (state: TaskState): Saved => (state.plugins["plan"] as Saved | undefined) ?? nothing;

/** The input of a call of one of these plugins' tools; undefined for any other tool. `value` is its words. */
export const pluginInput = (name: string, value: string, saved: Saved): unknown => {
  const { version, steps, goals, notes } = saved;
  const [goal, note] = [goals.findLast(({ status }) => status !== "done"), notes.at(-1)];
  switch (name) {
    case "ask":
      return { question: value };
    case "plan_update": {
      const kept = steps.slice(-3).map(({ id, text }) => ({ id, text, status: "done" }));
      return { expected_version: version, steps: [...kept, { text: value, status: "open" }] };
    }
    case "goal_set":
      return { text: value };
    case "goal_update":
      return { id: goal?.id ?? "g1", status: "in_progress", reason: value };
    case "note_add":
      return { text: value };
    case "note_delete":
      return { id: note?.id ?? "n1" };
    default:
      return undefined;
  }
};

/** Calls that reach every goal that is left: a script that is over must not leave its task in mid-turn for ever. */
export const closingCalls = ({ goals }: Saved): { readonly name: string; readonly input: unknown }[] =>
  goals
    .filter(({ status }) => status !== "done")
    .map(({ id }) => ({ name: "goal_update", input: { id, status: "done" } }));

const parkedBy = (event: Event): string | null =>
  event.type === "ExtensionRecorded" && event.extension === "core" && event.kind === "call_parked"
    ? (event.data as CoreRecord<"call_parked">).callId
    : null;

/** Ids of the questions that were asked, and of those that have their result. */
export const questionsIn = (log: readonly Recorded[]): { readonly open: string[]; readonly closed: string[] } => {
  const asked = new Set(log.flatMap(({ event }) => parkedBy(event) ?? []));
  const finished = new Set(log.flatMap(({ event }) => (event.type === "ToolFinished" ? event.callId : [])));
  return {
    open: [...asked].filter((id) => !finished.has(id)),
    closed: [...asked].filter((id) => finished.has(id)),
  };
};

/** What a person answers: it names the question, so that it is seen when it reaches another. */
export const answerText = (question: string, word: string): string => `answer to ${question} ${word}`;
