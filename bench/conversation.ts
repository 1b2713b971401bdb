// A log of the seed's kind: a long conversation of replies, calls and their results, whose events are some 500 to 800 bytes
// of JSON each, the way a runner would have appended them.
import type { Event } from "../src/core/events.ts";
import { callId } from "../src/core/fold.ts";
import { createRandom, hexAt, textAt } from "./corpus.ts";
import { LogWriter } from "./log-writer.ts";
import { MODEL } from "./looping-agent.ts";
import { newTask, type Program } from "./program.ts";

const EVENTS_PER_CYCLE = 4;
/** Cycles to an append: what is written is measured, not the writing. */
const TOGETHER = 50;
const CYCLES_PER_COMPACTION = 200;
/** Messages that stay as they are, and the length of the summary of the others. */
const KEPT_MESSAGES = 20;
const SUMMARY_CHARS = 3_000;

const between = (random: () => number, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1));

/** One cycle, whose ModelCalled stands at `seq`. `messages` is the number of messages before it. */
export const cycleAt = (seq: number, messages: number): Event[] => {
  const random = createRandom(seq);
  const id = callId(0, seq + 1, 1);
  const path = `src/${hexAt(seq, 12)}.ts`;
  const input = { path, limit: between(random, 1, 400), pattern: textAt(seq + 1, between(random, 270, 420)) };
  return [
    {
      type: "ModelCalled",
      model: MODEL,
      requestHash: hexAt(seq + 2, 64),
      prefixHash: hexAt(1, 64),
      messages,
      revision: 0,
      attempt: 1,
      purpose: "turn",
    },
    {
      type: "ModelReplied",
      message: {
        parts: [
          { type: "text", text: textAt(seq + 3, between(random, 10, 90)) },
          { type: "call", name: "Look", input, providerId: `call_${hexAt(seq + 4, 24)}` },
        ],
      },
      stopReason: "tool_use",
      usage: { tokens: { input: 1_000, output: 200, cacheRead: messages * 150 }, durationMs: 1_200 },
    },
    {
      type: "ToolStarted",
      callId: id,
      name: "Look",
      input,
      effect: "read",
      definition: hexAt(2, 64),
      invocationId: hexAt(seq + 5, 20),
      attempt: 1,
    },
    {
      type: "ToolFinished",
      callId: id,
      status: "ok",
      content: [{ type: "text", text: textAt(seq + 6, between(random, 440, 727)) }],
    },
  ];
};

/** The events of `cycles` cycles that follow the writer's log, some of each commit a runner would have made. */
export const writeCycles = async (writer: LogWriter, cycles: number): Promise<void> => {
  for (let done = 0; done < cycles; done += TOGETHER) {
    const events: Event[] = [];
    const { seq, messages } = writer.state;
    for (let index = 0; index < Math.min(TOGETHER, cycles - done); index += 1) {
      events.push(...cycleAt(seq + 1 + events.length, messages.length + 2 * index));
    }
    await writer.append(events);
  }
};

/** A task whose log has about so many events: in the middle of a turn, its next step a model call. */
export const writeConversation = async (program: Program, events: number): Promise<string> => {
  const taskId = await newTask(program);
  const writer = await LogWriter.begin(program, taskId);
  await writeCycles(writer, Math.round((events - writer.state.seq) / EVENTS_PER_CYCLE));
  await writer.release();
  return taskId;
};

/** The same, compacted again and again, so that only its end is live. */
export const writeCompacted = async (program: Program, events: number): Promise<string> => {
  const taskId = await newTask(program);
  const writer = await LogWriter.begin(program, taskId);
  while (writer.state.seq < events) {
    await writeCycles(writer, CYCLES_PER_COMPACTION);
    const through = writer.state.messages.at(-KEPT_MESSAGES)?.seq ?? 0;
    await writer.append([{ type: "Compacted", through, summary: textAt(through, SUMMARY_CHARS), kept: [] }]);
  }
  await writer.release();
  return taskId;
};
