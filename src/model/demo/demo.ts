// The `demo` model: answers plain requests by rule, so that everything can be tried without a key. It looks at the request
// alone: no clock, no chance, nothing remembered.
import { text, textOf, type Message, type ReplyPart, type RequestCall } from "../../core/messages.ts";
import type { ModelRequest } from "../../core/request.ts";
import type { Model, ModelReply } from "../model.ts";
import { streamReply } from "../stream-reply.ts";
import { describeResult } from "./report.ts";
import { wishOf, type Wish } from "./wish.ts";

const IDENTITY = "I am the demo model: a few rules, no language model.";
const ABILITIES =
  'I can read a file that you name ("what is in a.txt?"), list files ("list the files"), and write one ("write hello to b.txt").';

const callsOf = (message: Message): RequestCall[] =>
  message.role === "assistant" ? message.parts.filter((part): part is RequestCall => part.type === "call") : [];

/** The file that was spoken of last: what "it" means. */
const lastFile = (messages: readonly Message[]): string | undefined => {
  const paths = messages.flatMap(callsOf).map(({ input }) => (input as { file_path?: unknown } | null)?.file_path);
  return paths.findLast((path): path is string => typeof path === "string");
};

/** What came since the model last spoke: results of its calls, and what the person said, newest last. */
const newsOf = (messages: readonly Message[]): { readonly reports: string[]; readonly words: string[] } => {
  const since = messages.findLastIndex((message) => message.role === "assistant") + 1;
  const calls = messages.slice(0, since).flatMap(callsOf);
  const reports: string[] = [];
  const words: string[] = [];
  for (const message of messages.slice(since)) {
    if (message.role === "user") words.push(textOf(message.content));
    if (message.role !== "tool") continue;
    for (const result of message.results) {
      const call = calls.findLast(({ id }) => id === result.callId);
      if (call !== undefined) reports.push(describeResult(call, result));
    }
  }
  return { reports, words };
};

const callFor = (wish: Wish): { readonly name: string; readonly input: unknown } | null => {
  switch (wish.kind) {
    case "read":
      return { name: "Read", input: { file_path: wish.path } };
    case "list":
      return { name: "Glob", input: { pattern: wish.pattern } };
    case "write":
      return { name: "Write", input: { file_path: wish.path, content: wish.content } };
    case "greeting":
    case "other":
      return null;
  }
};

const answer = ({ messages, tools }: ModelRequest): ReplyPart[] => {
  const { reports, words } = newsOf(messages);
  const wishes = words.map((said) => wishOf(said, lastFile(messages)));
  const wish = wishes.findLast(({ kind }) => kind !== "other") ?? { kind: "other" };
  const call = callFor(wish);
  if (call !== null && tools.some((tool) => tool.name === call.name)) {
    return [...reports.map((report) => text(report)), { type: "call", ...call }];
  }
  if (call !== null) reports.push(`I cannot do that here: this agent has no tool named ${call.name}.`);
  else if (wish.kind === "greeting") reports.push(`Hello. ${ABILITIES}`);
  else if (reports.length === 0) reports.push(`I do not understand. ${ABILITIES}`);
  return [text([...reports, IDENTITY].join("\n\n"))];
};

export const createDemoModel = (): Model => ({
  name: "demo",
  contextTokens: null,
  async *stream(request, { signal }) {
    const parts = answer(request);
    const stopReason = parts.some((part) => part.type === "call") ? "tool_use" : "end_turn";
    const reply: ModelReply = { message: { parts }, stopReason, tokens: "unknown" };
    yield* streamReply(reply, signal);
  },
});
