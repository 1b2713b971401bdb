// Write: a whole file, new or replaced. It can tell afterwards by the content whether it happened.
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { TypedTool } from "../plugin.ts";
import { nameOf, readCurrent, refused, replaceFile } from "./files.ts";
import { isAsSeen, lastSeen, recordSeen, requireSeen } from "./seen.ts";

const Input = Type.Object(
  {
    file_path: Type.String({ minLength: 1, description: "The file, relative to the workspace or absolute." }),
    content: Type.String({ description: "All that the file is to hold." }),
  },
  { additionalProperties: false },
);
const input = Compile(Input);

const bytesOf = (content: string): Uint8Array => new TextEncoder().encode(content);

export const write: TypedTool<typeof Input> = {
  name: "Write",
  description: [
    "Writes a file whole, with the directories it needs. What it held before is gone.",
    "A file that exists must have been read before, and must not have changed since. To change a part of one, use Edit.",
  ].join("\n"),
  inputSchema: Input,
  effect: "write",
  async execute({ file_path, content }, context) {
    const before = await readCurrent(context, file_path);
    if (before !== null) requireSeen(context, before);
    const written = await replaceFile(context, file_path, before, bytesOf(content));
    recordSeen(context, "write", written);
    const name = nameOf(context.exec, written.path);
    const did = before === null ? "Created" : "Replaced";
    return { content: `${did} ${name} (${String(written.size)} bytes).`, resources: [name] };
  },
  /** Before the call the file held what was last seen of it; never seen means that there was none. */
  async verify(receipt, context) {
    if (!input.Check(receipt.input)) return "unknown";
    const { file_path, content } = receipt.input;
    const now = await readCurrent(context, file_path);
    if (now !== null && Buffer.compare(now.bytes, bytesOf(content)) === 0) {
      recordSeen(context, "write", now);
      return "done";
    }
    const place = await context.exec.resolve(file_path).catch((error: unknown) => {
      throw refused(error);
    });
    const known = lastSeen(context, nameOf(context.exec, place));
    const isAsBefore = now === null ? known === undefined : isAsSeen(context, now, known);
    return isAsBefore ? "absent" : "unknown";
  },
};
