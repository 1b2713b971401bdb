// The hash of a plugin's code: its module, the files that this imports, recursively, and the packages by name and version.
// It reads too much rather than too little: a pin too many is recorded again, a pin too few hides a change.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** An import of any kind, also of types, and also where it stands in a comment: what is not there is passed over. */
const IMPORT = /\b(?:from|import|require)\b\s*\(?\s*(["'])((?:(?!\1)[^\\\n])+)\1/g;

/** An import whose module is only known when it runs. */
const COMPUTED_IMPORT = /\b(?:import|require)\s*\(\s*(?!["')])/;

const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** The file that a relative import names; null where there is none, as in a comment. */
const resolveFile = (specifier: string, from: string): string | null => {
  try {
    return createRequire(from).resolve(specifier);
  } catch {
    return null;
  }
};

interface Manifest {
  readonly name?: string;
  readonly version?: string;
}

const manifestAt = async (folder: string): Promise<Manifest | null> => {
  const path = resolveFile("./package.json", join(folder, "any"));
  return path === null ? null : (JSON.parse(await readFile(path, "utf8")) as Manifest);
};

/** `name@version` of the package that `specifier` means to a file of `folder`: installed there, or the file's own. */
const packageOf = async (specifier: string, folder: string): Promise<string | null> => {
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  for (let at = folder; ; at = dirname(at)) {
    const own = await manifestAt(at);
    const found = own?.name === name ? own : await manifestAt(join(at, "node_modules", name));
    if (found !== null) return `${name}@${found.version ?? ""}`;
    if (at === dirname(at)) return null;
  }
};

/** What the hash covers: each file by its path from the entry's folder, each package by name. */
type Parts = Map<string, string>;

/** Adds what `path` imports to `parts`. False where a part of it cannot be known. */
const collect = async (path: string, root: string, parts: Parts): Promise<boolean> => {
  const key = relative(root, path).split(sep).join("/");
  if (parts.has(key)) return true;
  const bytes = await readFile(path);
  parts.set(key, sha256(bytes));
  const code = bytes.toString();
  if (COMPUTED_IMPORT.test(code)) return false;
  for (const [, , specifier = ""] of code.matchAll(IMPORT)) {
    if (specifier.startsWith("#")) return false;
    if (specifier.startsWith(".")) {
      const file = resolveFile(specifier, path);
      if (file !== null && !(await collect(file, root, parts))) return false;
    } else if (!isBuiltin(specifier)) {
      const found = await packageOf(specifier, dirname(path));
      if (found !== null) parts.set(found, "");
    }
  }
  return true;
};

const hashFrom = async (module: string): Promise<string | null> => {
  if (!module.startsWith("file:")) return null;
  const path = fileURLToPath(module);
  const parts: Parts = new Map();
  try {
    if (!(await collect(path, dirname(path), parts))) return null;
  } catch {
    // Not to be read any more, though it was loaded from there.
    return null;
  }
  return sha256(JSON.stringify([...parts].sort(([a], [b]) => (a < b ? -1 : 1))));
};

const known = new Map<string, Promise<string | null>>();

/**
 * The hash of the code behind `module` (an `import.meta.url`), hex; null where it cannot be known: not a file, or a part
 * of it is named only when it runs. Read once per process, so that a running worker says what it runs, not what an
 * upgrade has since put on the disk.
 */
export const sourceHash = (module: string): Promise<string | null> => {
  const hash = known.get(module) ?? hashFrom(module);
  known.set(module, hash);
  return hash;
};
