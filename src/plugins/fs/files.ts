// How the tools reach files: names of files, and what exec refused as something the model can act on.
import { relative, sep } from "node:path";
import { ExecError, type Exec, type FileContent, type FileInfo } from "../../exec/exec.ts";
import { NothingHappened, type ToolContext } from "../plugin.ts";

/** What a file is called in records and results: its path below the workspace, with `/` on every system. */
export const nameOf = (exec: Exec, path: string): string => relative(exec.root, path).split(sep).join("/");

/** What a refusal says to the model; any other error as it is. */
export const refused = (error: unknown): unknown =>
  error instanceof ExecError ? new NothingHappened(error.message, { cause: error }) : error;

/** The file as it is now; null where there is none. */
export const readCurrent = async (context: ToolContext, path: string): Promise<FileContent | null> => {
  try {
    return await context.exec.readFile({ path, signal: context.signal });
  } catch (error) {
    if (error instanceof ExecError && error.code === "not_found") return null;
    throw refused(error);
  }
};

/**
 * Replaces `before` (null: creates a file), only if it is still what is there. Throws NothingHappened where that is
 * certain; whatever else it throws leaves the outcome open.
 */
export const replaceFile = async (
  context: ToolContext,
  path: string,
  before: FileContent | null,
  bytes: Uint8Array,
): Promise<FileInfo & { readonly digest: string }> => {
  if (context.signal.aborted) throw new NothingHappened(`${path}: stopped before anything was written`);
  try {
    return await context.exec.writeFile({ path, bytes, ifDigest: before?.digest ?? null });
  } catch (error) {
    const open = error instanceof ExecError && (error.code === "failed" || error.code === "killed");
    throw open ? error : refused(error);
  }
};
