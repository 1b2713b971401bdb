// perdure chat: talk with one task, live. It is a view of the log: leave it, kill it, open it again, and nothing is lost.
import { showTask, type TaskView } from "../../client/show-task.ts";
import { Conversation, type ConversationOptions } from "../chat/conversation.ts";
import { showPlain } from "../chat/plain.ts";
import { defineCommand, type CommonValues } from "../command.ts";
import type { Program } from "../program.ts";
import { exitCodeFor } from "../report.ts";
import { createSession, loadSettings, openSession, type Session } from "../session.ts";
import { exitCodeOf } from "../stop-signals.ts";
import { openWorkshop } from "../workshop.ts";
import { agentOptions, requestOf } from "./run.ts";

export interface ChatValues extends CommonValues {
  readonly plain?: boolean;
}

/** A screen that can be drawn anew: a terminal, and a person who looks at it. */
export const canDraw = ({ env }: Program, { plain }: ChatValues): boolean =>
  plain !== true &&
  process.stdout.isTTY &&
  process.stdin.isTTY &&
  env["TERM"] !== "dumb" &&
  env["INK_SCREEN_READER"] !== "true";

const HINT = "Enter sends, /help lists what else there is, Ctrl-C interrupts, twice leaves";

const show = async (program: Program, conversation: Conversation, options: ChatValues): Promise<void> => {
  if (canDraw(program, options)) {
    // Drawing costs a moment to load, which plain output need not wait for.
    const { showScreen } = await import("../chat/screen.ts");
    const colours = (program.env["NO_COLOR"] ?? "") === "";
    await showScreen(conversation, { colours, hint: HINT });
    return;
  }
  const { stdin } = process;
  await showPlain(program, conversation, { stdin, echo: !stdin.isTTY });
};

interface Presses extends Disposable {
  /** The process was asked to end, not the turn. */
  readonly terminated: boolean;
}

/** Ctrl-C where nothing is drawn (a drawn chat reads it as a key): the turn first, then the chat, then at once. */
const listenForPresses = ({ output }: Program, conversation: Conversation): Presses => {
  let [interrupted, terminated] = [false, false];
  const onInterrupt = (): void => {
    if (conversation.left.aborted) process.exit(exitCodeOf("SIGINT"));
    if (interrupted || !conversation.isBusy) conversation.leave();
    else {
      interrupted = true;
      output.tell("interrupting; Ctrl-C once more leaves");
      void conversation.interrupt();
    }
  };
  const onTerminate = (): void => {
    if (terminated) process.exit(exitCodeOf("SIGTERM"));
    terminated = true;
    conversation.leave();
  };
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onTerminate);
  return {
    get terminated() {
      return terminated;
    },
    [Symbol.dispose]: () => {
      process.off("SIGINT", onInterrupt);
      process.off("SIGTERM", onTerminate);
    },
  };
};

/** Talks until the person leaves. Gives the exit code, by where the task stands then. */
export const talk = async (
  program: Program,
  options: ChatValues,
  parts: ConversationOptions,
  firstWords?: string,
): Promise<number> => {
  const { output } = program;
  const { session } = parts;
  const conversation = new Conversation(parts);
  using presses = listenForPresses(program, conversation);
  if (firstWords !== undefined) await conversation.enter(firstWords);
  await show(program, conversation, options);
  if (conversation.isBusy) output.tell("leaving after this step; Ctrl-C leaves at once");
  await conversation.close();
  const { taskId } = conversation;
  if (taskId === undefined) return presses.terminated ? exitCodeOf("SIGTERM") : 0;
  const view = await showTask(session.client, taskId);
  if (view.status !== "ended") output.tell(`task ${taskId} stays; go on: ${session.again(`chat ${taskId}`)}`);
  return presses.terminated ? exitCodeOf("SIGTERM") : exitCodeFor(view);
};

const reopen = async (program: Program, options: ChatValues, session: Session, view: TaskView): Promise<number> => {
  const { taskId, agent, model, status } = view;
  const workshop = await openWorkshop(program, session);
  await workshop.addModel(model, { needed: status !== "ended" });
  const row = await session.store.getTask({ taskId });
  if (row !== null && row.claimedBy === null) workshop.checkRequires(row);
  const request = (objective: string) => requestOf(session.settings, workshop, objective);
  return talk(program, options, { session, workshop, request, task: { taskId, agent } });
};

export const chat = defineCommand({
  name: "chat",
  summary: "talk with a task, live: a new one, or one that is there",
  words: { task: "optional" },
  options: {
    ...agentOptions,
    plain: { type: "boolean", about: "lines only, nothing drawn anew: for screen readers and pipes" },
    "lease-ms": { type: "string", value: "MS", about: "how long a claim holds unrenewed; default 5000" },
  },
  notes: "Ctrl-C interrupts the turn; twice leaves. The task stays: perdure chat <task> goes on with it.",
  perform: async (program, { options, words: { task } }) => {
    if (task !== undefined) {
      await using session = await openSession(program, options);
      return await reopen(program, options, session, await showTask(session.client, task));
    }
    const given = await loadSettings(program, options);
    const workshop = await openWorkshop(program, given);
    const request = (objective: string) => requestOf(given.settings, workshop, objective);
    await workshop.addModel(request("").settings.model);
    await using session = await createSession(program, options, given);
    return await talk(program, options, { session, workshop, request });
  },
});
