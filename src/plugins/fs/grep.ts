// Grep: lines or files by a regular expression.
import { Type, type Static } from "typebox";
import type { TypedTool } from "../plugin.ts";
import { ripgrep, showFound } from "./ripgrep.ts";

const SHOWN_LINES = 250;
const LINE_CHARS = 2_000;

const lines = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const Input = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: "A regular expression, in ripgrep's syntax." }),
    path: Type.Optional(Type.String({ minLength: 1, description: "A file or folder. Default: the workspace." })),
    glob: Type.Optional(
      Type.String({ minLength: 1, description: 'Only files that match, such as "*.ts" or "**/test/*.js".' }),
    ),
    output_mode: Type.Optional(
      Type.Enum(["files_with_matches", "content", "count"], {
        description: "Paths (default), matching lines, or the number of matching lines in each file.",
      }),
    ),
    "-i": flag("Ignore case."),
    "-n": flag("Show line numbers with content. Default true."),
    "-A": lines("Lines to show after each match, with content."),
    "-B": lines("Lines to show before each match, with content."),
    "-C": lines("Lines to show around each match, with content."),
    head_limit: Type.Optional(
      Type.Integer({ minimum: 1, description: `Show only the first lines or files. Default ${String(SHOWN_LINES)}.` }),
    ),
    multiline: flag("Let . match line breaks, and matches span lines."),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const contentArguments = (input: Input): string[] => [
  "--no-heading",
  "--with-filename",
  input["-n"] === false ? "--no-line-number" : "--line-number",
  `--max-columns=${String(LINE_CHARS)}`,
  "--max-columns-preview",
  ...(["-A", "-B", "-C"] as const).flatMap((name) =>
    input[name] === undefined ? [] : [`${name}${String(input[name])}`],
  ),
];

const modeArguments = (input: Input): string[] => {
  const { output_mode = "files_with_matches" } = input;
  if (output_mode === "content") return contentArguments(input);
  return output_mode === "count" ? ["--count", "--with-filename"] : ["--files-with-matches"];
};

export const grep: TypedTool<typeof Input> = {
  name: "Grep",
  description: [
    "Searches files for a regular expression, in the order of their paths.",
    "Files that .gitignore excludes, and binary ones, are left out.",
  ].join("\n"),
  inputSchema: Input,
  effect: "read",
  async execute(input, context) {
    const found = await ripgrep(
      context,
      [
        ...modeArguments(input),
        ...(input["-i"] === true ? ["--ignore-case"] : []),
        ...(input.multiline === true ? ["--multiline", "--multiline-dotall"] : []),
        ...(input.glob === undefined ? [] : [`--glob=${input.glob}`]),
        `--regexp=${input.pattern}`,
      ],
      input.path,
    );
    return showFound(found, input.head_limit ?? SHOWN_LINES, "No matches found.");
  },
};
