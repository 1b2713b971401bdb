// A script: JSON Lines, one reply a line, checked whole before the first is used.
//
//   {"text"?, "reasoning"?, "calls"?: [{"name", "input"}], "usage"?, "delayMs"?, "error"?: {"class", "retryAfterMs"?}}
//
// A line with an `error` gives no reply: it is a failed attempt at the reply of the next line without one.
import { readFile } from "node:fs/promises";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { Tokens } from "../../core/events.ts";
import { Json } from "../../core/messages.ts";
import type { ModelErrorClass } from "../model.ts";

const strict = { additionalProperties: false };
const { Optional } = Type;

const classes = [
  "overloaded",
  "rate_limited",
  "overflow",
  "refused",
  "auth",
  "network",
  "bad_request",
  "aborted",
] as const satisfies readonly ModelErrorClass[];

export const ScriptLine = Type.Object(
  {
    text: Optional(Type.String()),
    reasoning: Optional(Type.String()),
    calls: Optional(Type.Array(Type.Object({ name: Type.String(), input: Json }, strict))),
    /** Where absent, the reply's tokens are unknown. */
    usage: Optional(Type.Exclude(Tokens, Type.Literal("unknown"))),
    /** How long the attempt takes before it says anything. */
    delayMs: Optional(Type.Integer({ minimum: 0 })),
    error: Optional(
      Type.Object({ class: Type.Enum([...classes]), retryAfterMs: Optional(Type.Integer({ minimum: 0 })) }, strict),
    ),
  },
  strict,
);
export type ScriptLine = Static<typeof ScriptLine>;

/** A script that cannot be used. The message is one line and names the file and the line. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";
}

const validator = Compile(ScriptLine);

/** Keywords that only say that another failed. */
const isCause = ({ keyword }: { readonly keyword: string }): boolean => keyword !== "anyOf" && keyword !== "boolean";

const faultOf = (value: unknown): string | null => {
  if (!validator.Check(value)) {
    const error = validator.Errors(value).find(isCause);
    const field = error?.instancePath.slice(1).replaceAll("/", ".") ?? "";
    const names = (error?.params as { additionalProperties?: readonly string[] } | undefined)?.additionalProperties;
    const detail = names === undefined ? "" : ` (${names.join(", ")})`;
    return `${field === "" ? "the line" : field} ${error?.message ?? "is no reply"}${detail}`;
  }
  const says = ["text", "reasoning", "calls"].filter((key) => Object.hasOwn(value as object, key));
  return Object.hasOwn(value as object, "error") && says.length > 0
    ? `an error gives no reply, so it has no ${says.join(" and no ")}`
    : null;
};

const parseLine = (text: string, place: string): ScriptLine => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ScriptError(`${place}: not JSON: ${(cause as Error).message}`, { cause });
  }
  const fault = faultOf(value);
  if (fault !== null) throw new ScriptError(`${place}: ${fault}`);
  return value as ScriptLine;
};

/** The lines of a script's text; empty ones are passed over. `name` stands in errors. Throws ScriptError. */
export const parseScript = (text: string, name: string): ScriptLine[] =>
  text
    .split("\n")
    .map((line, index) => ({ line: line.trim(), place: `${name}:${String(index + 1)}` }))
    .filter(({ line }) => line !== "")
    .map(({ line, place }) => parseLine(line, place));

/** Reads a script whole. Throws ScriptError. */
export const loadScript = async (path: string): Promise<ScriptLine[]> => {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    const known: Record<string, string> = { ENOENT: "no such file", EISDIR: "is a directory" };
    throw new ScriptError(`${path}: ${known[code] ?? message}`, { cause });
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ScriptError(`${path}: not UTF-8 text`, { cause });
  }
  return parseScript(text, path);
};
