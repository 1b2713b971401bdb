// What the file system refused, as the port's codes.
import { ExecError, type ExecCode } from "../exec.ts";

const refusals: Readonly<Record<string, readonly [ExecCode, string]>> = {
  ENOENT: ["not_found", "no such file or directory"],
  ENAMETOOLONG: ["not_found", "the name is too long to exist"],
  ELOOP: ["not_found", "its links lead in a circle"],
  EISDIR: ["is_directory", "is a directory"],
  ENOTDIR: ["not_directory", "a part of the path is not a directory"],
  EEXIST: ["exists", "something of that name is in the way"],
  EACCES: ["permission", "permission denied"],
  EPERM: ["permission", "permission denied"],
  EROFS: ["permission", "the file system is read-only"],
  ENOSPC: ["no_space", "no space is left"],
  EDQUOT: ["no_space", "the quota is used up"],
};

/** The error as an ExecError whose message names `path`, as the caller gave it. */
export const refusalOf = (error: unknown, path: string): ExecError => {
  if (error instanceof ExecError) return error;
  const { code = "", message, name } = error as NodeJS.ErrnoException;
  if (name === "AbortError") return new ExecError("killed", `${path}: stopped`, { cause: error });
  const [refusal, words] = refusals[code] ?? ["failed", message];
  return new ExecError(refusal, `${path}: ${words}`, { cause: error });
};
