// The grammar that every provider demands of a request, as a check.
import { textOf, type Message } from "../core/messages.ts";
import type { ModelRequest } from "../core/request.ts";

const assistantFaults = (message: Extract<Message, { role: "assistant" }>, next: Message | undefined): string[] => {
  const calls = message.parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
  if (calls.length === 0) return textOf(message.parts) === "" ? ["an assistant message is empty"] : [];
  const results = next?.role === "tool" ? next.results.map((result) => result.callId) : [];
  return calls.join() === results.join()
    ? []
    : [`the calls ${calls.join()} are answered by ${results.join() || "nothing"}`];
};

/** What a provider would refuse: unpaired calls or results, empty messages, a conversation that does not begin with a user. */
export const requestFaults = ({ messages }: Pick<ModelRequest, "messages">): string[] => {
  const faults: string[] = [];
  if (messages[0]?.role !== "user") faults.push("the first message is not the user's");
  if (messages.at(-1)?.role === "assistant") faults.push("the last message is the assistant's");
  messages.forEach((message, index) => {
    if (message.role === "assistant") faults.push(...assistantFaults(message, messages[index + 1]));
    if (message.role === "user" && message.content.length === 0) faults.push("a user message is empty");
    if (message.role !== "tool") return;
    const before = messages[index - 1];
    const called = before?.role === "assistant" && before.parts.some((part) => part.type === "call");
    if (!called) faults.push(`results at ${String(index)} answer no calls`);
  });
  return faults;
};
