// Read: a text file's lines with their numbers.
import { Type } from "typebox";
import { ExecError, type FileContent } from "../../exec/exec.ts";
import { NothingHappened, type ToolContext, type TypedTool } from "../plugin.ts";
import { nameOf, refused } from "./files.ts";
import { recordSeen } from "./seen.ts";
import { counted, cut, decodeText } from "./text.ts";

const LINES = 2_000;
const LINE_CHARS = 2_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** Formats that models can be shown as a picture or a document, but not as text. */
const MEDIA = /\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|avif|heic|pdf)$/i;

const Input = Type.Object(
  {
    file_path: Type.String({ minLength: 1, description: "The file, relative to the workspace or absolute." }),
    offset: Type.Optional(Type.Integer({ minimum: 1, description: "The first line to read, from 1. Default 1." })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, description: `How many lines to read. Default ${String(LINES)}.` }),
    ),
  },
  { additionalProperties: false },
);

const open = async (context: ToolContext, path: string): Promise<FileContent> => {
  try {
    return await context.exec.readFile({ path, maxBytes: MAX_BYTES, signal: context.signal });
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    if (error.code === "is_directory") throw new NothingHappened(`${path} is a directory. Use Glob to list its files.`);
    if (error.code === "too_large") {
      throw new NothingHappened(`${path} is over ${String(MAX_BYTES)} bytes. Use Grep to find what you need in it.`);
    }
    throw refused(error);
  }
};

/** The lines of a text. A line break at the end closes the last one and begins none. */
const linesOf = (text: string): string[] => {
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

export const read: TypedTool<typeof Input> = {
  name: "Read",
  description: [
    "Reads a text file and returns its lines, each as its number, a tab and the text.",
    `Without offset and limit it returns the first ${String(LINES)} lines; lines over ${String(LINE_CHARS)} characters are cut.`,
    "A file must be read before it is edited or overwritten.",
  ].join("\n"),
  inputSchema: Input,
  effect: "read",
  async execute({ file_path, offset = 1, limit = LINES }, context) {
    const file = await open(context, file_path);
    const name = nameOf(context.exec, file.path);
    const media = MEDIA.exec(name);
    if (media !== null)
      throw new NothingHappened(`${name} is not text (${media[0].slice(1)}); it cannot be read here.`);
    const decoded = decodeText(file.bytes);
    if (decoded === null) throw new NothingHappened(`${name} is not text: it is binary, or not UTF-8.`);
    const lines = linesOf(decoded.text);
    if (offset > Math.max(1, lines.length)) {
      throw new NothingHappened(`${name} has ${counted(lines.length, "line")}; there is no line ${String(offset)}.`);
    }
    recordSeen(context, "read", file);
    if (lines.length === 0) return "(the file is empty)";
    const shown = lines.slice(offset - 1, offset - 1 + limit);
    const numbered = shown.map((line, index) => `${String(offset + index)}\t${cut(line, LINE_CHARS)}`);
    const end = offset - 1 + shown.length;
    if (end === lines.length) return numbered.join("\n");
    const range = `(lines ${String(offset)} to ${String(end)} of ${String(lines.length)}; go on with offset ${String(end + 1)})`;
    return [...numbered, range].join("\n");
  },
};
