// Edit: one text in a file replaced by another. It can tell afterwards by the content whether it happened.
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { NothingHappened, type TypedTool } from "../plugin.ts";
import { nameOf, readCurrent, replaceFile } from "./files.ts";
import { isAsSeen, lastSeen, recordSeen, requireSeen } from "./seen.ts";
import { counted, decodeText, encodeText, withLf, type FileText } from "./text.ts";
import { comesFrom } from "./undo.ts";

const Input = Type.Object(
  {
    file_path: Type.String({ minLength: 1, description: "The file, relative to the workspace or absolute." }),
    old_string: Type.String({ minLength: 1, description: "The text to replace, exactly as it stands in the file." }),
    new_string: Type.String({ description: "The text to put in its place." }),
    replace_all: Type.Optional(
      Type.Boolean({ description: "Replace every occurrence. Default false: there must be exactly one." }),
    ),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;
const input = Compile(Input);

/** The input in the line breaks of the text that it is about. */
const fitted = (edit: Input, { crlf }: FileText): Input =>
  crlf ? { ...edit, old_string: withLf(edit.old_string), new_string: withLf(edit.new_string) } : edit;

/** The text after the edit, and the number of places. Throws NothingHappened where it does not apply. */
const applied = (file: FileText, edit: Input, name: string): { readonly text: string; readonly places: number } => {
  const { old_string, new_string, replace_all = false } = fitted(edit, file);
  if (old_string === new_string) throw new NothingHappened("old_string and new_string are the same.");
  const pieces = file.text.split(old_string);
  const places = pieces.length - 1;
  if (places === 0)
    throw new NothingHappened(`old_string does not occur in ${name}. Read it and copy the text exactly.`);
  if (places > 1 && !replace_all) {
    throw new NothingHappened(
      `old_string occurs ${String(places)} times in ${name}. Give more of the text around it, or set replace_all.`,
    );
  }
  return { text: pieces.join(new_string), places };
};

export const edit: TypedTool<typeof Input> = {
  name: "Edit",
  description: [
    "Replaces old_string by new_string in a file that was read before and has not changed since.",
    "old_string must match exactly, white space included, and without the line numbers that Read shows.",
  ].join("\n"),
  inputSchema: Input,
  effect: "write",
  async execute(given, context) {
    const { file_path } = given;
    const before = await readCurrent(context, file_path);
    if (before === null) throw new NothingHappened(`${file_path} does not exist. Use Write to create it.`);
    requireSeen(context, before);
    const name = nameOf(context.exec, before.path);
    const file = decodeText(before.bytes);
    if (file === null) throw new NothingHappened(`${name} is not text: it is binary, or not UTF-8.`);
    const { text, places } = applied(file, given, name);
    const written = await replaceFile(context, file_path, before, encodeText({ ...file, text }));
    recordSeen(context, "write", written);
    return { content: `Edited ${name} (${counted(places, "place")}).`, resources: [name] };
  },
  /** Before the call the file held what was last seen of it. */
  async verify(receipt, context) {
    if (!input.Check(receipt.input)) return "unknown";
    const now = await readCurrent(context, receipt.input.file_path);
    const known = now === null ? undefined : lastSeen(context, nameOf(context.exec, now.path));
    if (now === null || known === undefined) return "unknown";
    if (isAsSeen(context, now, known)) return "absent";
    const after = decodeText(now.bytes);
    if (after === null) return "unknown";
    const { old_string, new_string, replace_all = false } = fitted(receipt.input, after);
    const bytesOf = (text: string): Uint8Array => encodeText({ ...after, text });
    const made = { removed: bytesOf(old_string), added: bytesOf(new_string), everywhere: replace_all };
    const isOriginal = (digest: string): boolean => isAsSeen(context, { ...now, digest }, known);
    if (!(await comesFrom(now.bytes, made, isOriginal))) return "unknown";
    recordSeen(context, "write", now);
    return "done";
  },
};
