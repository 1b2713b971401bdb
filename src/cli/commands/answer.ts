// perdure answer: what a person says to a question that the task waits with.
import { readLog } from "../../client/read-log.ts";
import { answerText, answerTo } from "../../client/questions.ts";
import { showTask, type TaskView } from "../../client/show-task.ts";
import { defineCommand, UsageError, workOptions } from "../command.ts";
import { CommandError } from "../failure.ts";
import { postTo } from "../post-and-work.ts";
import { openSession } from "../session.ts";

/** The one open question, where none is named. */
const onlyQuestion = ({ taskId, questions }: TaskView): string => {
  const [first, ...more] = questions;
  if (first === undefined) throw new CommandError(`task ${taskId} has no open question`);
  if (more.length === 0) return first.question;
  const names = questions.map(({ question, text }) => `${question} (${text ?? "redacted"})`).join(", ");
  throw new CommandError(`task ${taskId} has several open questions, so say which: ${names}`);
};

export const answer = defineCommand({
  name: "answer",
  summary: "answer a question that a task waits with",
  words: { task: "required", question: "optional", text: "required" },
  options: {
    key: { type: "string", value: "KEY", about: "the same key again answers once, not twice" },
    ...workOptions,
  },
  notes: [
    "question: its id, as perdure show gives it; where one question is open, it may be left out. text: any words, or the",
    "number of a choice. The first answer counts; a later one is refused and told what was answered.",
  ].join("\n"),
  perform: async (program, { options, words }) => {
    if (words.text.trim() === "") throw new UsageError("answer needs a text that says something");
    await using session = await openSession(program, options);
    const { client } = session;
    const view = await showTask(client, words.task);
    const { taskId } = view;
    const question = words.question ?? onlyQuestion(view);
    const asked = view.questions.find((each) => each.question === question);
    const text = answerText(words.text, asked?.choices ?? []);
    const key = options.key ?? client.random.id();
    const item = { type: "Answer", question, text } as const;
    const code = await postTo(program, session, options, view, { item, key, needsModel: true });
    const counted = answerTo(await readLog(client, taskId), question);
    if (counted === null || (counted.key === key && counted.by === client.principal)) return code;
    throw new CommandError(`task ${taskId}: ${question} had been answered by ${counted.by} just before`);
  },
});
