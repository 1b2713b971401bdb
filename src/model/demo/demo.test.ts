import { expect, test } from "vitest";
import { textOf, type AssistantPart, type Message, type ResultStatus } from "../../core/messages.ts";
import type { ModelRequest } from "../../core/request.ts";
import { collectParts, modelContract, replyOf, type ModelCase } from "../model.contract.ts";
import { createDemoModel } from "./demo.ts";

const context = { taskId: "t", replies: 0, attempt: 1, purpose: "turn" };
const tools = ["Edit", "Glob", "Read", "Write"].map((name) => ({ name, description: "", inputSchema: {} }));

type Said =
  string | { readonly call: string; readonly input: unknown; readonly result: string; readonly status?: ResultStatus };

/** A conversation: what the person said, and calls with their results. */
const requestOf = (said: readonly Said[], given: ModelRequest["tools"] = tools): ModelRequest => {
  const messages: Message[] = [];
  for (const [seq, each] of said.entries()) {
    if (typeof each === "string") {
      messages.push({ seq, role: "user", content: [{ type: "text", text: each }] });
      continue;
    }
    const { call: name, input, result, status = "ok" } = each;
    const id = `c${String(seq)}_0`;
    const parts: AssistantPart[] = [{ type: "call", name, input, id }];
    messages.push({ seq, role: "assistant", parts });
    const content = [{ type: "text" as const, text: result }];
    messages.push({ seq, role: "tool", results: [{ callId: id, name, status, content }] });
  }
  return { model: "demo", system: [], tools: given, messages, cacheAt: messages.length - 1 };
};

const answerTo = async (said: readonly Said[], given = tools) => {
  const request = requestOf(said, given);
  const { message, stopReason } = replyOf(await collectParts(createDemoModel(), { request, context }));
  const calls = message.parts.flatMap((part) => (part.type === "call" ? [[part.name, part.input]] : []));
  expect(stopReason).toBe(calls.length > 0 ? "tool_use" : "end_turn");
  return { text: textOf(message.parts), calls };
};

const readA = { call: "Read", input: { file_path: "a.txt" }, result: "1\thello world" };
const modelCase = (name: string, ...said: Said[]): ModelCase => ({ case: name, request: requestOf(said), context });

modelContract("demo", {
  open: createDemoModel,
  replies: [
    modelCase("a greeting", "hello"),
    modelCase("a call", "what is in a.txt?"),
    modelCase("an answer from a result", "what is in a.txt?", readA),
    modelCase("a result and a new wish", "what is in a.txt?", readA, "and in b.txt?"),
    { case: "nothing said", request: requestOf([]), context },
  ],
});

test.for([
  ["hello", "Hello. I can read a file"],
  ["What can you do?", "Hello. I can read a file"],
  ["sing", "I do not understand. I can read a file"],
  ["", "I do not understand. I can read a file"],
] as const)("%j is answered without a tool, and by what is no language model", async ([said, begins]) => {
  const { text, calls } = await answerTo([said]);
  expect(calls).toEqual([]);
  expect(text.startsWith(begins)).toBe(true);
  expect(text).toContain("I am the demo model: a few rules, no language model.");
});

test.for([
  ["what is in a.txt?", "a.txt"],
  ["What does `docs/guide.md` say", "docs/guide.md"],
  ["please read LICENSE", "LICENSE"],
  ["Show me the file Makefile.", "Makefile"],
  ['how long is "src/a-b.test.ts"?', "src/a-b.test.ts"],
] as const)("%j reads the file", async ([said, path]) => {
  expect((await answerTo([said])).calls).toEqual([["Read", { file_path: path }]]);
});

test("a file's content is quoted and its lines are counted", async () => {
  expect((await answerTo(["what is in a.txt?", readA])).text).toMatch(
    /^a\.txt has 1 line\. It says:\n\nhello world\n\n/,
  );
  const five = { ...readA, result: "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive" };
  expect((await answerTo(["read a.txt", five])).text).toMatch(
    /^a\.txt has 5 lines\. It begins:\n\none\ntwo\nthree\n…\n\n/,
  );
  const cut = { ...readA, result: "1\tone\n2\ttwo\n(lines 1 to 2 of 9)" };
  expect((await answerTo(["read a.txt", cut])).text).toMatch(/^a\.txt has at least 2 lines\./);
  const empty = { ...readA, result: "(the file is empty)" };
  expect((await answerTo(["read a.txt", empty])).text).toMatch(/^a\.txt: \(the file is empty\)/);
});

test("it means the file that was spoken of last", async () => {
  const said = ["what is in a.txt?", readA, "read it again"];
  expect((await answerTo(said)).calls).toEqual([["Read", { file_path: "a.txt" }]]);
  expect((await answerTo(["read it again"])).text).toMatch(/^I do not understand\./);
});

test("files are listed, all or by a pattern", async () => {
  expect((await answerTo(["list the files"])).calls).toEqual([["Glob", { pattern: "**/*" }]]);
  expect((await answerTo(["which files match src/*.ts?"])).calls).toEqual([["Glob", { pattern: "src/*.ts" }]]);
  const listed = { call: "Glob", input: { pattern: "**/*" }, result: "a.txt\nb.txt" };
  expect((await answerTo(["list the files", listed])).text).toContain("a.txt\nb.txt");
});

test("a file is written with the words that were given", async () => {
  const wish = 'write "hello there" to notes/b.txt.';
  const input = { file_path: "notes/b.txt", content: "hello there" };
  expect((await answerTo([wish])).calls).toEqual([["Write", input]]);
  expect((await answerTo([wish, { call: "Write", input, result: "Wrote it." }])).text).toContain(
    "I wrote notes/b.txt.",
  );
});

test.for([
  ["error", "I could not read a.txt: no such file"],
  ["denied", "I was not allowed to read a.txt: no such file"],
  ["skipped", "I did not read a.txt: no such file"],
] as const)("a call that ended %s is told and not made again", async ([status, says]) => {
  const { text, calls } = await answerTo(["what is in a.txt?", { ...readA, status, result: "no such file" }]);
  expect(calls).toEqual([]);
  expect(text.startsWith(says)).toBe(true);
});

test("a wish that came while a call ran is served together with its result", async () => {
  const { text, calls } = await answerTo(["what is in a.txt?", readA, "and in b.txt?"]);
  expect(text).toContain("hello world");
  expect(calls).toEqual([["Read", { file_path: "b.txt" }]]);
});

test("without the tool it says so", async () => {
  const { text, calls } = await answerTo(["what is in a.txt?"], []);
  expect(calls).toEqual([]);
  expect(text).toMatch(/^I cannot do that here: this agent has no tool named Read\./);
});
