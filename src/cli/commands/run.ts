// perdure run: a new task, worked to its first wait.
import { realpathSync, statSync } from "node:fs";
import { createTask, type TaskRequest } from "../../client/create-task.ts";
import type { ProgramSettings } from "../../config/settings.ts";
import { fileOption, readAttachments } from "../attachments.ts";
import { chooseAgent } from "../agents.ts";
import { defineCommand, UsageError, workOptions, type Options } from "../command.ts";
import { workAndReport } from "../post-and-work.ts";
import { createSession, loadSettings } from "../session.ts";
import { openWorkshop, type Workshop } from "../workshop.ts";

const realFolder = (path: string): string => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) throw new UsageError(`the workspace ${path} is not a folder`);
  return realpathSync(path);
};

/** What the task runs as: the agent's settings, and over them those of the command line and the environment. */
export const requestOf = (settings: ProgramSettings, workshop: Workshop, objective: string): TaskRequest => {
  const { agent } = chooseAgent(workshop.agents, settings.agent);
  const { host } = workshop;
  return {
    agent: agent.name,
    objective,
    settings: {
      ...agent.settings,
      ...(settings.model === undefined ? {} : { model: settings.model }),
      ...(settings.maxSteps === undefined ? {} : { maxSteps: settings.maxSteps }),
      ...(settings.queue === undefined ? {} : { queue: settings.queue }),
      ...(settings.priority === undefined ? {} : { priority: settings.priority }),
      workspace: { host, path: realFolder(settings.workspace) },
    },
    mode: settings.mode ?? agent.mode,
    onInterrupt: settings.onInterrupt ?? agent.onInterrupt,
  };
};

/** What a new task runs as. */
export const agentOptions = {
  agent: {
    type: "string",
    value: "NAME",
    about: "the agent; default the configuration's, or one that works on files",
  },
  model: { type: "string", value: "NAME", about: "a configured model, scripted:FILE, demo, or PROVIDER/MODEL" },
  mode: { type: "string", value: "MODE", about: "conversation (default), run or oneShot" },
  workspace: { type: "string", value: "FOLDER", about: "where tools work; default this folder" },
  "max-steps": { type: "string", value: "N", about: "pause after so many steps of a turn" },
  queue: { type: "string", value: "NAME", about: "the queue that workers find it in; default: default" },
  priority: { type: "string", value: "N", about: "a higher one is worked first; default 0" },
  "on-interrupt": { type: "string", value: "WHAT", about: "continue (default) or pause after a stop in mid-turn" },
} as const satisfies Options;

export const run = defineCommand({
  name: "run",
  summary: "start a task and work it to its first wait",
  words: { objective: "required" },
  options: {
    ...agentOptions,
    key: { type: "string", value: "KEY", about: "the same key again means the same task, not a second one" },
    file: fileOption,
    ...workOptions,
  },
  notes: [
    "The answer goes to stdout, all else to stderr. Ctrl-C stops after the step under way and gives the task back;",
    "perdure resume <task> goes on with it, also after a crash.",
  ].join("\n"),
  perform: async (program, { options, words: { objective } }) => {
    if (objective.trim() === "") throw new UsageError("run needs an objective that says something");
    const { output } = program;
    const given = await loadSettings(program, options);
    const workshop = await openWorkshop(program, given);
    const request = requestOf(given.settings, workshop, objective);
    const files = readAttachments(program.cwd, options.file);
    await workshop.addModel(request.settings.model);
    await using session = await createSession(program, options, given);
    const { key } = options;
    const receipt = await createTask(session.client, { ...request, files, ...(key === undefined ? {} : { key }) });
    const { taskId } = receipt;
    if (receipt.duplicate) output.tell(`the key ${key ?? ""} has a task already: ${taskId}`);
    output.progress(`task ${taskId}`);
    const json = options.json === true;
    if (options["no-wait"] === true) {
      if (json) output.json(receipt);
      else output.print(taskId);
      return 0;
    }
    return await workAndReport(program, session, workshop, { taskId, after: 0, json });
  },
});
