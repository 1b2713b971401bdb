// Help, made from what the commands declare.
import { commonOptions, wordsText, type Command, type Options } from "./command.ts";

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
};

const optionRows = (options: Options): [string, string][] =>
  Object.entries(options).map(([name, { value, about }]) => [
    `--${name}${value === undefined ? "" : ` ${value}`}`,
    about,
  ]);

export const commandHelp = (command: Command): string => {
  const { name, summary, words, options, notes } = command;
  const usage = `perdure ${name} ${wordsText(words)}`.trimEnd();
  const rows = optionRows({ ...options, ...commonOptions });
  return [`${usage} [options]`, summary, columns(rows), ...(notes === undefined ? [] : [notes])].join("\n\n");
};

export const programHelp = (commands: readonly Command[]): string =>
  [
    "perdure <command> [options]: agent tasks that survive",
    columns(commands.map(({ name, words, summary }) => [`${name} ${wordsText(words)}`.trimEnd(), summary])),
    [
      "A task is named by its id, or by its beginning. perdure <command> --help says more.",
      "Settings: flags, then PERDURE_DB, PERDURE_MODEL and so on, then perdure.config.ts.",
      "Exit codes: 0 done or answered, 1 error, 2 usage,",
      "3 waiting for a person's decision, answer, resolution or resume.",
    ].join("\n"),
  ].join("\n\n");
