// perdure set: changes settings of a task, from its next step on.
import { loadSettings } from "../session.ts";
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { postAndWork } from "../post-and-work.ts";

const named = ["model", "max-steps", "queue", "priority"] as const;

export const set = defineCommand({
  name: "set",
  summary: "change a task's queue, priority, model or limits",
  words: { task: "required" },
  options: {
    queue: { type: "string", value: "NAME", about: "the queue that workers find it in" },
    priority: { type: "string", value: "N", about: "a higher one is worked first" },
    model: { type: "string", value: "NAME", about: "a configured model, scripted:FILE or demo" },
    "max-steps": { type: "string", value: "N", about: "pause after so many steps of a turn" },
    ...workOptions,
  },
  notes: "The change is an entry of the task's log. It counts once a worker has taken it from the task's inbox.",
  perform: async (program, { options, words: { task } }) => {
    if (named.every((name) => options[name] === undefined)) {
      throw new UsageError(`set needs something to change: ${named.map((name) => `--${name}`).join(", ")}`);
    }
    // Flags alone: what the environment says is for new tasks.
    const { model, maxSteps, queue, priority } = (await loadSettings({ ...program, env: {} }, options)).settings;
    const given = Object.entries({ model, maxSteps, queue, priority }).filter(([, value]) => value !== undefined);
    const item = { type: "Reconfigure", settings: Object.fromEntries(given) } as const;
    return postAndWork(program, options, task, { item, needsModel: false });
  },
});
