// perdure say: words to a task; they open its next turn, or join the one that runs.
import { fileOption, readAttachments } from "../attachments.ts";
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { postAndWork } from "../post-and-work.ts";

export const say = defineCommand({
  name: "say",
  summary: "say something to a task, and work it to its next wait",
  words: { task: "required", text: "required" },
  options: {
    key: { type: "string", value: "KEY", about: "the same key again says it once, not twice" },
    file: fileOption,
    ...workOptions,
  },
  notes: "A task of mode run takes the words along at its next perdure resume.",
  perform: (program, { options, words: { task, text } }) => {
    if (text.trim() === "") throw new UsageError("say needs a text that says something");
    const { key } = options;
    const item = { type: "Say", text } as const;
    const files = readAttachments(program.cwd, options.file);
    const keyed = key === undefined ? {} : { key };
    return postAndWork(program, options, task, { item, ...keyed, files, needsModel: true });
  },
});
