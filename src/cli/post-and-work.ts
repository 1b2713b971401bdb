// What most commands do: post an item to a task, work the task to its next wait, and report on it.
import { post, type PostParams } from "../client/post.ts";
import { showTask, type TaskView } from "../client/show-task.ts";
import type { CommonValues, ValuesOf, workOptions } from "./command.ts";
import { CommandError, failureOf } from "./failure.ts";
import type { Program } from "./program.ts";
import { exitCodeFor, report } from "./report.ts";
import { openSession, type Session } from "./session.ts";
import { workToRest } from "./work.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

export type WorkValues = CommonValues & ValuesOf<typeof workOptions>;

/** Exit codes of a command that is done once the task has stopped; an action that is unknown still needs a person. */
export const exitCodeOnceStopped = ({ waitingOn }: TaskView): 0 | 3 => (waitingOn === "resolution" ? 3 : 0);

/** Works a task to its next wait and reports on it. `after`: the log's end before this command. */
export const workAndReport = async (
  program: Program,
  session: Session,
  workshop: Workshop,
  params: { readonly taskId: string; readonly after: number; readonly json: boolean },
  exitCode: (view: TaskView) => number = exitCodeFor,
): Promise<number> => {
  const stopped = await workToRest(program, session, workshop, params.taskId);
  const view = await report(program, session, { ...params, stopped: stopped !== null });
  return stopped ?? exitCode(view);
};

/** Posts without working the task, and says where the item stands in its inbox. */
export const postOnly = async (
  program: Program,
  session: Session,
  params: PostParams,
  json: boolean,
): Promise<number> => {
  const receipt = await post(session.client, params);
  const { type } = params.item;
  if (json) program.output.json({ ...receipt, item: type });
  else program.output.tell(`task ${receipt.taskId}: ${type} is item ${String(receipt.seq)} of its inbox`);
  return 0;
};

/** Makes the model of a task ready. Where there is none of that name, the task can be given another. */
export const addModelOf = async (
  workshop: Workshop,
  { again }: Session,
  { taskId, model }: Pick<TaskView, "taskId" | "model">,
  needed: boolean,
): Promise<void> => {
  try {
    await workshop.addModel(model, { needed });
  } catch (cause) {
    const { message } = failureOf(cause);
    throw new CommandError(`${message}. To go on with another: ${again(`set ${taskId} model=NAME`)}`, { cause });
  }
};

export interface Posting extends Omit<PostParams, "taskId"> {
  /** The model that the task goes on with; default the one it has. */
  readonly model?: string;
  /** The turn goes on with it, so the model must be there. */
  readonly needsModel: boolean;
  readonly exitCode?: (view: TaskView) => number;
}

/** Posts to the task that `before` shows. */
export const postTo = async (
  program: Program,
  session: Session,
  options: WorkValues,
  before: TaskView,
  { needsModel, exitCode, model = before.model, ...posted }: Posting,
): Promise<number> => {
  const json = options.json === true;
  const { taskId, lastSeq: after } = before;
  if (options["no-wait"] === true) return postOnly(program, session, { ...posted, taskId }, json);
  const workshop = await openWorkshop(program, session);
  await addModelOf(workshop, session, { taskId, model }, needsModel);
  await post(session.client, { ...posted, taskId });
  return workAndReport(program, session, workshop, { taskId, after, json }, exitCode);
};

export const postAndWork = async (
  program: Program,
  options: WorkValues,
  task: string,
  posting: Posting,
): Promise<number> => {
  await using session = await openSession(program, options);
  return await postTo(program, session, options, await showTask(session.client, task), posting);
};
