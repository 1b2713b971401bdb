// perdure start: a first task that needs nothing: the demo model, and a file that is part of this package. In a terminal it
// is a chat that begins with a question; without one it answers that question and says what to try next.
import { fileURLToPath } from "node:url";
import { createTask } from "../../client/create-task.ts";
import { showTask } from "../../client/show-task.ts";
import { defineCommand, singleOption } from "../command.ts";
import { DEFAULT_MODEL } from "../../models.ts";
import { exitCodeFor, standing } from "../report.ts";
import { createSession, loadSettings, type Session } from "../session.ts";
import { lockWhereAsked } from "../single.ts";
import { workToRest } from "../work.ts";
import { openWorkshop } from "../workshop.ts";
import { canDraw, talk } from "./chat.ts";
import { requestOf } from "./run.ts";

const packageFolder = fileURLToPath(new URL("../../../", import.meta.url));
const FILE = "README.md";

const nextSteps = ({ again, store }: Session, taskId: string): string[] => [
  "",
  `Every step of it is in the log, in ${store.name}:`,
  `  ${again(`log ${taskId}`)}`,
  "Then try:",
  `  ${again(`show ${taskId}`)}`,
  `  ${again(`say ${taskId} "list the files"`)}`,
  `  ${again('run "write hello to hello.txt"')}`,
];

export const start = defineCommand({
  name: "start",
  summary: "a first task, to see how it goes: no key, no configuration",
  words: {},
  options: { single: singleOption },
  notes: "The demo model answers; it is no language model, and says so.",
  perform: async (program, { options }) => {
    const { output } = program;
    const given = await loadSettings(program, options);
    const workshop = await openWorkshop(program, given);
    const settings = { ...given.settings, workspace: packageFolder, model: DEFAULT_MODEL };
    const objective = `what is in ${FILE}?`;
    const request = requestOf(settings, workshop, objective);
    await workshop.addModel(DEFAULT_MODEL);
    await using _lock = await lockWhereAsked(given, options);
    await using session = await createSession(program, options, given);
    if (options.json !== true && canDraw(program, options)) {
      const later = (words: string) => requestOf(settings, workshop, words);
      return await talk(program, options, { session, workshop, request: later }, objective);
    }
    const { taskId } = await createTask(session.client, request);
    if (options.json !== true) output.print(`> ${objective}\n`);
    const stopped = await workToRest(program, session, workshop, taskId);
    const view = await showTask(session.client, taskId);
    if (options.json === true) output.json(view);
    else if (view.answer !== null) output.print(view.answer);
    const next = view.outcome === "completed" ? nextSteps(session, taskId) : standing(view, session.again);
    for (const line of next) output.tell(line);
    return stopped ?? exitCodeFor(view);
  },
});
