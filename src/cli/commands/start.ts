// perdure start: a first task that needs nothing: the demo model, and a file that is part of this package.
import { fileURLToPath } from "node:url";
import { createTask } from "../../client/create-task.ts";
import { defineCommand } from "../command.ts";
import { workAndReport } from "../post-and-work.ts";
import { openSession } from "../session.ts";
import { openWorkshop } from "../workshop.ts";
import { DEFAULT_MODEL } from "../models.ts";
import { requestOf } from "./run.ts";

const packageFolder = fileURLToPath(new URL("../../../", import.meta.url));
const FILE = "package.json";

export const start = defineCommand({
  name: "start",
  summary: "a first task, to see how it goes: no key, no configuration",
  words: {},
  options: {},
  notes: "The demo model answers; it is no language model, and says so.",
  perform: async (program, { options }) => {
    const { output } = program;
    await using session = await openSession(program, options, { create: true });
    const workshop = await openWorkshop(program, session);
    const settings = { ...session.settings, workspace: packageFolder, model: DEFAULT_MODEL };
    const objective = `what is in ${FILE}?`;
    const request = requestOf({ ...session, settings }, workshop, objective);
    await workshop.addModel(DEFAULT_MODEL);
    const { taskId } = await createTask(session.client, request);
    if (options.json !== true) output.print(`> ${objective}\n`);
    const exitCode = await workAndReport(program, session, workshop, { taskId, after: 0, json: options.json === true });
    const same = session.sameOptions;
    output.tell(
      [
        "",
        `Every step of it is in the log, in ${session.store.name}:`,
        `  perdure log ${taskId}${same}`,
        "Then try:",
        `  perdure show ${taskId}${same}`,
        `  perdure say ${taskId} "list the files"${same}`,
        `  perdure run "what is in README.md?"${same}`,
        "In a clone that is not installed, npx perdure stands for perdure.",
      ].join("\n"),
    );
    return exitCode;
  },
});
