// The refusals that the database functions answer with, as errors with a message for a person.
import { StoreError, type StoreCode } from "../store.ts";

export interface Answer {
  readonly code: StoreCode | null;
  /** The number that the refusal is about; null where the claim was given back. */
  readonly fact?: number | null;
}

const told = (taskId: string, name: string, { code, fact }: Answer): string => {
  const number = String(fact);
  switch (code) {
    case "not_found":
      return `there is no task ${taskId} in ${name}`;
    case "forgotten":
      return `task ${taskId} was forgotten`;
    case "not_owner":
      return `task ${taskId} ${fact == null ? "was given back" : `has fence ${number} now`}; this claim holds it no more`;
    case "ended":
      return `task ${taskId} has ended and takes nothing more`;
    case "redacted":
      return `task ${taskId} has revision ${number} now; fold it again`;
    case "inbox_moved":
      return `task ${taskId} has an untaken item, or a due timer, that this claim has not seen`;
    default:
      return `task ${taskId} is not as expected${fact == null ? "" : `: it is at ${number}`}`;
  }
};

/** Throws what a function refused, and gives its answer otherwise. `none` is a function without a row, a bug. */
export const accepted = <A extends Answer>(answer: A | undefined, taskId: string, name: string): A => {
  if (answer === undefined) throw new Error(`${name}: a function gave no row for task ${taskId}`);
  if (answer.code !== null) throw new StoreError(answer.code, told(taskId, name, answer));
  return answer;
};
