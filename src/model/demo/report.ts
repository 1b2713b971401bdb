// What the demo model says about the results of its calls.
import { textOf, type CallResult, type RequestCall } from "../../core/messages.ts";

/** Lines that are quoted of a file, and names of a list. */
const QUOTED_LINES = 3;
const LISTED_FILES = 20;

const field = (call: RequestCall, name: string): string => {
  const value = (call.input as Record<string, unknown> | null)?.[name];
  return typeof value === "string" ? value : "";
};

const head = (lines: readonly string[], limit: number): string =>
  [...lines.slice(0, limit), ...(lines.length > limit ? ["…"] : [])].join("\n");

/** Read's result: numbered lines, and a last line without a number where the file goes on. */
const describeFile = (path: string, result: string): string => {
  const all = result.split("\n");
  const lines = all.filter((line) => /^\s*\d+\t/.test(line)).map((line) => line.slice(line.indexOf("\t") + 1));
  if (lines.length === 0) return `${path}: ${result}`;
  const more = lines.length < all.length ? "at least " : "";
  const says = lines.length > QUOTED_LINES ? "It begins:" : "It says:";
  return `${path} has ${more}${String(lines.length)} line${lines.length === 1 ? "" : "s"}. ${says}\n\n${head(lines, QUOTED_LINES)}`;
};

const intention = (call: RequestCall): string => {
  if (call.name === "Read") return `read ${field(call, "file_path")}`;
  if (call.name === "Write") return `write ${field(call, "file_path")}`;
  return call.name === "Glob" ? "list the files" : `use ${call.name}`;
};

const happened = { error: "could not", denied: "was not allowed to", skipped: "did not" } as const;

/** One call and its result, in a few words and a quote. */
export const describeResult = (call: RequestCall, { status, content }: CallResult): string => {
  const result = textOf(content);
  if (status !== "ok") return `I ${happened[status]} ${intention(call)}: ${result}`;
  if (call.name === "Read") return describeFile(field(call, "file_path"), result);
  if (call.name === "Glob") return `I looked for files:\n\n${head(result.split("\n"), LISTED_FILES)}`;
  if (call.name === "Write") return `I wrote ${field(call, "file_path")}.`;
  return `${call.name} said: ${head(result.split("\n"), QUOTED_LINES)}`;
};
