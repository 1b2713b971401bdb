// The CLI. Importing this file runs it: finds the command, performs it, and turns whatever happens into an exit code.
import { inspect } from "node:util";
import { packageVersion } from "../versions.ts";
import { parseCommand, UsageError, type Command } from "./command.ts";
import { commands } from "./commands.ts";
import { failureOf } from "./failure.ts";
import { commandHelp, programHelp } from "./help.ts";
import { commandUnder, createOutput, type Output, type Program } from "./program.ts";

const findCommand = (name: string): Command => {
  const found = commands.find((command) => command.name === name);
  if (found !== undefined) return found;
  if (name.startsWith("-")) throw new UsageError(`the command comes first: perdure <command> ${name}`);
  throw new UsageError(`there is no command ${JSON.stringify(name)}; perdure --help lists them`);
};

const perform = async (program: Program, args: readonly string[]): Promise<number> => {
  const { output } = program;
  const [name, ...rest] = args;
  if (name === undefined) {
    output.tell(programHelp(commands));
    return 2;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    const [about] = rest;
    output.print(about === undefined ? programHelp(commands) : commandHelp(findCommand(about)));
    return 0;
  }
  if (name === "--version") {
    output.print(packageVersion);
    return 0;
  }
  const command = findCommand(name);
  const given = parseCommand(command, rest);
  if (given.options.help === true) {
    output.print(commandHelp(command));
    return 0;
  }
  return command.perform(program, given);
};

const reportFailure = (output: Output, error: unknown, { json, debug }: { json: boolean; debug: boolean }): number => {
  const { exitCode, code, message } = failureOf(error);
  if (json) output.json({ error: { code, message } });
  output.tell(`perdure: ${message}`);
  if (debug) output.tell(inspect(error));
  return exitCode;
};

/** A stray error, such as a rejection that a tool did not wait for. What state the process is in, nobody knows. */
const dieOf = (error: unknown): void => {
  process.exit(reportFailure(output, error, flags));
};

/** Leaves once what was written has gone out: what a configuration keeps open must not hold the process. */
const leave = (exitCode: number): void => {
  process.stdout.write("", () => {
    process.stderr.write("", () => process.exit(exitCode));
  });
};

const args = process.argv.slice(2);
const output = createOutput(process.stdout, process.stderr);
const flags = {
  json: args.includes("--json"),
  debug: args.includes("--debug") || process.env["PERDURE_DEBUG"] === "1",
};
const { env } = process;
const program: Program = { command: commandUnder(env), cwd: process.cwd(), env, output };
process.on("uncaughtException", dieOf);
// What a command waits for (another process's append, a tool's own timer) need not hold a process; this does.
setInterval(() => undefined, 60_000);
leave(await perform(program, args).catch((error: unknown) => reportFailure(output, error, flags)));
