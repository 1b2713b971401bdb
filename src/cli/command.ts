// What a command is, and how its arguments are read. The words and options are declared once: parsing, help and types
// come from the declaration.
import { parseArgs } from "node:util";
import type { Program } from "./program.ts";

/** The command line asks for something that there is not. Exit 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Option {
  readonly type: "string" | "boolean";
  /** What stands for the value in help. */
  readonly value?: string;
  readonly about: string;
  /** May be given several times. */
  readonly multiple?: true;
}
export type Options = Readonly<Record<string, Option>>;

/** Words in their order; all after an optional one are optional too. */
export type Words = Readonly<Record<string, "required" | "optional">>;

export const commonOptions = {
  db: { type: "string", value: "PATH", about: "the database; default .perdure/tasks.db" },
  config: { type: "string", value: "FILE", about: "the configuration; default perdure.config.ts, here or above" },
  as: { type: "string", value: "NAME", about: "who acts: a name or kind:id; default the user of this system" },
  json: { type: "boolean", about: "one JSON value on stdout" },
  debug: { type: "boolean", about: "show where an error came from" },
  help: { type: "boolean", about: "show this" },
} as const satisfies Options;

/** Options of commands that work a task. */
export const workOptions = {
  "no-wait": { type: "boolean", about: "post, and leave the work to others" },
  "lease-ms": { type: "string", value: "MS", about: "how long a claim holds unrenewed; default 5000" },
} as const satisfies Options;

export type ValuesOf<O extends Options> = {
  readonly [K in keyof O]?: O[K] extends { readonly multiple: true }
    ? readonly string[]
    : O[K]["type"] extends "boolean"
      ? boolean
      : string;
};
export type CommonValues = ValuesOf<typeof commonOptions>;

interface Given<O extends Options, W extends Words> {
  readonly options: ValuesOf<O> & CommonValues;
  readonly words: { readonly [K in keyof W]: W[K] extends "required" ? string : string | undefined };
}

interface Description<O extends Options, W extends Words> {
  readonly name: string;
  readonly summary: string;
  readonly words: W;
  readonly options: O;
  /** What help says after the options. */
  readonly notes?: string;
  /** Gives the exit code. */
  perform(program: Program, given: Given<O, W>): Promise<number>;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly words: Words;
  readonly options: Options;
  readonly notes: string | undefined;
  perform(program: Program, given: { readonly options: object; readonly words: object }): Promise<number>;
}

export const defineCommand = <const O extends Options, const W extends Words>(
  description: Description<O, W>,
): Command => ({
  ...description,
  notes: description.notes,
  perform: (program, given) => description.perform(program, given as Given<O, W>),
});

/** `<task> [text]` */
export const wordsText = (words: Words): string =>
  Object.entries(words)
    .map(([word, need]) => (need === "required" ? `<${word}>` : `[${word}]`))
    .join(" ");

const namedWords = ({ name, words }: Command, given: readonly string[]): Record<string, string | undefined> => {
  const names = Object.keys(words);
  const usage = `perdure ${name} ${wordsText(words)}`.trimEnd();
  const missing = names.find((word, index) => words[word] === "required" && given[index] === undefined);
  if (missing !== undefined) throw new UsageError(`${name} needs <${missing}>: ${usage}`);
  const extra = given[names.length];
  if (extra !== undefined) {
    throw new UsageError(`${name} takes no ${JSON.stringify(extra)}: ${usage} (a text of several words needs quotes)`);
  }
  return Object.fromEntries(names.map((word, index) => [word, given[index]]));
};

/** Reads what stands after the command's name. Throws UsageError. */
export const parseCommand = (
  command: Command,
  args: readonly string[],
): { readonly options: CommonValues; readonly words: Readonly<Record<string, string | undefined>> } => {
  const options = { ...command.options, ...commonOptions };
  let parsed: { values: CommonValues; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const [message = ""] = (error as Error).message.split(". ");
    throw new UsageError(`${command.name}: ${message} (perdure ${command.name} --help)`, { cause: error });
  }
  const words = parsed.values.help === true ? {} : namedWords(command, parsed.positionals);
  return { options: parsed.values, words };
};
