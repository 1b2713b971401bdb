// An access port with a short memory and little patience: an answer stands for so long, and none in time is a no.
import type { Access, Question } from "./access.ts";

export interface CachedOptions {
  /** For how long an answer stands (ms): so late, at the most, is a permission that was taken away still given. */
  readonly forMs: number;
  /** How long an answer is waited for (ms). */
  readonly withinMs: number;
  /** Time in this process (ms). `sleep` rejects when the signal is aborted. */
  readonly clock: { monotonic(): number; sleep(ms: number, signal: AbortSignal): Promise<void> };
}

export const defaultCaching = { forMs: 2_000, withinMs: 2_000 } as const;

/** More answers than this are not remembered: the oldest goes. */
const MOST = 10_000;

interface Answer {
  readonly may: boolean;
  /** When it was asked, so that a slow answer is no older than it says. */
  readonly askedAt: number;
}

const nameOf = (question: Question): string => {
  const { principal, place, to } = question;
  return JSON.stringify([principal, place, to, to === "read" ? question.source : null]);
};

/** Never rejects. What was no answer (an error, too late) is asked again the next time; the same at once is asked once. */
export const cachedAccess = (access: Access, { forMs, withinMs, clock }: CachedOptions): Access => {
  const answers = new Map<string, Answer>();
  const asking = new Map<string, Promise<boolean>>();

  const remember = (name: string, answer: Answer): void => {
    answers.delete(name);
    answers.set(name, answer);
    const [oldest] = answers.keys();
    if (answers.size > MOST && oldest !== undefined) answers.delete(oldest);
  };

  const ask = async (question: Question, name: string): Promise<boolean> => {
    const askedAt = clock.monotonic();
    const answered = new AbortController();
    const tooLate = clock.sleep(withinMs, answered.signal).then(() => null);
    tooLate.catch(() => undefined);
    try {
      const may = await Promise.race([access.may(question), tooLate]);
      if (may === null) return false;
      remember(name, { may: may === true, askedAt });
      return may === true;
    } catch {
      return false;
    } finally {
      answered.abort(new Error("answered"));
    }
  };

  return {
    may: (question) => {
      const name = nameOf(question);
      const known = answers.get(name);
      if (known !== undefined && clock.monotonic() - known.askedAt < forMs) return Promise.resolve(known.may);
      const before = asking.get(name);
      if (before !== undefined) return before;
      const now = ask(question, name).finally(() => asking.delete(name));
      asking.set(name, now);
      return now;
    },
  };
};
