// perdure log: a task's events, one a line; with --follow as they come.
import { followLog, readLog } from "../../client/read-log.ts";
import { findTask } from "../../client/find-task.ts";
import type { Recorded } from "../../core/events.ts";
import { printEvent, printLog } from "../../core/print.ts";
import { defineCommand, UsageError } from "../command.ts";
import type { Output, Program } from "../program.ts";
import { openSession, type Session } from "../session.ts";
import { exitCodeOf, listenForStop } from "../stop-signals.ts";

const jsonOf = ({ seq, at, event: { type, ...fields } }: Recorded): object => ({ seq, at, type, ...fields });

const seqOf = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--after must be a seq, not ${JSON.stringify(text)}`);
  return Number(text);
};

interface Lines {
  add(recorded: Recorded): void;
  end(): void;
}

/** An array, written as it grows: one JSON value once it has ended. */
const jsonLines = (output: Output): Lines => {
  let before = "[ ";
  return {
    add: (recorded) => {
      output.print(before + JSON.stringify(jsonOf(recorded)));
      before = ", ";
    },
    end: () => {
      output.print(before === ", " ? "]" : "[]");
    },
  };
};

const textLines = (output: Output): Lines => ({
  add: (recorded) => {
    output.print(printEvent(recorded));
  },
  end: () => undefined,
});

const follow = async (
  { output }: Program,
  { client }: Session,
  params: { readonly taskId: string; readonly after: number; readonly json: boolean },
): Promise<number> => {
  using signals = listenForStop(() => undefined);
  const signal = AbortSignal.any([signals.asked, output.unread]);
  const lines = params.json ? jsonLines(output) : textLines(output);
  try {
    for await (const recorded of followLog(client, { ...params, signal })) lines.add(recorded);
  } finally {
    lines.end();
  }
  return signals.first === null ? 0 : exitCodeOf(signals.first);
};

export const log = defineCommand({
  name: "log",
  summary: "a task's events, one a line",
  words: { task: "required" },
  options: {
    follow: { type: "boolean", about: "go on with each event as it comes, until the task ends" },
    after: { type: "string", value: "SEQ", about: "only events after this one" },
  },
  notes: "With --json: an array of the events, whole.",
  perform: async (program, { options, words: { task } }) => {
    const after = options.after === undefined ? 0 : seqOf(options.after);
    const json = options.json === true;
    await using session = await openSession(program, options);
    const { taskId } = await findTask(session.client, task);
    if (options.follow === true) return await follow(program, session, { taskId, after, json });
    const events = await readLog(session.client, taskId, after);
    if (json) program.output.json(events.map(jsonOf));
    else if (events.length > 0) program.output.print(printLog(events));
    return 0;
  },
});
