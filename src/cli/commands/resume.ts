// perdure resume: goes on with a task that stopped, for whatever reason.
import { post } from "../../client/post.ts";
import { readLog } from "../../client/read-log.ts";
import { showTask, type TaskView } from "../../client/show-task.ts";
import { defineCommand, workOptions } from "../command.ts";
import { CommandError } from "../failure.ts";
import { addModelOf, postTo, workAndReport } from "../post-and-work.ts";
import type { Program } from "../program.ts";
import { exitCodeFor, report } from "../report.ts";
import { openSession, type Session } from "../session.ts";
import { workToRest } from "../work.ts";
import { openWorkshop } from "../workshop.ts";

/** It has something to do without anything being posted: its process died or was stopped. */
const isMidTurn = ({ status, untaken }: TaskView): boolean => status === "ready" || status === "running" || untaken > 0;

/** What a person resumes a task with. */
const resumeItem = (text: string | undefined) => ({ type: "Resume", ...(text === undefined ? {} : { text }) }) as const;

/**
 * Works a task that stands in mid-turn. One that pauses when it is interrupted says so first; that is what whoever
 * resumes it has come for, so the resume follows, unless something became unknown.
 */
const goOn = async (
  program: Program,
  session: Session,
  view: TaskView,
  { text, json }: { readonly text: string | undefined; readonly json: boolean },
): Promise<number> => {
  const { taskId, lastSeq: after } = view;
  if (text !== undefined && view.onInterrupt === "continue") {
    throw new CommandError(`task ${taskId} is in the middle of a turn and goes on by itself: use say for words to it`);
  }
  const workshop = await openWorkshop(program, session);
  await addModelOf(workshop, session, view, true);
  const stopped = await workToRest(program, session, workshop, taskId);
  const events = await readLog(session.client, taskId, after);
  const interrupted = events.some(({ event }) => event.type === "ExtensionRecorded" && event.kind === "interrupted");
  const { waitingOn, restored } = await showTask(session.client, taskId);
  // Of a restore its person is told before anything goes on.
  if (stopped === null && interrupted && waitingOn === "resume" && restored?.isNew !== true) {
    await post(session.client, { taskId, item: resumeItem(text) });
    return workAndReport(program, session, workshop, { taskId, after, json });
  }
  const now = await report(program, session, { taskId, after, json, stopped: stopped !== null });
  return stopped ?? exitCodeFor(now);
};

export const resume = defineCommand({
  name: "resume",
  summary: "go on with a task that stopped, also after a crash",
  words: { task: "required", text: "optional" },
  options: workOptions,
  notes: [
    "A task in the middle of a turn (its process was killed or stopped) is worked on from where it stands: nothing that",
    "was done is done twice, and a write that was under way is verified or becomes unknown. A paused, failed or",
    "cancelled turn goes on; a completed one is opened again. While an action is unknown or an approval is pending,",
    "nothing can be resumed. A task of a database that was restored pauses once before it goes on, and says so.",
  ].join("\n"),
  perform: async (program, { options, words: { task, text } }) => {
    await using session = await openSession(program, options);
    const view = await showTask(session.client, task);
    if (isMidTurn(view) && options["no-wait"] !== true) {
      return await goOn(program, session, view, { text, json: options.json === true });
    }
    return await postTo(program, session, options, view, { item: resumeItem(text), needsModel: true });
  },
});
