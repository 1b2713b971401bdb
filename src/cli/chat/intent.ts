// What a typed line means, from where the task stands.
import { answerText, askingCalls, wordsOf } from "../../client/questions.ts";
import type { NewItem } from "../../core/items.ts";
import type { Call, TaskState } from "../../core/state.ts";
import { inputLine } from "./transcript.ts";

export type Intent =
  /** Begin the task with these words. */
  | { readonly do: "create"; readonly text: string }
  | { readonly do: "post"; readonly item: NewItem }
  /** Say something to the person alone. */
  | { readonly do: "tell"; readonly text: string }
  | { readonly do: "leave" };

export const HELP = [
  "Enter sends; while a turn runs, what you say joins it. Ctrl-C interrupts the turn, once more leaves.",
  "/steer TEXT   correct: calls that have not begun are skipped     /interrupt   stop the turn",
  "/resume       go on with what is paused                          /cancel      give the turn up",
  "/answer ID TEXT, /resolve ID done|absent WHAT YOU SAW, /verify ID: for the call named ID",
  "/close        end the task                                       /quit        leave; the task stays",
].join("\n");

export interface Question {
  readonly id: string;
  readonly text: string;
  readonly choices: readonly string[];
}

const questionOf = ({ id, input }: Call): Question => {
  const { text, choices } = wordsOf(input);
  return { id, text: text ?? inputLine(input), choices };
};

/** The questions that wait for the person, in call order. */
export const questionsOf = (state: TaskState | undefined): Question[] =>
  state === undefined ? [] : askingCalls(state).map(questionOf);

const post = (item: NewItem): Intent => ({ do: "post", item });
const usage = (text: string): Intent => ({ do: "tell", text: `write it as ${text}` });

const resolveOf = (rest: string): Intent => {
  const [, callId = "", outcome = "", verification = ""] = /^(\S+)\s+(done|absent)\s+(.+)$/s.exec(rest) ?? [];
  if (verification === "") return usage("/resolve ID done|absent WHAT YOU SAW");
  return post({ type: "Resolve", callId, outcome: outcome as "done" | "absent", verification });
};

const answerOf = (rest: string): Intent => {
  const [, question = "", text = ""] = /^(\S+)\s+(.+)$/s.exec(rest) ?? [];
  return text === "" ? usage("/answer ID TEXT") : post({ type: "Answer", question, text });
};

const commandOf = (name: string, rest: string): Intent => {
  switch (name) {
    case "quit":
    case "exit":
      return { do: "leave" };
    case "help":
      return { do: "tell", text: HELP };
    case "steer":
      return rest === "" ? usage("/steer TEXT") : post({ type: "Steer", text: rest });
    case "interrupt":
      return post({ type: "Interrupt" });
    case "cancel":
      return post({ type: "Cancel" });
    case "close":
      return post({ type: "Close" });
    case "resume":
      return post({ type: "Resume", ...(rest === "" ? {} : { text: rest }) });
    case "verify":
      return rest === "" ? usage("/verify ID") : post({ type: "Verify", callId: rest });
    case "resolve":
      return resolveOf(rest);
    case "answer":
      return answerOf(rest);
    default:
      return { do: "tell", text: `there is no /${name}; /help lists what there is` };
  }
};

/** Words alone answer the question that is asked, go on with what is paused, or are said. */
const plainIntent = (text: string, state: TaskState | undefined): Intent => {
  if (state === undefined) return { do: "create", text };
  const [question] = questionsOf(state);
  if (question !== undefined)
    return post({ type: "Answer", question: question.id, text: answerText(text, question.choices) });
  return state.waiting?.on === "resume" ? post({ type: "Resume", text }) : post({ type: "Say", text });
};

/** Null for a line that says nothing. */
export const intentOf = (line: string, state: TaskState | undefined): Intent | null => {
  const text = line.trim();
  if (text === "") return null;
  const [, name, rest = ""] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(text) ?? [];
  if (name === undefined) return plainIntent(text, state);
  const intent = commandOf(name, rest.trim());
  return intent.do === "post" && state === undefined
    ? { do: "tell", text: "there is no task yet: say something" }
    : intent;
};
