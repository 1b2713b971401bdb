// The `plan` plugin: a task's own plan, notes and goals. They are context for the model and can grant nothing.
import type { Plugin } from "../plugin.ts";
import { goals, nextLeg, reminders } from "./context.ts";
import { goalSet, goalUpdate } from "./goals.ts";
import { noteAdd, noteDelete, noteEdit, noteList } from "./notes.ts";
import { planUpdate } from "./plan-update.ts";
import { records, reducer } from "./saved.ts";

export const plan = (): Plugin => ({
  name: "plan",
  version: "1",
  module: import.meta.url,
  tools: [planUpdate, noteAdd, noteEdit, noteDelete, noteList, goalSet, goalUpdate],
  reducer,
  records,
  reminders,
  goals,
  nextLeg,
});
