// The streams of the providers' APIs, frame by frame, for servers that send them whole, cut or broken.

export type WirePart =
  | { readonly text: string }
  | { readonly reasoning: string; readonly seal?: string }
  | { readonly call: { readonly id: string; readonly name: string; readonly json: string } };

export interface WireReply {
  readonly parts: readonly WirePart[];
  /** In the provider's own words; default the one for a whole reply. */
  readonly stop?: string;
  readonly usage?: object;
}

export interface Wire {
  /** Where requests of that API arrive. */
  readonly path: string;
  /** Server-sent events, each a frame of its own; the last ones say that the reply is whole. */
  frames(reply: WireReply): string[];
  /** An error in the middle of a stream, of that type or code. */
  errorFrame(code: string, message: string): string;
  /** The body of a failed request. */
  errorBody(code: string, message: string): object;
}

type Fields = Readonly<Record<string, unknown>>;

const event = (data: Fields & { readonly type?: string }): string =>
  `${data.type === undefined ? "" : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`;

/** In two pieces, so that what streams is put together. */
const halves = (text: string): string[] => {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== "");
};

const hasCall = (parts: readonly WirePart[]): boolean => parts.some((part) => "call" in part);

const anthropicBlock = (part: WirePart, index: number): Fields[] => {
  const delta = (fields: object): Fields => ({ type: "content_block_delta", index, delta: fields });
  const start = (block: object): Fields => ({ type: "content_block_start", index, content_block: block });
  const stop = { type: "content_block_stop", index };
  if ("text" in part)
    return [
      start({ type: "text", text: "" }),
      ...halves(part.text).map((text) => delta({ type: "text_delta", text })),
      stop,
    ];
  if ("reasoning" in part)
    return [
      start({ type: "thinking", thinking: "" }),
      ...halves(part.reasoning).map((thinking) => delta({ type: "thinking_delta", thinking })),
      delta({ type: "signature_delta", signature: part.seal ?? "seal" }),
      stop,
    ];
  const { id, name, json } = part.call;
  return [
    start({ type: "tool_use", id, name, input: {} }),
    ...halves(json).map((partial_json) => delta({ type: "input_json_delta", partial_json })),
    stop,
  ];
};

export const anthropic: Wire = {
  path: "/v1/messages",
  frames: ({ parts, stop, usage = { input_tokens: 10, output_tokens: 5 } }) =>
    [
      {
        type: "message_start",
        message: { id: "m1", type: "message", role: "assistant", content: [], model: "m", usage },
      },
      ...parts.flatMap(anthropicBlock),
      {
        type: "message_delta",
        delta: { stop_reason: stop ?? (hasCall(parts) ? "tool_use" : "end_turn"), stop_sequence: null },
        usage,
      },
      { type: "message_stop" },
    ].map(event),
  errorFrame: (type, message) => event({ type: "error", error: { type, message } }),
  errorBody: (type, message) => ({ type: "error", error: { type, message } }),
};

const chatDeltas = (parts: readonly WirePart[]): object[] => {
  let calls = 0;
  return parts.flatMap((part): object[] => {
    if ("text" in part) return halves(part.text).map((content) => ({ content }));
    if ("reasoning" in part) return halves(part.reasoning).map((reasoning_content) => ({ reasoning_content }));
    const index = calls++;
    const { id, name, json } = part.call;
    const [first = "", ...rest] = halves(json);
    return [
      { tool_calls: [{ index, id, type: "function", function: { name, arguments: first } }] },
      ...rest.map((more) => ({ tool_calls: [{ index, function: { arguments: more } }] })),
    ];
  });
};

export const chat: Wire = {
  path: "/v1/chat/completions",
  frames: ({ parts, stop, usage = { prompt_tokens: 10, completion_tokens: 5 } }) => {
    const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
      event({
        id: "c1",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta, finish_reason }],
        ...more,
      });
    return [
      chunk({ role: "assistant" }),
      ...chatDeltas(parts).map((delta) => chunk(delta)),
      chunk({}, stop ?? (hasCall(parts) ? "tool_calls" : "stop"), { usage }),
      "data: [DONE]\n\n",
    ];
  },
  errorFrame: (code, message) => event({ error: { message, code, type: code } }),
  errorBody: (code, message) => ({ error: { message, code, type: code, param: null } }),
};

const responsesItem = (part: WirePart, output_index: number): Fields[] => {
  const at = { output_index, sequence_number: 1 };
  const added = (item: object): Fields => ({ type: "response.output_item.added", ...at, item });
  const done = (item: object): Fields => ({ type: "response.output_item.done", ...at, item });
  if ("text" in part) {
    const item = { type: "message", id: `msg_${String(output_index)}`, role: "assistant" };
    return [
      added({ ...item, content: [], status: "in_progress" }),
      ...halves(part.text).map((delta) => ({
        type: "response.output_text.delta",
        ...at,
        item_id: item.id,
        content_index: 0,
        delta,
      })),
      done({ ...item, status: "completed", content: [{ type: "output_text", text: part.text, annotations: [] }] }),
    ];
  }
  if ("reasoning" in part) {
    const id = `rs_${String(output_index)}`;
    const summary = { item_id: id, summary_index: 0 };
    const whole = { type: "reasoning", id, encrypted_content: part.seal ?? "seal" };
    return [
      added({ type: "reasoning", id, summary: [] }),
      { type: "response.reasoning_summary_part.added", ...at, ...summary, part: { type: "summary_text", text: "" } },
      ...halves(part.reasoning).map((delta) => ({
        type: "response.reasoning_summary_text.delta",
        ...at,
        ...summary,
        delta,
      })),
      { type: "response.reasoning_summary_part.done", ...at, ...summary },
      done({ ...whole, summary: [{ type: "summary_text", text: part.reasoning }] }),
    ];
  }
  const { id: call_id, name, json } = part.call;
  const item = { type: "function_call", id: `fc_${String(output_index)}`, call_id, name };
  return [
    added({ ...item, arguments: "", status: "in_progress" }),
    ...halves(json).map((delta) => ({
      type: "response.function_call_arguments.delta",
      ...at,
      item_id: item.id,
      delta,
    })),
    done({ ...item, arguments: json, status: "completed" }),
  ];
};

export const responses: Wire = {
  path: "/v1/responses",
  frames: ({ parts, stop, usage = { input_tokens: 10, output_tokens: 5 } }) => {
    const response = { id: "r1", object: "response", created_at: 1, model: "m", usage };
    return [
      { type: "response.created", sequence_number: 0, response: { id: "r1", created_at: 1, model: "m" } },
      ...parts.flatMap(responsesItem),
      stop === undefined
        ? { type: "response.completed", sequence_number: 9, response }
        : {
            type: "response.incomplete",
            sequence_number: 9,
            response: { ...response, incomplete_details: { reason: stop } },
          },
    ].map(event);
  },
  errorFrame: (code, message) =>
    event({ type: "error", sequence_number: 2, error: { type: code, code, message, param: null } }),
  errorBody: (code, message) => ({ error: { message, code, type: code, param: null } }),
};
