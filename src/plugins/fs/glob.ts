// Glob: files by a pattern of their path.
import { Type } from "typebox";
import type { TypedTool } from "../plugin.ts";
import { ripgrep, showFound } from "./ripgrep.ts";

const SHOWN_FILES = 1_000;

const Input = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: 'Such as "**/*.ts" or "src/**/test-*.js".' }),
    path: Type.Optional(Type.String({ minLength: 1, description: "The folder to look in. Default: the workspace." })),
  },
  { additionalProperties: false },
);

export const glob: TypedTool<typeof Input> = {
  name: "Glob",
  description: [
    "Lists the files whose path matches a pattern, in the order of their paths.",
    "Files that .gitignore excludes are left out.",
  ].join("\n"),
  inputSchema: Input,
  effect: "read",
  async execute({ pattern, path }, context) {
    const found = await ripgrep(context, ["--files", `--glob=${pattern}`], path);
    return showFound(found, SHOWN_FILES, "No files found.");
  },
};
