// What a task does while a person watches: a line for each call, on stderr where that is a terminal.
import { followLog } from "../client/read-log.ts";
import type { Event } from "../core/events.ts";
import { textOf } from "../core/messages.ts";
import type { CoreRecord } from "../core/records.ts";
import { oneLine } from "./one-line.ts";
import type { Program } from "./program.ts";
import type { Session } from "./session.ts";

const CHARS = 100;

/** Null for what is not worth a line. */
const lineOf = (event: Event): string | null => {
  switch (event.type) {
    case "ModelCalled":
      return event.attempt > 1 ? `asks ${event.model} again` : `asks ${event.model}`;
    case "ToolStarted":
      return oneLine(`${event.name} ${JSON.stringify(event.input)}`, CHARS);
    case "ToolFinished":
      return event.status === "ok" ? null : oneLine(`${event.status}: ${textOf(event.content)}`, CHARS);
    case "ExtensionRecorded": {
      if (event.extension !== "core" || event.kind !== "model_failed") return null;
      const { class: failure, message } = event.data as CoreRecord<"model_failed">;
      return oneLine(`the model failed (${failure})${message === undefined ? "" : `: ${message}`}`, CHARS);
    }
    default:
      return null;
  }
};

/** Shows what comes after `after` until disposed. */
export const watchProgress = (
  { output }: Program,
  { client }: Session,
  { taskId, after }: { readonly taskId: string; readonly after: number },
): AsyncDisposable => {
  const done = new AbortController();
  const watching = (async () => {
    for await (const { event } of followLog(client, { taskId, after, signal: done.signal })) {
      const line = lineOf(event);
      if (line !== null) output.progress(`  ${line}`);
    }
  })().catch((error: unknown) => {
    // Watching is a courtesy; whoever works the task tells what is wrong with it.
    output.progress(`  ${String(error)}`);
  });
  return {
    [Symbol.asyncDispose]: async () => {
      done.abort(new Error("done"));
      await watching;
    },
  };
};
