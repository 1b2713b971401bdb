// perdure collaborator: who else may steer a task.
import { principalOf } from "../../config/settings.ts";
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { exitCodeOnceStopped, postAndWork } from "../post-and-work.ts";

const changes = ["add", "remove"] as const;

export const collaborator = defineCommand({
  name: "collaborator",
  summary: "let another steer a public task of yours, or no longer: add or remove",
  words: { change: "required", task: "required", principal: "required" },
  options: workOptions,
  notes: [
    "principal: kind:id, or the name of a user of this system, who may act in the task's place. They may steer, and nothing",
    "else: they see neither the log nor where the task stands. After a correction of theirs every later change needs your",
    "approval. A private task takes none; a move to another place (perdure handoff) dismisses them.",
  ].join("\n"),
  perform: (program, { options, words }) => {
    const change = changes.find((each) => each === words.change);
    if (change === undefined)
      throw new UsageError(`collaborator takes add or remove, not ${JSON.stringify(words.change)}`);
    const principal = principalOf({ text: words.principal, from: "principal" });
    const item = { type: "Collaborate", principal, change } as const;
    return postAndWork(program, options, words.task, { item, needsModel: false, exitCode: exitCodeOnceStopped });
  },
});
