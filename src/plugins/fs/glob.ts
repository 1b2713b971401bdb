// Glob: files by a pattern of their path.
import { posix } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Type } from "typebox";
import type { TypedTool } from "../plugin.ts";
import { ripgrep, showFound } from "./ripgrep.ts";

const SHOWN_FILES = 1_000;

/** Files that are matched before anything else gets its turn. */
const BATCH = 1_000;

const Input = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: 'Such as "**/*.ts" or "src/**/test-*.js".' }),
    path: Type.Optional(Type.String({ minLength: 1, description: "The folder to look in. Default: the workspace." })),
  },
  { additionalProperties: false },
);

/**
 * The paths whose way from `folder` matches. Not by ripgrep's own `--glob`, which opens an ignored folder whose name
 * matches: `**` would list all that is installed or built.
 */
const matching = async (paths: readonly string[], folder: string, pattern: string): Promise<string[]> => {
  const anywhere = pattern.includes("/") ? posix.normalize(pattern) : `**/${pattern}`;
  const matched: string[] = [];
  for (const [index, path] of paths.entries()) {
    if (posix.matchesGlob(posix.relative(folder, path), anywhere)) matched.push(path);
    if (index % BATCH === BATCH - 1) await setImmediate();
  }
  return matched;
};

export const glob: TypedTool<typeof Input> = {
  name: "Glob",
  description: [
    "Lists the files whose path matches a pattern, in the order of their paths.",
    "A pattern without a slash matches in every folder. Wildcards do not match a dot at the start of a name.",
    "Files that .gitignore excludes are left out.",
  ].join("\n"),
  inputSchema: Input,
  effect: "read",
  async execute({ pattern, path }, context) {
    const { searched, lines, note } = await ripgrep(context, ["--files"], path);
    return showFound({ lines: await matching(lines, searched, pattern), note }, SHOWN_FILES, "No files found.");
  },
};
