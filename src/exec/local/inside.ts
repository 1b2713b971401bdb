// Which place a path means, and that it is inside the workspace. Links are resolved before anything is compared.
// Between this check and the use of its answer another process may still swap a directory for a link: the workspace
// guards against the model's paths, not against programs that run beside it.
import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ExecError } from "../exec.ts";

const isMissing = (error: unknown): boolean =>
  ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");

/** `path` with its links resolved as far as it exists, also a last link that leads to nothing. */
const resolveLinks = async (path: string): Promise<string> => {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const place = join(await resolveLinks(dirname(path)), basename(path));
  const target = await readlink(place).catch(() => null);
  return target === null ? place : resolveLinks(resolve(dirname(place), target));
};

/** Whether `path` is `root` or below it, by segments: `/root-evil` is not inside `/root`. */
const isInside = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

/** The absolute path that `path` means, links resolved; relative ones from `root`. Throws `outside`. */
export const resolveInside = async (root: string, path: string): Promise<string> => {
  const outside = new ExecError("outside", `${path}: outside the workspace`);
  if (path.includes("\0")) throw outside;
  const place = await resolveLinks(resolve(root, path));
  if (!isInside(root, place)) throw outside;
  return place;
};
