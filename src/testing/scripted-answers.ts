// What a scripted model of a test answers: words, calls, whole replies, failures, or functions that make them.
import { text, type CallPart } from "../core/messages.ts";
import type { ModelRequest } from "../core/request.ts";
import { ModelError, type ModelContext, type ModelErrorClass, type ModelReply } from "../model/model.ts";

/** What a scripted model is asked. `sleep` takes virtual time and rejects when its signal is aborted. */
export interface Asked {
  readonly request: ModelRequest;
  readonly context: ModelContext;
  readonly signal: AbortSignal;
  sleep(ms: number): Promise<void>;
}

type Given = string | readonly CallPart[] | ModelReply | Error;
/** What a model gives for one attempt: words, calls, a whole reply, a failure, or a function that makes one of these. */
export type Answer = Given | ((asked: Asked) => Given | Promise<Given>);

/** Several attempts at one reply, each with its answer; the last stands for all that follow. */
export class Tries {
  readonly answers: readonly Answer[];
  constructor(answers: readonly Answer[]) {
    this.answers = answers;
  }
}
export const tries = (...answers: readonly Answer[]): Tries => new Tries(answers);

/** An attempt that gives nothing before it is aborted. */
export const hang: Answer = async ({ signal, sleep }) => {
  await sleep(3_600_000).catch(() => undefined);
  return new ModelError(signal.aborted ? "aborted" : "network", "aborted");
};

/** An attempt that the provider refuses. */
export const fails = (
  errorClass: ModelErrorClass,
  more: ConstructorParameters<typeof ModelError>[2] = {},
): ModelError => new ModelError(errorClass, `it says ${errorClass}`, more);

/** Replies by number (from 0). A script that is over answers `done`. */
export type Script = readonly (Answer | Tries)[];

const replyOf = (given: Exclude<Given, Error>): ModelReply => {
  if (typeof given === "object" && "message" in given) return given;
  const parts = typeof given === "string" ? [text(given)] : [...given];
  const calls = typeof given !== "string";
  return { message: { parts }, stopReason: calls ? "tool_use" : "end_turn", tokens: { input: 10, output: 5 } };
};

/** What the script says to one attempt. Throws its failures. */
export const answerOf = async (script: Script, asked: Asked): Promise<ModelReply> => {
  const { replies, attempt } = asked.context;
  const entry = script[replies] ?? "done";
  const tried = entry instanceof Tries ? entry.answers[Math.min(attempt, entry.answers.length) - 1] : entry;
  const given = typeof tried === "function" ? await tried(asked) : (tried ?? "done");
  if (given instanceof Error) throw given;
  return replyOf(given);
};
