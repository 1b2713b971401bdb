// perdure request: the exact request of one model call, built again from the log, and whether it is what was sent.
import { showRequest, type RequestView } from "../../client/show-request.ts";
import { textOf, type Message } from "../../core/messages.ts";
import { defineCommand, UsageError } from "../command.ts";
import { openSession } from "../session.ts";

const messageText = (message: Message): string => {
  if (message.role === "user") return `user: ${textOf(message.content)}`;
  if (message.role === "tool") {
    return message.results
      .map(({ callId, name, status, content }) => `result of ${callId} ${name} (${status}): ${textOf(content)}`)
      .join("\n");
  }
  return message.parts
    .map((part) =>
      part.type === "call"
        ? `assistant calls ${part.id} ${part.name} ${JSON.stringify(part.input)}`
        : `assistant${part.type === "reasoning" ? " reasons" : ""}: ${part.text}`,
    )
    .join("\n");
};

const verdict = ({ recordedHash, rebuiltHash, same, why }: RequestView): string => {
  if (same === true) return `hash ${recordedHash}, rebuilt the same`;
  const rebuilt = rebuiltHash === null ? "not compared" : `rebuilt ${rebuiltHash}`;
  return `hash ${recordedHash}, ${rebuilt}: ${why ?? ""}`;
};

const page = (view: RequestView): string => {
  const { model, system, tools, messages } = view.request;
  return [
    `model ${model}, attempt ${String(view.attempt)}`,
    verdict(view),
    ...system.map((block, index) => `--- system ${String(index + 1)}\n${block}`),
    `--- tools\n${tools.map((tool) => tool.name).join(", ") || "none"}`,
    "--- messages",
    ...messages.map(messageText),
  ].join("\n");
};

export const request = defineCommand({
  name: "request",
  summary: "the exact request of a model call, built again from the log",
  words: { task: "required" },
  options: { at: { type: "string", value: "SEQ", about: "the seq of the ModelCalled" } },
  notes: "Exit 1 when what the log gives is not what was sent. With --json the request whole, tools and all.",
  perform: async (program, { options, words: { task } }) => {
    if (options.at === undefined || !/^[1-9]\d{0,14}$/.test(options.at)) {
      throw new UsageError("request needs --at SEQ: the seq of a ModelCalled (see perdure log)");
    }
    await using session = await openSession(program, options);
    const view = await showRequest(session.client, task, Number(options.at));
    if (options.json === true) program.output.json(view);
    else program.output.print(page(view));
    return view.same === false ? 1 : 0;
  },
});
