// A file replaced whole or not at all: a new one is written beside it, made durable, and given its name.
import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdir, open, readFile, rename, rmdir, stat, unlink, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ExecError, type FileInfo } from "../exec.ts";

export const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const ifThere = async <T>(work: Promise<T>): Promise<T | null> => {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
};

/** Gives `from` the name `to`. The name lasts once its directory, and what holds a new directory, is synced. */
const renameDurably = async (from: string, to: string, name: string, directories: Iterable<string>): Promise<void> => {
  const handles: FileHandle[] = [];
  try {
    for (const path of directories) handles.push(await open(path));
    await rename(from, to);
    for (const handle of handles) {
      await handle.sync().catch((cause: unknown) => {
        throw new ExecError("failed", `${name}: written, but the disk did not confirm it`, { cause });
      });
    }
  } finally {
    for (const handle of handles) await handle.close();
  }
};

/** Makes `path` and what is missing above it. The directories made, innermost first. */
const makeDirectories = async (path: string): Promise<string[]> => {
  const first = await mkdir(path, { recursive: true });
  const made: string[] = [];
  if (first === undefined) return made;
  for (let at = path; ; at = dirname(at)) {
    made.push(at);
    if (at === first) return made;
  }
};

/** The mode of the file that is replaced; null where there is none. */
const modeOf = async (target: string, name: string): Promise<number | null> => {
  const info = await ifThere(stat(target));
  if (info === null) return null;
  if (info.isDirectory()) throw new ExecError("is_directory", `${name}: is a directory`);
  if (!info.isFile()) throw new ExecError("permission", `${name}: is not a regular file`);
  // A rename would replace a file that may not be written.
  await access(target, constants.W_OK);
  return info.mode & 0o7777;
};

const checkDigest = async (target: string, name: string, ifDigest: string | null): Promise<void> => {
  const bytes = await ifThere(readFile(target));
  const digest = bytes === null ? null : digestOf(bytes);
  if (digest === ifDigest) return;
  const why = bytes === null ? "is gone" : ifDigest === null ? "exists already" : "has changed";
  throw new ExecError("changed", `${name}: ${why}`);
};

/** `target` is resolved; `name` is what the caller calls it. See Exec.writeFile. */
export const writeWhole = async (
  target: string,
  name: string,
  { bytes, ifDigest }: { readonly bytes: Uint8Array; readonly ifDigest?: string | null },
): Promise<FileInfo & { readonly digest: string }> => {
  const mode = await modeOf(target, name);
  const directory = dirname(target);
  const made = await makeDirectories(directory);
  const temporary = join(directory, `.perdure-${randomBytes(8).toString("hex")}`);
  try {
    const handle = await open(temporary, "wx");
    let written;
    try {
      if (mode !== null) await handle.chmod(mode);
      await handle.writeFile(bytes);
      await handle.sync();
      written = await handle.stat();
    } finally {
      await handle.close();
    }
    if (ifDigest !== undefined) await checkDigest(target, name, ifDigest);
    await renameDurably(temporary, target, name, new Set([directory, ...made.map((path) => dirname(path))]));
    return { path: target, kind: "file", size: written.size, mtimeMs: written.mtimeMs, digest: digestOf(bytes) };
  } catch (error) {
    // A refusal leaves nothing behind. After the rename neither is there to be removed.
    await unlink(temporary).catch(() => undefined);
    for (const path of made) await rmdir(path).catch(() => undefined);
    throw error;
  }
};
