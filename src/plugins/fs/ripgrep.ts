// ripgrep, run through exec: what Glob and Grep share.
import { NothingHappened, type ToolContext } from "../plugin.ts";
import { nameOf, refused } from "./files.ts";
import { counted } from "./text.ts";

/** Hidden files are files too. What is left out follows from the workspace, not from this machine's settings. */
const ALWAYS = ["--no-config", "--no-ignore-global", "--no-require-git", "--hidden", "--color=never", "--sort=path"];
/** What version control and perdure keep for themselves is not the task's. Last, so that no other glob brings it back. */
const NEVER = ["--glob=!.git", "--glob=!.perdure*"];

/** Imported when first used: on a platform that the package has no binary for, the other tools still work. */
const binary = async (): Promise<string> => (await import("@vscode/ripgrep")).rgPath;

export interface Found {
  /** Where was searched, relative to the workspace. */
  readonly searched: string;
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
  const place = searched === "" ? "./" : searched;
  const argv: [string, ...string[]] = [await binary(), ...ALWAYS, ...args, ...NEVER, "--", place];
  const { exitCode, stdout, stderr, truncated } = await context.exec
    .run({ argv, signal: context.signal })
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
  return { searched, lines, note };
};

/** The first `limit` lines, and a last one that says what is missing. */
export const showFound = ({ lines, note }: Omit<Found, "searched">, limit: number, none: string): string => {
  const more = lines.length - limit;
  const notes = [...(more > 0 ? [`${counted(more, "more line")}`] : []), ...(note === null ? [] : [note])];
  const shown = lines.length === 0 ? [none] : lines.slice(0, limit);
  return [...shown, ...(notes.length > 0 ? [`(${notes.join("; ")})`] : [])].join("\n");
};
