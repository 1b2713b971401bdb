// ripgrep, run through exec: what Glob and Grep share.
import { NothingHappened, type ToolContext } from "../plugin.ts";
import { nameOf, refused } from "./files.ts";

/** Hidden files are files too; what version control and perdure keep for themselves is not the task's. */
const ALWAYS = ["--no-config", "--color=never", "--hidden", "--glob=!.git", "--glob=!.perdure", "--sort=path"];

/** Imported when first used: on a platform that the package has no binary for, the other tools still work. */
const binary = async (): Promise<string> => (await import("@vscode/ripgrep")).rgPath;

export interface Found {
  /** In the order of their paths, which are relative to the workspace. */
  readonly lines: readonly string[];
  /** What could not be looked at, in ripgrep's words, or that there was too much to keep. */
  readonly note: string | null;
}

/** `path` as ripgrep shows it and what it finds below: relative to the workspace. Throws where there is nothing. */
const searchedPath = async (context: ToolContext, path: string): Promise<string> => {
  try {
    const info = await context.exec.stat(path);
    return nameOf(context.exec, info.path);
  } catch (error) {
    throw refused(error);
  }
};

/** The lines that ripgrep prints when run with `args` on `path`. Throws NothingHappened where it cannot search at all. */
export const ripgrep = async (context: ToolContext, args: readonly string[], path = "."): Promise<Found> => {
  const searched = await searchedPath(context, path);
  const argv = [await binary(), ...ALWAYS, ...args, "--", searched === "" ? "./" : searched] as const;
  const { exitCode, stdout, stderr, truncated } = await context.exec
    .run({ argv: [...argv], signal: context.signal })
    .catch((error: unknown) => {
      throw refused(error);
    });
  const decoder = new TextDecoder();
  const lines = decoder
    .decode(stdout)
    .split("\n")
    .map((line) => line.replace(/^\.\//, ""));
  if (lines.at(-1) === "" || truncated) lines.pop();
  const [complaint = ""] = decoder.decode(stderr).trim().split("\n");
  if (exitCode > 1 && lines.length === 0) throw new NothingHappened(decoder.decode(stderr).trim());
  const note = truncated ? "there is more than can be shown" : exitCode > 1 ? complaint : null;
  return { lines, note };
};

/** The first `limit` lines, and a last one that says what is missing. */
export const showFound = ({ lines, note }: Found, limit: number, none: string): string => {
  const more = lines.length - limit;
  const notes = [...(more > 0 ? [`${String(more)} more lines`] : []), ...(note === null ? [] : [note])];
  const shown = lines.length === 0 ? [none] : lines.slice(0, limit);
  return [...shown, ...(notes.length > 0 ? [`(${notes.join("; ")})`] : [])].join("\n");
};
