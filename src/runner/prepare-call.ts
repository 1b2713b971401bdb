// What stands between a call and its announcement: is there such a tool, do the hooks allow it, does the input fit.
import type { EventOf } from "../core/events.ts";
import type { Call } from "../core/state.ts";
import type { PreparedTool, TaskView } from "../plugins/plugin.ts";
import type { Made } from "./journal.ts";
import { pluginRecord } from "./records.ts";
import { finished } from "./results.ts";
import { stateOf, type Run } from "./run.ts";

/** Refused calls end here, before anything was dispatched. */
export type Ready =
  | { readonly ok: true; readonly call: Call; readonly prepared: PreparedTool; readonly input: unknown }
  | { readonly ok: false; readonly result: EventOf<"ToolFinished"> };

/**
 * The view hooks get of the task; what they record joins the next append. `derived`: the hook is asked again when the
 * log is redacted before that append, so that what it recorded is dropped then (see Journal).
 */
export const viewFor = (
  run: Run,
  plugin: PreparedTool["plugin"],
  { derived, quotes = null }: { readonly derived: boolean; readonly quotes?: number | null },
): TaskView => {
  const state = stateOf(run);
  const { revision } = run.journal;
  const made: Made = { quotes };
  return {
    taskId: run.claim.taskId,
    get state() {
      made.quotes ??= revision;
      return state;
    },
    record: (record) => {
      const event = pluginRecord(plugin, record);
      if (derived) run.journal.addDerived(event);
      else run.journal.addMade(made, null, [event]);
    },
  };
};

const refuse = (call: Call, status: "error" | "denied", message: string): Ready => ({
  ok: false,
  result: finished(call.id, status, message),
});

export const prepareCall = async (run: Run, call: Call): Promise<Ready> => {
  const prepared = run.agent.tools.get(call.name);
  if (prepared === undefined) return refuse(call, "error", `There is no tool named ${call.name}. It was not run.`);
  let input = call.input;
  for (const plugin of run.agent.agent.plugins) {
    const hook = plugin.hooks?.beforeTool;
    if (hook === undefined) continue;
    const seen = { callId: call.id, name: call.name, effect: prepared.tool.effect, input };
    const verdict = await hook(seen, viewFor(run, plugin, { derived: true }));
    if (verdict.verdict === "deny") return refuse(call, "denied", `Denied: ${verdict.reason} It was not run.`);
    if (verdict.verdict === "rewrite") input = JSON.parse(JSON.stringify(verdict.input)) as unknown;
  }
  const checked = await prepared.checkInput(input);
  if (!checked.ok) return refuse(call, "error", `The input does not fit the tool's schema: ${checked.message}`);
  // The log holds the input as it was given: what a schema makes of it may not be JSON, and is made again at dispatch.
  return { ok: true, call, prepared, input };
};
