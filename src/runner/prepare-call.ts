// What stands between a call and its announcement: is there such a tool, do the hooks allow it, does the input fit, and has
// whoever must decide approved it.
import type { Event } from "../core/events.ts";
import type { Call } from "../core/state.ts";
import type { PreparedTool, TaskView } from "../plugins/plugin.ts";
import { approvalOf, type Asked } from "./ask-approval.ts";
import type { Made } from "./outliving.ts";
import { pluginRecord } from "./records.ts";
import { finished } from "./results.ts";
import { stateOf, type Run } from "./run.ts";

/** Refused calls end here, before anything was dispatched; others wait for a decision. */
export type Ready =
  | {
      readonly ok: true;
      readonly call: Call;
      readonly prepared: PreparedTool;
      readonly input: unknown;
      /** Recorded ahead of the announcement, in the same append. */
      readonly before: readonly Event[];
    }
  | { readonly ok: false; readonly events: readonly Event[] };

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
  events: [finished(call.id, status, message)],
});

type Heard = { readonly denied: string } | { readonly input: unknown; readonly asks: readonly Asked[] };

/** What the hooks say of a call, and the input as they leave it. */
const hear = async (run: Run, call: Call, { tool }: PreparedTool): Promise<Heard> => {
  let input = call.input;
  const asks: Asked[] = [];
  for (const plugin of run.agent.agent.plugins) {
    const hook = plugin.hooks?.beforeTool;
    if (hook === undefined) continue;
    const seen = { callId: call.id, name: call.name, effect: tool.effect, input };
    const verdict = await hook(seen, viewFor(run, plugin, { derived: true }));
    if (verdict.verdict === "deny") return { denied: verdict.reason };
    if (verdict.verdict === "rewrite") input = JSON.parse(JSON.stringify(verdict.input)) as unknown;
    if (verdict.verdict === "ask") asks.push(verdict);
  }
  return { input, asks };
};

export const prepareCall = async (run: Run, call: Call): Promise<Ready> => {
  const prepared = run.agent.tools.get(call.name);
  if (prepared === undefined) return refuse(call, "error", `There is no tool named ${call.name}. It was not run.`);
  const heard = await hear(run, call, prepared);
  if ("denied" in heard) return refuse(call, "denied", `Denied: ${heard.denied} It was not run.`);
  const { input, asks } = heard;
  const checked = await prepared.checkInput(input);
  if (!checked.ok) return refuse(call, "error", `The input does not fit the tool's schema: ${checked.message}`);
  const approval = approvalOf(run, { call, prepared, input, value: checked.value, asks });
  if (approval.verdict === "deny") return refuse(call, "denied", "Denied by policy. It was not run.");
  if (approval.verdict === "ask") return { ok: false, events: approval.events };
  // The log holds the input as it was given: what a schema makes of it may not be JSON, and is made again at dispatch.
  return { ok: true, call, prepared, input, before: approval.events };
};
