// The `local` exec: a directory of this machine, and programs run on it as this process's user.
import { constants, realpathSync, statSync, type Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { ExecError, type Exec, type FileContent, type FileInfo } from "../exec.ts";
import { resolveInside } from "./inside.ts";
import { refusalOf } from "./refusal.ts";
import { runProcess } from "./run-process.ts";
import { digestOf, writeWhole } from "./write-file.ts";

const infoOf = (path: string, stats: Stats): FileInfo => ({
  path,
  kind: stats.isFile() ? "file" : stats.isDirectory() ? "directory" : "other",
  size: stats.size,
  mtimeMs: stats.mtimeMs,
});

// A link put in the file's place meanwhile is not followed, and a pipe does not make the opener wait.
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const readWhole = async (
  path: string,
  name: string,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<FileContent> => {
  const handle = await open(path, READ_FLAGS);
  try {
    const info = infoOf(path, await handle.stat());
    if (info.kind === "directory") throw new ExecError("is_directory", `${name}: is a directory`);
    if (info.kind === "other") throw new ExecError("permission", `${name}: is not a regular file`);
    const tooLarge = `${name}: is larger than ${String(maxBytes)} bytes`;
    if (info.size > maxBytes) throw new ExecError("too_large", tooLarge);
    const bytes = await handle.readFile({ signal });
    if (bytes.length > maxBytes) throw new ExecError("too_large", tooLarge);
    return { ...info, size: bytes.length, bytes, digest: digestOf(bytes) };
  } finally {
    await handle.close();
  }
};

const realDirectory = (root: string): string => {
  try {
    const path = realpathSync(root);
    if (!statSync(path).isDirectory()) throw new ExecError("not_directory", `${root}: is not a directory`);
    return path;
  } catch (error) {
    throw refusalOf(error, root);
  }
};

/** Works in `root`, which must be a directory. Throws `not_found`, `not_directory` or `permission`. */
export const createLocalExec = (options: { readonly root: string }): Exec => {
  const root = realDirectory(options.root);
  /** Does `work` on the place that `path` means. */
  const at = async <T>(path: string, work: (place: string) => T | Promise<T>): Promise<T> => {
    try {
      return await work(await resolveInside(root, path));
    } catch (error) {
      throw refusalOf(error, path);
    }
  };
  return {
    root,
    resolve: (path) => at(path, (place) => place),
    stat: (path) => at(path, async (place) => infoOf(place, await stat(place))),
    readFile: ({ path, maxBytes = Number.MAX_SAFE_INTEGER, signal }) =>
      at(path, (place) => readWhole(place, path, maxBytes, signal)),
    writeFile: ({ path, ...file }) => at(path, (place) => writeWhole(place, path, file)),
    run: (params) => at(params.cwd ?? ".", (cwd) => runProcess(params, cwd)),
  };
};
