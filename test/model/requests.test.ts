// What each provider is sent: cache marks, ids, thoughts sent back to whoever thought them, images and PDFs, notes in place
// of files that do not fit.
import { describe, expect, test } from "vitest";
import type { AssistantPart, FilePart, Message } from "../../src/core/messages.ts";
import type { ModelRequest } from "../../src/core/request.ts";
import { collectParts, replyOf } from "../../src/model/model.contract.ts";
import type { ModelContext } from "../../src/model/model.ts";
import { jpeg, pdf, png } from "./media-samples.ts";
import { asking, context, kinds, openAt, openServer, replying, requestOf, type Kind } from "./provider-server.ts";
import type { WirePart } from "./wires.ts";

/** What was sent for a request, as JSON. */
const sent = async (
  { name, wire }: Kind,
  request: ModelRequest,
  more: Partial<ModelContext> = {},
): Promise<Record<string, unknown>> => {
  const server = await openServer(replying(wire, { parts: [{ text: "ok" }] }));
  await collectParts(await openAt(name, server.url), { request, context: { ...context, ...more } });
  const [received] = server.received;
  expect(received?.path).toBe(wire.path);
  return JSON.parse(received?.body ?? "") as Record<string, unknown>;
};

const kindOf = (start: string): Kind => {
  const kind = kinds.find(({ name }) => name.startsWith(`${start}/`));
  if (kind === undefined) throw new Error(`no kind ${start}`);
  return kind;
};
const anthropic = kindOf("anthropic");
const openai = kindOf("openai");
const openaiChat = kindOf("openai-chat");
const compatible = kindOf("compatible");

const said = (words: string, seq = 4): Message => ({ seq, role: "user", content: [{ type: "text", text: words }] });

/** The assistant message that the fold makes of a reply with these parts. */
const repliedBy = async ({ name, wire }: Kind, parts: readonly WirePart[]): Promise<AssistantPart[]> => {
  const server = await openServer(replying(wire, { parts }));
  const { message } = replyOf(await collectParts(await openAt(name, server.url), { request: asking("go"), context }));
  // A provider that keeps its thoughts to itself has fewer parts: here calls are named as if they stood third and fourth.
  let calls = 2;
  return message.parts.map((part) => (part.type === "call" ? { ...part, id: `c6_${String(calls++)}` } : part));
};

const turn = async (kind: Kind, by: Kind = kind): Promise<ModelRequest> => {
  const parts = await repliedBy(by, [
    { reasoning: "I should look.", seal: "c2VhbGVk" },
    { text: "I look." },
    { call: { id: "call_0", name: "Read", json: '{"file_path":"a.txt"}' } },
    { call: { id: "call_0", name: "Read", json: '{"file_path":"b.txt"}' } },
  ]);
  const results = [
    { callId: "c6_2", name: "Read", status: "ok" as const, content: [{ type: "text" as const, text: "alpha" }] },
    { callId: "c6_3", name: "Read", status: "error" as const, content: [{ type: "text" as const, text: "no file" }] },
  ];
  return requestOf([said("look"), { seq: 6, role: "assistant", parts }, { seq: 9, role: "tool", results }]);
};

const mark = { type: "ephemeral" };

test("anthropic: two cached system blocks, the breakpoint on the newest message, thoughts with their seal", async () => {
  expect(await sent(anthropic, await turn(anthropic))).toMatchObject({
    model: "claude-sonnet-4-5",
    stream: true,
    system: [
      { type: "text", text: "You are tested.", cache_control: mark },
      { type: "text", text: "Be brief.", cache_control: mark },
    ],
    tools: [{ name: "Read", description: "Reads a file.", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: "look" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "I should look.", signature: "c2VhbGVk" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "c6_2", name: "Read", input: { file_path: "a.txt" } },
          { type: "tool_use", id: "c6_3", name: "Read", input: { file_path: "b.txt" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c6_2", content: "alpha" },
          { type: "tool_result", tool_use_id: "c6_3", content: "no file", is_error: true, cache_control: mark },
        ],
      },
    ],
  });
});

test("openai: nothing is stored there, and thoughts come back encrypted", async () => {
  const body = await sent(openai, await turn(openai));
  expect(body).toMatchObject({
    model: "gpt-5",
    store: false,
    include: ["reasoning.encrypted_content"],
    tools: [{ type: "function", name: "Read", strict: false }],
    input: [
      { role: "developer", content: "You are tested." },
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: "look" }] },
      { type: "reasoning", encrypted_content: "c2VhbGVk", summary: [{ text: "I should look." }] },
      { role: "assistant", content: "I look." },
      { type: "function_call", call_id: "c6_2", name: "Read", arguments: '{"file_path":"a.txt"}' },
      { type: "function_call", call_id: "c6_3", name: "Read", arguments: '{"file_path":"b.txt"}' },
      { type: "function_call_output", call_id: "c6_2", output: "alpha" },
      { type: "function_call_output", call_id: "c6_3" },
    ],
  });
  expect(JSON.stringify(body)).not.toContain("item_reference");
});

test.each([openaiChat, compatible])("$name: calls and results pair by perdure's ids", async (kind) => {
  expect(await sent(kind, await turn(kind))).toMatchObject({
    messages: [
      { role: "system", content: "You are tested." },
      { role: "system", content: "Be brief." },
      { role: "user", content: "look" },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          { id: "c6_2", function: { name: "Read", arguments: '{"file_path":"a.txt"}' } },
          { id: "c6_3", function: { name: "Read", arguments: '{"file_path":"b.txt"}' } },
        ],
      },
      { role: "tool", tool_call_id: "c6_2", content: "alpha" },
      { role: "tool", tool_call_id: "c6_3" },
    ],
  });
});

test("compatible: thoughts go back as the server gave them", async () => {
  const { messages } = await sent(compatible, await turn(compatible));
  expect(messages).toContainEqual(expect.objectContaining({ reasoning_content: "I should look." }));
});

test.each([
  [anthropic, openai],
  [openai, anthropic],
  [compatible, anthropic],
  [anthropic, compatible],
])("$0.name is sent no thought of $1.name, but all that it said and called", async (kind, by) => {
  const body = JSON.stringify(await sent(kind, await turn(kind, by)));
  expect(body).not.toContain("I should look.");
  expect(body).not.toContain("c2VhbGVk");
  for (const kept of ["I look.", "c6_2", "c6_3", "alpha"]) expect(body).toContain(kept);
});

test("another model of the same provider is sent no thought either", async () => {
  const request = await turn(anthropic);
  const other = { ...anthropic, name: "anthropic/claude-opus-4-1" };
  expect(JSON.stringify(await sent(other, request))).not.toContain("I should look.");
});

test("openai: a thought that came without its encrypted content is left out: nobody can look it up", async () => {
  const request = await turn(openai);
  const text = JSON.stringify(request).replace(
    '"reasoningEncryptedContent":"c2VhbGVk"',
    '"reasoningEncryptedContent":null',
  );
  const body = await sent(openai, JSON.parse(text) as ModelRequest);
  expect(JSON.stringify(body)).not.toContain("rs_0");
});

test("settings of the task reach the provider, over the adapter's own", async () => {
  const request = requestOf([said("hi")], {
    maxOutputTokens: 77,
    temperature: 0.25,
    providerOptions: { openai: { metadata: { a: "b" } }, anthropic: { metadata: { userId: "u" } } },
  });
  expect(await sent(anthropic, request)).toMatchObject({
    max_tokens: 77,
    temperature: 0.25,
    metadata: { user_id: "u" },
  });
  expect(await sent(openai, request)).toMatchObject({ max_output_tokens: 77, store: false, metadata: { a: "b" } });
});

test("half a surrogate pair leaves no provider with a request that it cannot read", async () => {
  const broken = "cut \ud83d here";
  for (const kind of kinds) {
    const parts: AssistantPart[] = [{ type: "call", id: "c1_0", name: "Read", input: { file_path: broken } }];
    const results = [
      { callId: "c1_0", name: "Read", status: "ok" as const, content: [{ type: "text" as const, text: broken }] },
    ];
    const messages: Message[] = [said(broken), { seq: 6, role: "assistant", parts }, { seq: 9, role: "tool", results }];
    const body = JSON.stringify(await sent(kind, requestOf(messages)));
    expect(body).not.toMatch(/\\ud83d/);
    expect(body.split("cut \ufffd here").length - 1).toBe(3);
  }
});

const fileOf = (name: string, mediaType: string, bytes: Uint8Array): FilePart => ({
  type: "file",
  name: `attached/k/1/${name}`,
  mediaType,
  size: bytes.length,
});

const stored = (...files: readonly [string, Uint8Array][]): Partial<ModelContext> => {
  const byName = new Map(files.map(([name, bytes]) => [`attached/k/1/${name}`, bytes]));
  return { file: (name) => Promise.resolve(byName.get(name) ?? null) };
};

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

const showing = (...files: readonly FilePart[]): ModelRequest =>
  requestOf([{ seq: 4, role: "user", content: [{ type: "text", text: "see" }, ...files] }]);

describe("images and PDFs", () => {
  const image = fileOf("a.png", "image/png", png(3, 2));
  const photo = fileOf("b.jpg", "image/jpg", jpeg(5, 4));
  const paper = fileOf("c.pdf", "application/pdf", pdf());
  const files = stored(["a.png", png(3, 2)], ["b.jpg", jpeg(5, 4)], ["c.pdf", pdf()]);

  test("anthropic takes them as blocks; the breakpoint stands on the last", async () => {
    expect(await sent(anthropic, showing(image, photo, paper), files)).toMatchObject({
      messages: [
        {
          content: [
            { type: "text", text: "see" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: base64(png(3, 2)) } },
            { type: "image", source: { media_type: "image/jpeg", data: base64(jpeg(5, 4)) } },
            { type: "document", title: "c.pdf", source: { media_type: "application/pdf" }, cache_control: mark },
          ],
        },
      ],
    });
  });

  test("openai takes them as parts, in Responses and in chat completions", async () => {
    const inlined = `data:image/png;base64,${base64(png(3, 2))}`;
    expect(await sent(openai, showing(image, paper), files)).toMatchObject({
      input: expect.arrayContaining([
        {
          role: "user",
          content: [
            { type: "input_text", text: "see" },
            { type: "input_image", image_url: inlined },
            { type: "input_file", filename: "c.pdf", file_data: `data:application/pdf;base64,${base64(pdf())}` },
          ],
        },
      ]),
    });
    const { messages } = await sent(openaiChat, showing(image, paper), files);
    expect((messages as unknown[]).at(-1)).toMatchObject({
      content: [{ type: "text" }, { type: "image_url", image_url: { url: inlined } }, { type: "file" }],
    });
  });

  test("a compatible server is sent images, and a note for a PDF", async () => {
    const { messages } = await sent(compatible, showing(image, paper), files);
    expect((messages as unknown[]).at(-1)).toMatchObject({
      content: [
        { type: "text" },
        { type: "image_url" },
        {
          type: "text",
          text: `[The file c.pdf (application/pdf, ${String(pdf().length)} bytes) is not shown: this model takes no PDF.]`,
        },
      ],
    });
  });

  const result = (...content: readonly FilePart[]): ModelRequest =>
    requestOf([
      said("look"),
      { seq: 6, role: "assistant", parts: [{ type: "call", id: "c6_0", name: "Shot", input: {} }] },
      { seq: 9, role: "tool", results: [{ callId: "c6_0", name: "Shot", status: "ok", content: [...content] }] },
    ]);

  test("a tool's image stands in its result where the provider takes it there, and after it where not", async () => {
    const { messages } = await sent(anthropic, result(image), files);
    expect((messages as unknown[]).at(-1)).toMatchObject({
      content: [{ type: "tool_result", tool_use_id: "c6_0", content: [{ type: "image" }], cache_control: mark }],
    });
    const { input } = await sent(openai, result(image), files);
    expect((input as unknown[]).at(-1)).toMatchObject({
      type: "function_call_output",
      output: [{ type: "input_image" }],
    });
    for (const kind of [openaiChat, compatible]) {
      const { messages: chat } = await sent(kind, result(image), files);
      expect((chat as unknown[]).slice(-2)).toMatchObject([
        { role: "tool", tool_call_id: "c6_0", content: "[What it shows follows.]" },
        {
          role: "user",
          content: [{ type: "text", text: "[From the result of Shot, call c6_0:]" }, { type: "image_url" }],
        },
      ]);
    }
  });

  test("an oversized or mislabelled file becomes a note, said once, and the request goes out", async () => {
    const big = new Uint8Array(4_000_000);
    big.set(png(3, 2));
    const notes: string[] = [];
    const more = {
      ...stored(["big.png", big], ["fake.png", jpeg(5, 4)]),
      note: (message: string) => notes.push(message),
    };
    const wrong = [fileOf("big.png", "image/png", big), fileOf("fake.png", "image/png", jpeg(5, 4))];
    const request = showing(...wrong);
    const body = JSON.stringify(await sent(anthropic, request, more));
    expect(body).not.toContain('"type":"image"');
    expect(notes).toEqual([
      "[The file big.png (image/png, 4000000 bytes) is not shown: it is larger than the 3.7 MB that this model takes of one image.]",
      expect.stringMatching(
        /^\[The file fake\.png .* it is labelled image\/png, but its bytes are those of image\/jpeg\.\]$/,
      ),
    ]);
    for (const note of notes) expect(body).toContain(note);
    // Said when the words are new, and at their first attempt: the note itself stands in every request.
    await sent(anthropic, request, { ...more, attempt: 2 });
    const reply: Message = { seq: 6, role: "assistant", parts: [{ type: "text", text: "ok" }] };
    const later = JSON.stringify(await sent(anthropic, requestOf([...request.messages, reply, said("and?", 8)]), more));
    for (const note of notes) expect(later).toContain(note);
    expect(notes).toHaveLength(2);
  });

  test("a file that is gone, or was replaced, becomes a note", async () => {
    const gone = JSON.stringify(await sent(anthropic, showing(image)));
    expect(gone).toContain("is not shown: it is not there any more.");
    const other = JSON.stringify(await sent(anthropic, showing(image), stored(["a.png", png(9, 9, 10)])));
    expect(other).toContain("is not shown: it was replaced by another");
  });

  test("a text file goes as its words", async () => {
    const words = new TextEncoder().encode("one\ntwo");
    const body = await sent(anthropic, showing(fileOf("n.txt", "text/plain", words)), stored(["n.txt", words]));
    expect(JSON.stringify(body)).toContain(JSON.stringify("[The file n.txt:]\none\ntwo").slice(1, -1));
  });

  test("where one request cannot hold all files, the newest are shown", async () => {
    const bytes = new Uint8Array(3_900_000);
    bytes.set(png(3, 2));
    const many = Array.from({ length: 6 }, (_, index) => fileOf(`${String(index)}.png`, "image/png", bytes));
    const all = stored(...many.map((_, index): [string, Uint8Array] => [`${String(index)}.png`, bytes]));
    const { messages } = await sent(anthropic, showing(...many), all);
    const [, ...parts] = (messages as { content: { type: string }[] }[])[0]?.content ?? [];
    expect(parts.map(({ type }) => type)).toEqual(["text", "text", "image", "image", "image", "image"]);
  });
});
