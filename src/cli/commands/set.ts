// perdure set: other settings for a task, from its next step on: a model that is to be had, other limits.
import { Compile } from "typebox/compile";
import { SettingsChange } from "../../core/items.ts";
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { postAndWork } from "../post-and-work.ts";

const text = (value: string): unknown => value;
const number = (value: string): unknown => (value.trim() === "" ? value : Number(value));

/** What may be changed of a task that is under way, and how it is read. */
const changeable: Readonly<Record<string, (value: string) => unknown>> = {
  model: text,
  maxSteps: number,
  maxLegs: number,
  maxOutputTokens: number,
  contextTokens: number,
  temperature: number,
  modelAttempts: number,
  approvalExpiryMs: number,
  queue: text,
  priority: number,
};

const schema = Compile(SettingsChange);

/** Throws UsageError for a change that is none, or that the setting cannot have. */
const settingsOf = (changes: readonly string[]): SettingsChange => {
  const settings: Record<string, unknown> = {};
  for (const change of changes) {
    const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(change) ?? [];
    const read = Object.hasOwn(changeable, key) ? changeable[key] : undefined;
    if (read === undefined) {
      const known = Object.keys(changeable).join(", ");
      throw new UsageError(`set takes setting=value, not ${JSON.stringify(change)}; settings are ${known}`);
    }
    if (Object.hasOwn(settings, key)) throw new UsageError(`set takes ${key} once`);
    settings[key] = read(value);
    if (value === "" || !schema.Check(settings)) {
      throw new UsageError(
        `${key} cannot be ${JSON.stringify(value)}: ${schema.Errors(settings)[0]?.message ?? "empty"}`,
      );
    }
  }
  return settings as SettingsChange;
};

export const set = defineCommand({
  name: "set",
  summary: "change a task's model, limits, queue or priority, from its next step on",
  words: { task: "required", change: "several" },
  options: workOptions,
  notes: [
    `change: setting=value, with ${Object.keys(changeable).join(", ")}.`,
    "It is the owner's alone, and stands in the log as core/config. A task that has stopped goes on with perdure resume.",
  ].join("\n"),
  perform: (program, { options, words: { task, change } }) => {
    const settings = settingsOf(change);
    const { model } = settings;
    const item = { type: "Reconfigure", settings } as const;
    const more = model === undefined ? {} : { model };
    return postAndWork(program, options, task, { item, needsModel: model !== undefined, ...more });
  },
});
