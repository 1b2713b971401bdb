// Where a task stands when a command is done with it: the answer on stdout, what to do next on stderr, the exit code.
import { MODEL_MISSING } from "../core/decide.ts";
import type { Recorded } from "../core/events.ts";
import type { CoreRecord } from "../core/records.ts";
import { readLog } from "../client/read-log.ts";
import { showTask, type TaskView } from "../client/show-task.ts";
import type { Program } from "./program.ts";
import type { Session } from "./session.ts";

/** Waits that only a person ends. */
const forPeople: readonly (TaskView["waitingOn"] | undefined)[] = ["approval", "answer", "resolution", "resume"];

/** 0 done or answered, 1 ended otherwise, 3 waiting for a person. */
export const exitCodeFor = ({ status, outcome, waitingOn }: TaskView): 0 | 1 | 3 => {
  if (status === "ended") return outcome === "done" ? 0 : 1;
  if (outcome === "completed") return 0;
  if (forPeople.includes(waitingOn)) return 3;
  return outcome === "cancelled" ? 1 : 0;
};

const because = ({ reason, problem }: TaskView): string => {
  const why = [reason, problem].filter((part) => part !== null && part !== "").join(": ");
  return why === "" ? "" : ` (${why})`;
};

const unknownLines = ({ taskId, unknown }: TaskView, again: Session["again"]): string[] => {
  const lines = unknown.flatMap(({ action, name, input, reason, verifiable }) => [
    `  ${action} ${name} ${JSON.stringify(input)}: ${reason}`,
    `    ${again(`resolve ${taskId} ${action} done|absent "<what you saw>"`)}`,
    ...(verifiable ? [`    ${again(`verify ${taskId} ${action}`)}`] : []),
  ]);
  return ["nobody knows whether it took effect; look, then say so:", ...lines];
};

const questionLines = ({ taskId, questions }: TaskView, again: Session["again"]): string[] =>
  questions.flatMap(({ question, text, choices }) => [
    `  ${question}: ${text ?? "(the question was redacted)"}`,
    ...choices.map((choice, index) => `    ${String(index + 1)}. ${choice}`),
    `    ${again(`answer ${taskId} ${questions.length > 1 ? `${question} ` : ""}"…"`)}`,
  ]);

/** What would run, exactly, and how to decide. */
const approvalLines = ({ taskId, approvals, owner }: TaskView, again: Session["again"]): string[] =>
  approvals.flatMap((view) => {
    const { request, name, effect, input, redacted, items, reason, decides, expiresAt, decided } = view;
    const shown = redacted ? "(redacted)" : JSON.stringify(input);
    const named = approvals.length > 1 ? `${taskId} ${request}` : taskId;
    return [
      `  ${request}: ${name} (${effect}) ${shown}`,
      ...(reason === null ? [] : [`    ${reason}`]),
      ...items.map((item) => `    - ${item}`),
      ...(expiresAt === null ? [] : [`    expires ${new Date(expiresAt).toISOString()}`]),
      ...(decides === owner ? [] : [`    ${decides} decides`]),
      ...(decided === null
        ? [`    ${again(`approve ${named}`)}`, `    ${again(`deny ${named}`)}`]
        : [`    ${decided.by} has decided (${decided.decision}); a worker goes on with it`]),
    ];
  });

const runningLine = ({ taskId, claimedBy }: TaskView, again: Session["again"]): string =>
  claimedBy === null
    ? `task ${taskId} stands in the middle of a turn; go on: ${again(`resume ${taskId}`)}`
    : `task ${taskId} is being worked by ${claimedBy}; see: ${again(`log ${taskId} --follow`)}`;

const waitingLines = (view: TaskView, again: Session["again"]): string[] => {
  const { taskId, waitingOn, outcome, unknown } = view;
  const task = `task ${taskId}`;
  const why = because(view);
  if (unknown.length > 0) return [`${task} waits for a resolution`, ...unknownLines(view, again)];
  if (view.approvals.length > 0) {
    const stopped =
      waitingOn === "approval" ? "waits for a decision" : `is ${outcome ?? "stopped"}${why}; decide first`;
    return [`${task} ${stopped}:`, ...approvalLines(view, again)];
  }
  if (view.questions.length > 0 && waitingOn === "answer") {
    return [`${task} waits for an answer:`, ...questionLines(view, again)];
  }
  if (outcome === "completed") {
    const next = waitingOn === "resume" ? `resume ${taskId} "…"` : `say ${taskId} "…"`;
    return [`${task} has answered${why}; go on: ${again(next)}`];
  }
  if (waitingOn === "resume") {
    const state = outcome === "failed" ? "has failed" : `is ${outcome ?? "stopped"}`;
    const resumes = `${task} ${state}${why}; go on: ${again(`resume ${taskId}`)}`;
    const another = `give it another model first: ${again(`set ${taskId} model=NAME`)}`;
    return view.reason === MODEL_MISSING ? [resumes, another] : [resumes];
  }
  if (waitingOn === "input") {
    return [`${task} is ${outcome ?? "waiting"}${why}; go on: ${again(`say ${taskId} "…"`)}`];
  }
  return [`${task} waits for ${waitingOn ?? "something"}${why}; see: ${again(`show ${taskId}`)}`];
};

export const restoredText = ({ backupAt }: NonNullable<TaskView["restored"]>): string =>
  `from a backup of ${new Date(backupAt).toISOString()}; what it did after that is not in its log`;

/** Before anybody lets it go on: it may do again what it did. */
const restoredLine = ({ taskId, restored }: TaskView): string =>
  `task ${taskId} was restored ${restored === null ? "" : restoredText(restored)}: look before you let it go on`;

/** Words that wait for the results of open calls, or for the turn to go on. */
const queuedLines = ({ queued }: TaskView): string[] =>
  queued.length === 0 ? [] : [`queued until then: ${queued.map(({ text }) => JSON.stringify(text)).join(", ")}`];

/** What a person should know of where the task stands, and the commands that lead on. */
export const standing = (view: TaskView, again: Session["again"]): string[] => {
  if (view.restored?.isNew === true) return [restoredLine(view), ...whereItStands(view, again)];
  return whereItStands(view, again);
};

const whereItStands = (view: TaskView, again: Session["again"]): string[] => {
  const { taskId, held, status, outcome } = view;
  if (held !== null) return [`task ${taskId} is held (${held.reason}); let it go: ${again(`release ${taskId}`)}`];
  if (status === "ended") return [`task ${taskId} has ended: ${outcome ?? ""}${because(view)}`];
  if (status !== "waiting") return [runningLine(view, again)];
  return [...waitingLines(view, again), ...queuedLines(view)];
};

/** The model has spoken: an answer that stood there before is no answer to what was just posted. */
const hasReplied = (events: readonly Recorded[]): boolean => events.some(({ event }) => event.type === "ModelReplied");

const checkedLine = ({ event }: Recorded, nameOf: (callId: string) => string): string[] => {
  if (event.type === "ToolFinished" && event.settledBy === "verification") {
    const { callId, status } = event;
    const took = status === "ok" ? "took effect" : "did not take effect";
    return [`${callId} ${nameOf(callId)} ${took}: its tool has looked`];
  }
  if (event.type !== "ExtensionRecorded" || event.extension !== "core" || event.kind !== "action_settled") return [];
  const { callId, how, outcome } = event.data as CoreRecord<"action_settled">;
  if (how !== "verification" || outcome !== "unknown") return [];
  return [`${callId} ${nameOf(callId)} stays unknown: its tool has looked, and cannot tell`];
};

/** What tools found out about actions that had been interrupted. */
const checkedLines = (events: readonly Recorded[], { actions }: TaskView): string[] =>
  events.flatMap((event) => checkedLine(event, (id) => actions.find(({ action }) => action === id)?.name ?? ""));

/** Reports on a task that was worked from `after` on. `stopped`: a signal came first. */
export const report = async (
  { output }: Program,
  session: Session,
  params: { readonly taskId: string; readonly after: number; readonly json: boolean; readonly stopped: boolean },
): Promise<TaskView> => {
  const { taskId, after, json, stopped } = params;
  const view = await showTask(session.client, taskId);
  const since = await readLog(session.client, taskId, after);
  if (json) output.json(view);
  else if (view.answer !== null && !stopped && hasReplied(since)) output.print(view.answer);
  for (const line of checkedLines(since, view)) output.tell(line);
  for (const line of standing(view, session.again)) output.tell(line);
  return view;
};
