// The `scripted` model: answers from a list of replies, by the task's own count of replies. For tests and demonstrations.
import { setTimeout } from "node:timers/promises";
import { text as textPart, type Reply } from "../../core/messages.ts";
import { ModelError, type Model, type ModelContext, type ModelReply } from "../model.ts";
import { checkAborted, streamReply } from "../stream-reply.ts";
import type { ScriptLine } from "./script.ts";

/** A reply of the script, with the attempts at it that fail first. */
interface Entry {
  readonly failures: readonly ScriptLine[];
  readonly reply: ScriptLine | undefined;
}

const group = (lines: readonly ScriptLine[]): Entry[] => {
  const entries: Entry[] = [];
  let failures: ScriptLine[] = [];
  for (const line of lines) {
    if (line.error !== undefined) {
      failures.push(line);
      continue;
    }
    entries.push({ failures, reply: line });
    failures = [];
  }
  return failures.length > 0 ? [...entries, { failures, reply: undefined }] : entries;
};

const replyOf = ({ reasoning, text, calls = [], usage }: ScriptLine): ModelReply => {
  const parts: Reply["parts"] = [
    ...(reasoning === undefined ? [] : [{ type: "reasoning" as const, text: reasoning }]),
    ...(text === undefined ? [] : [textPart(text)]),
    ...calls.map(({ name, input }) => ({ type: "call" as const, name, input })),
  ];
  return { message: { parts }, stopReason: calls.length > 0 ? "tool_use" : "end_turn", tokens: usage ?? "unknown" };
};

const failureOf = (model: string, error: NonNullable<ScriptLine["error"]>, usage: ScriptLine["usage"]): ModelError =>
  new ModelError(error.class, `${model}: the script says ${error.class}`, {
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(usage === undefined ? {} : { tokens: usage }),
  });

/** Resolves after `delayMs`, or at once when `signal` is aborted. */
const wait = (delayMs: number, signal: AbortSignal): Promise<void> =>
  setTimeout(delayMs, undefined, { signal }).catch(() => undefined);

/**
 * A model that gives the task's n-th reply (from 0) from the n-th line without an `error`, so a task goes on rightly in
 * another process. Lines with an `error` belong to the reply that follows them: attempt n at it fails as the n-th of
 * them says; later attempts get the reply. Past the end it fails as `bad_request`.
 */
export const createScriptedModel = (script: {
  readonly name: string;
  readonly lines: readonly ScriptLine[];
}): Model => {
  const { name } = script;
  const entries = group(script.lines);
  const lineFor = ({ replies, attempt }: ModelContext): ScriptLine => {
    const entry = entries[replies];
    const line = entry?.failures[attempt - 1] ?? entry?.reply;
    if (line !== undefined) return line;
    const held = entries.filter((each) => each.reply !== undefined).length;
    throw new ModelError("bad_request", `${name} has no reply ${String(replies + 1)}: it ends after ${String(held)}`);
  };
  return {
    name,
    contextTokens: null,
    async *stream(_request, { signal, context }) {
      const line = lineFor(context);
      if (line.delayMs !== undefined) await wait(line.delayMs, signal);
      checkAborted(signal);
      if (line.error !== undefined) throw failureOf(name, line.error, line.usage);
      yield* streamReply(replyOf(line), signal);
    },
  };
};
