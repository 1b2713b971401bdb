// First pickup: what the task runs as is recorded before its first step, so that any worker sends the same bytes.
// A pickup that finds other versions or sources of the same plugins records them again.
import type { Event } from "../core/events.ts";
import type { Pin } from "../core/records.ts";
import { isEqualJson } from "../core/equal.ts";
import type { PreparedAgent } from "../plugins/plugin.ts";
import type { Definition } from "../store/store.ts";
import { coreRecord } from "./records.ts";
import { stateOf, type Run } from "./run.ts";

const promptsOf = ({ agent }: PreparedAgent): Event => {
  const parts = agent.plugins.flatMap((plugin) =>
    plugin.part === undefined ? [] : [{ plugin: plugin.name, text: plugin.part }],
  );
  parts.sort((a, b) => (a.plugin < b.plugin ? -1 : 1));
  return coreRecord("prompts", { identity: agent.identity, system: agent.system, parts });
};

/** Records prompts once, and pins and tools whenever they are not those recorded; the next commit takes them along. */
export const pickUp = (run: Run): void => {
  const state = stateOf(run);
  const { agent } = run;
  const tools = [...agent.tools.values()].map((prepared) => prepared.entry);
  const pins = [...agent.pins].sort((a: Pin, b: Pin) => (a.name < b.name ? -1 : 1));
  const asRecorded = isEqualJson([state.pins, state.tools], [pins, tools]);
  if (state.prompts !== undefined && asRecorded) return;
  // Before anything is added: the journal folds what it is given into this very state.
  const known = new Set(state.tools.map((tool) => tool.definition));
  if (state.prompts === undefined) run.journal.add(promptsOf(agent));
  if (!asRecorded || state.pins.length === 0) run.journal.add(coreRecord("plugins", { pins, tools }));
  const definitions = [...agent.tools.values()]
    .filter((prepared) => !known.has(prepared.entry.definition))
    .map((prepared): Definition => ({ hash: prepared.entry.definition, text: prepared.definition }));
  run.journal.define(definitions);
};
