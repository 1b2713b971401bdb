// Another build of perdure, or of a configuration, in a process of its own. It is given logs and gives hashes back: it never
// opens the database, which it could be newer than.
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { configIn } from "../config/load.ts";
import { CommandError } from "./failure.ts";
import type { FoldAnswer, FoldQuestion } from "./fold-hashes.ts";

export interface OtherBuild extends AsyncDisposable {
  ask(question: FoldQuestion): Promise<FoldAnswer>;
}

const ownMain = fileURLToPath(new URL(`./main${extname(fileURLToPath(import.meta.url))}`, import.meta.url));

/** The program and the configuration that a path means: a configuration, an installation, or a project that has one. */
const find = (path: string, config: string | null): { readonly program: string; readonly config: string | null } => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    if (!existsSync(path)) throw new CommandError(`there is no other build at ${path}`);
    return { program: ownMain, config: path };
  }
  const own = configIn(path);
  const programs = ["bin/perdure.js", "node_modules/perdure/bin/perdure.js"].map((file) => join(path, file));
  const program = programs.find((file) => existsSync(join(dirname(file), "..", "dist")) && existsSync(file));
  if (program !== undefined) return { program, config: own ?? config };
  if (own !== undefined) return { program: ownMain, config: own };
  throw new CommandError(`${path} has neither a perdure that is built (bin/perdure.js and dist) nor a configuration`);
};

const start = (path: string, config: string | null, cwd: string): ChildProcessWithoutNullStreams => {
  const found = find(resolve(cwd, path), config);
  const args = [found.program, "check", "--fold-hashes", ...(found.config === null ? [] : ["--config", found.config])];
  // Where none holds here, one may hold there.
  const folder = found.config === null ? dirname(found.program) : dirname(found.config);
  return spawn(process.execPath, args, { cwd: folder, stdio: ["pipe", "pipe", "pipe"] });
};

/** `config`: the configuration that holds here, which the other build is given unless it has one of its own. Throws
 * CommandError where there is no build. */
export const openOtherBuild = (path: string, config: string | null, cwd: string): OtherBuild => {
  const child = start(path, config, cwd);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  // What became of it, its exit tells.
  child.stdin.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ask: async (question) => {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      const answer = await answers.next();
      if (answer.done !== true) return JSON.parse(answer.value) as FoldAnswer;
      await closed;
      throw new CommandError(`the other build at ${path} gives no answer: ${said.trim() || "it ended"}`);
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await closed;
    },
  };
};
