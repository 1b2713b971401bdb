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
  /** May stand several times. */
  readonly multiple?: true;
  readonly about: string;
}
export type Options = Readonly<Record<string, Option>>;

/**
 * Words in their order. Where fewer are given than there are, the optional ones go without, the last first. `several`
 * takes all that are left, one at least, and stands last.
 */
export type Words = Readonly<Record<string, "required" | "optional" | "several">>;

export const commonOptions = {
  db: { type: "string", value: "PATH", about: "the database; default .perdure/tasks.db" },
  config: { type: "string", value: "FILE", about: "the configuration; default perdure.config.ts, here or above" },
  as: { type: "string", value: "NAME", about: "who acts: a name or kind:id; default the user of this system" },
  place: { type: "string", value: "PLACE", about: "where its tasks are; default cli, another as access allows" },
  json: { type: "boolean", about: "one JSON value on stdout" },
  debug: { type: "boolean", about: "show where an error came from" },
  help: { type: "boolean", about: "show this" },
} as const satisfies Options;

/** Of commands that work tasks for long. */
export const singleOption = {
  type: "boolean",
  about: "refuse to run beside another process on this database that was told the same",
} as const satisfies Option;

/** Options of commands that work a task. */
export const workOptions = {
  "no-wait": { type: "boolean", about: "post, and leave the work to others" },
  "lease-ms": { type: "string", value: "MS", about: "how long a claim holds unrenewed; default 5000" },
} as const satisfies Options;

export type ValuesOf<O extends Options> = {
  readonly [K in keyof O]?: O[K]["type"] extends "boolean"
    ? boolean
    : O[K] extends { readonly multiple: true }
      ? readonly string[]
      : string;
};
export type CommonValues = ValuesOf<typeof commonOptions>;

interface Given<O extends Options, W extends Words> {
  readonly options: ValuesOf<O> & CommonValues;
  readonly words: {
    readonly [K in keyof W]: W[K] extends "required"
      ? string
      : W[K] extends "several"
        ? readonly string[]
        : string | undefined;
  };
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
    .map(([word, need]) => (need === "optional" ? `[${word}]` : `<${word}>${need === "several" ? " …" : ""}`))
    .join(" ");

type NamedWords = Readonly<Record<string, string | readonly string[] | undefined>>;

const namedWords = ({ name, words }: Command, given: readonly string[]): NamedWords => {
  const usage = `perdure ${name} ${wordsText(words)}`.trimEnd();
  const needs = Object.entries(words);
  let spare = given.length - needs.filter(([, need]) => need !== "optional").length;
  let next = 0;
  const named = needs.map(([word, need]): [string, string | readonly string[] | undefined] => {
    if (need === "optional") {
      spare -= 1;
      if (spare < 0) return [word, undefined];
    }
    const value = given[next];
    if (value === undefined) throw new UsageError(`${name} needs <${word}>: ${usage}`);
    if (need === "several") {
      const rest = given.slice(next);
      next = given.length;
      return [word, rest];
    }
    next += 1;
    return [word, value];
  });
  const extra = given[next];
  if (extra !== undefined) {
    throw new UsageError(`${name} takes no ${JSON.stringify(extra)}: ${usage} (a text of several words needs quotes)`);
  }
  return Object.fromEntries(named);
};

/** Reads what stands after the command's name. Throws UsageError. */
export const parseCommand = (
  command: Command,
  args: readonly string[],
): { readonly options: CommonValues; readonly words: NamedWords } => {
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
