// The `ask` plugin: a question to the person. The call is parked on its answer, which is its one result; it is named by the
// call's own id, so that answers to parallel questions cannot meet the wrong one.
import { Type } from "typebox";
import { NothingHappened, type Plugin, type TypedTool } from "../plugin.ts";

const strict = { additionalProperties: false };

const Input = Type.Object(
  {
    question: Type.String({ description: "The question, in words that stand by themselves." }),
    choices: Type.Optional(
      Type.Array(Type.String(), { description: "Answers to choose from, if there are some. Others may be given too." }),
    ),
  },
  strict,
);

/** What front ends find in `core/call_parked` as the question's detail. */
export interface Question {
  readonly question: string;
  readonly choices?: readonly string[];
}

const isBlank = (words: string): boolean => words.trim() === "";

const tool: TypedTool<typeof Input> = {
  name: "ask",
  description: [
    "Asks the person one question and waits for the answer, however long that takes.",
    "Use it when you cannot go on without what only they can say; look for yourself first.",
    "To ask several things at once, call it several times in one reply: each question is answered by itself.",
  ].join(" "),
  inputSchema: Input,
  effect: "internal",
  execute: ({ question, choices }) => {
    if (isBlank(question)) throw new NothingHappened("The question is empty. Nobody was asked.");
    if (choices?.some(isBlank) === true) throw new NothingHappened("A choice is empty. Nobody was asked.");
    const detail: Question = { question, ...(choices === undefined ? {} : { choices }) };
    return { park: { on: "answer", detail } };
  },
};

export const ask = (): Plugin => ({ name: "ask", version: "1", module: import.meta.url, tools: [tool] });
