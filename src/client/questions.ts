// The questions that a task has put to a person, from its log: those that are open, and what became of the others.
import type { Recorded } from "../core/events.ts";
import { textOf } from "../core/messages.ts";
import type { CoreRecord } from "../core/records.ts";
import type { Call, TaskState } from "../core/state.ts";

/** An open question. It is named by the id of the call that asks it. */
export interface QuestionView {
  readonly question: string;
  /** Null where the words were redacted. */
  readonly text: string | null;
  /** Answers to choose from; others may be given too. */
  readonly choices: readonly string[];
  readonly askedSeq: number;
}

/** What a person means by these words: the number of a choice stands for its words, unless a choice is that number. */
export const answerText = (text: string, choices: readonly string[]): string => {
  if (choices.includes(text) || !/^[1-9]\d*$/.test(text)) return text;
  return choices[Number(text) - 1] ?? text;
};

const isOpen = ({ phase, parked, arrival }: Call): boolean =>
  phase === "parked" && parked?.on === "answer" && arrival === undefined;

/** The questions that wait for an answer, in the order of their calls. */
export const askingCalls = ({ calls }: Pick<TaskState, "calls">): Call[] => calls.filter(isOpen);

/** What the log or a call's input holds of a question. */
export const wordsOf = (detail: unknown): Pick<QuestionView, "text" | "choices"> => {
  const { question, choices } = (detail ?? {}) as { readonly question?: unknown; readonly choices?: unknown };
  return {
    text: typeof question === "string" ? question : null,
    choices: Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : [],
  };
};

/** In the order of their calls. */
export const openQuestions = (events: readonly Recorded[], state: TaskState): QuestionView[] =>
  askingCalls(state).map((call): QuestionView => {
    const asked = events.findLast(
      ({ event }) =>
        event.type === "ExtensionRecorded" &&
        event.extension === "core" &&
        event.kind === "call_parked" &&
        (event.data as CoreRecord<"call_parked">).callId === call.id,
    );
    const data = asked?.event.type === "ExtensionRecorded" ? (asked.event.data as CoreRecord<"call_parked">) : null;
    return { question: call.id, askedSeq: asked?.seq ?? 0, ...wordsOf(data?.detail) };
  });

/** Who answered a question, and the key of the item that did; null while nobody has. The first answer is the one. */
export const answerTo = (
  events: readonly Recorded[],
  question: string,
): { readonly by: string; readonly key: string } | null => {
  const asked = events.findIndex(
    ({ event }) =>
      event.type === "ExtensionRecorded" &&
      event.kind === "call_parked" &&
      (event.data as CoreRecord<"call_parked">).callId === question,
  );
  for (const { event } of asked < 0 ? [] : events.slice(asked)) {
    const items = event.type === "InputTaken" ? event.items : [];
    const found = items.find((item) => item.type === "Answer" && item.question === question);
    if (found !== undefined) return { by: found.by, key: found.key };
    if (event.type === "ToolFinished" && event.callId === question) return null;
  }
  return null;
};

/** What became of a question that is not open, in words that go on after its id. */
export const fateOf = (events: readonly Recorded[], question: string): string => {
  const finished = events.findLast(({ event }) => event.type === "ToolFinished" && event.callId === question);
  const answer = answerTo(events, question);
  if (answer !== null) {
    const words = finished?.event.type === "ToolFinished" ? `: ${JSON.stringify(textOf(finished.event.content))}` : "";
    return `was answered by ${answer.by}${words}`;
  }
  return finished === undefined ? "was not asked" : "is closed: its turn was stopped or went on without it";
};
