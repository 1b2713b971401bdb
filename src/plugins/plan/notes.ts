// note_add, note_edit, note_delete and note_list: what a task wants to remember through its turns.
import { Type } from "typebox";
import { NothingHappened, type ToolContext, type TypedTool } from "../plugin.ts";
import type { Saved } from "./saved.ts";
import { wholeLines } from "./words.ts";

const strict = { additionalProperties: false };
const words = Type.String({ description: "The note, in words that stand by themselves." });
const id = Type.String({ description: "The note's id, such as n1." });

const Added = Type.Object({ text: words }, strict);
const Edited = Type.Object({ id, text: words }, strict);
const Deleted = Type.Object({ id }, strict);
const Listed = Type.Object({}, strict);

const requireWords = (text: string): void => {
  if (text.trim() === "") throw new NothingHappened("The note is empty. Nothing was saved.");
};

const requireNote = (context: ToolContext, given: string): void => {
  const { notes } = context.state as Saved;
  if (notes.some((note) => note.id === given)) return;
  const known = notes.length === 0 ? "it has none" : `it has ${notes.map((note) => note.id).join(", ")}`;
  throw new NothingHappened(`This task has no note ${given}; ${known}. Nothing was changed.`);
};

export const noteAdd: TypedTool<typeof Added> = {
  name: "note_add",
  description:
    "Saves a note for the rest of this task: a fact, a decision, where something is. Shown again in each turn.",
  inputSchema: Added,
  effect: "internal",
  execute: ({ text }, context) => {
    requireWords(text);
    const given = `n${String((context.state as Saved).next.n)}`;
    context.record({ kind: "note", data: { id: given, text } });
    return `Saved as note ${given}.`;
  },
};

export const noteEdit: TypedTool<typeof Edited> = {
  name: "note_edit",
  description: "Replaces the text of a note of this task.",
  inputSchema: Edited,
  effect: "internal",
  execute: ({ id: given, text }, context) => {
    requireWords(text);
    requireNote(context, given);
    context.record({ kind: "note", data: { id: given, text } });
    return `Note ${given} is changed.`;
  },
};

export const noteDelete: TypedTool<typeof Deleted> = {
  name: "note_delete",
  description: "Deletes a note of this task that is no longer of use.",
  inputSchema: Deleted,
  effect: "internal",
  execute: ({ id: given }, context) => {
    requireNote(context, given);
    context.record({ kind: "note_deleted", data: { id: given } });
    return `Note ${given} is deleted.`;
  },
};

export const noteList: TypedTool<typeof Listed> = {
  name: "note_list",
  description: "Shows the plan, the goals and the notes of this task, and of no other.",
  inputSchema: Listed,
  effect: "internal",
  execute: (_, context) => {
    const saved = context.state as Saved;
    const { version, steps, goals, notes } = saved;
    return { content: wholeLines(saved).join("\n"), details: { plan: { version, steps }, goals, notes } };
  },
};
