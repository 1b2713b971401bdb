import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ScriptError, loadScript, parseScript } from "./script.ts";

const folder = mkdtempSync(join(tmpdir(), "script-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("every field of the format is read, and empty lines are passed over", () => {
  const lines = [
    { text: "a", reasoning: "b", calls: [{ name: "Read", input: null }], usage: { input: 1, output: 2 }, delayMs: 0 },
    { error: { class: "overloaded", retryAfterMs: 5 }, delayMs: 1 },
    {},
  ];
  const text = lines.map((line) => JSON.stringify(line)).join("\r\n\n");
  expect(parseScript(`${text}\n`, "s")).toEqual(lines);
});

test.for([
  ["{", "s.jsonl:2: not JSON: "],
  ["[]", "s.jsonl:2: the line must be object"],
  ["null", "s.jsonl:2: the line must be object"],
  ['{"txt":"a"}', "s.jsonl:2: the line must not have additional properties (txt)"],
  ['{"text":1}', "s.jsonl:2: text must be string"],
  ['{"calls":[{"name":"Read"}]}', "s.jsonl:2: calls.0 must have required properties input"],
  ['{"calls":[{"name":5,"input":{}}]}', "s.jsonl:2: calls.0.name must be string"],
  ['{"usage":{"input":1}}', "s.jsonl:2: usage must have required properties output"],
  ['{"delayMs":-1}', "s.jsonl:2: delayMs must be >= 0"],
  ['{"error":{"class":"odd"}}', "s.jsonl:2: error.class must be equal to one of the allowed values"],
  ['{"error":{"class":"auth"},"text":"a"}', "s.jsonl:2: an error gives no reply, so it has no text"],
] as const)("%s is refused with its file and line", ([line, message]) => {
  const parse = () => parseScript(`{"text":"fine"}\n${line}\n`, "s.jsonl");
  expect(parse).toThrow(ScriptError);
  expect(parse).toThrow(message);
  expect(parse).toThrow(/^[^\n]*$/);
});

test("a file is read from disk, with or without a byte order mark", async () => {
  const path = join(folder, "replies.jsonl");
  writeFileSync(path, '\uFEFF{"text":"a"}\n{"text":"b"}');
  expect(await loadScript(path)).toEqual([{ text: "a" }, { text: "b" }]);
});

test("what is no script file is refused by name", async () => {
  const missing = join(folder, "none.jsonl");
  await expect(loadScript(missing)).rejects.toEqual(new ScriptError(`${missing}: no such file`));
  await expect(loadScript(folder)).rejects.toEqual(new ScriptError(`${folder}: is a directory`));
  const binary = join(folder, "binary");
  writeFileSync(binary, Uint8Array.of(0xff, 0xfe, 0));
  await expect(loadScript(binary)).rejects.toEqual(new ScriptError(`${binary}: not UTF-8 text`));
});
