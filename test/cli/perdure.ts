// Runs the CLI in processes of its own, in a folder that a test has to itself.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { TaskView } from "../../src/client/show-task.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Node keeps compiled modules here, so that each process of a test starts in half the time. */
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/node-compile", import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs. */
export interface Running {
  readonly finished: Promise<Finished>;
  /** Resolves once the process has written `words` to stdout or stderr; rejects when it ends without. */
  said(words: string): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Writes a line to its stdin: what a blocking tool of `tools` waits for. */
  answer(): void;
  /** Writes a line to its stdin. */
  type(line: string): void;
  /** Ends its stdin. */
  typeNoMore(): void;
  /** Closes the reading end of its stdout. */
  stopReading(): void;
}

export interface Place {
  readonly folder: string;
  write(name: string, text: string): void;
  read(name: string): string;
  /** `program`: another installation's, in place of this one. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>, program?: string): Running;
  perdure(...args: string[]): Promise<Finished>;
}

const run = (
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  program: string,
): Running => {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      PERDURE_LEASE_MS: "1000",
      NODE_COMPILE_CACHE: compileCache,
      ...env,
    },
  });
  let [stdout, stderr] = ["", ""];
  const waiting = new Set<() => void>();
  const hear = (): void => {
    for (const look of waiting) look();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    hear();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    hear();
  });
  // A process that is gone takes no answer.
  child.stdin.on("error", () => undefined);
  const finished = new Promise<Finished>((resolve) => {
    child.on("close", (code, signal) => {
      resolve({ code, signal, stdout, stderr });
    });
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return {
    finished,
    said: (words) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!`${stdout}${stderr}`.includes(words)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
        void finished.then(() => {
          reject(new Error(`it ended without saying ${words}: ${stdout}${stderr}`));
        });
      }),
    signal: (signal) => {
      child.kill(signal);
    },
    answer: () => {
      child.stdin.write("\n");
    },
    type: (line) => {
      child.stdin.write(`${line}\n`);
    },
    typeNoMore: () => {
      child.stdin.end();
    },
    stopReading: () => {
      child.stdout.destroy();
    },
  };
};

/** A fresh folder, gone after the test. Claims made in it lapse after a second. */
export const createPlace = (): Place => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "perdure-cli-")));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const start: Place["start"] = (args, env = {}, program = main) => run(folder, args, env, program);
  return {
    folder,
    write: (name, text) => {
      writeFileSync(join(folder, name), text);
    },
    read: (name) => readFileSync(join(folder, name), "utf8"),
    start,
    perdure: (...args) => start(args).finished,
  };
};

export const lines = (...replies: readonly unknown[]): string =>
  replies.map((reply) => JSON.stringify(reply)).join("\n");

/** The view that a command printed with --json. */
export const viewOf = ({ stdout, stderr }: Finished): TaskView => {
  try {
    return JSON.parse(stdout) as TaskView;
  } catch (cause) {
    throw new Error(`no JSON on stdout: ${stdout}${stderr}`, { cause });
  }
};

/** The id of the newest task. */
export const newestTask = async (place: Place): Promise<string> => {
  const { stdout } = await place.perdure("tasks", "--json", "--limit", "1");
  const [task] = JSON.parse(stdout) as { taskId: string }[];
  if (task === undefined) throw new Error("there is no task");
  return task.taskId;
};

interface LoggedEvent {
  readonly seq: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

export const logOf = async (place: Place, taskId: string): Promise<LoggedEvent[]> =>
  JSON.parse((await place.perdure("log", taskId, "--json")).stdout) as LoggedEvent[];

/** The events' types, of records their names. */
export const shapeOf = (events: readonly LoggedEvent[]): string[] =>
  events.map(({ type, extension, kind }) =>
    type === "ExtensionRecorded" ? `${String(extension)}/${String(kind)}` : type,
  );

/**
 * A configuration whose tools (Send, a write; Look, a read) count what they do in effects.txt and say on stderr that they
 * were dispatched. With the text "block" they wait for a line on stdin. Its model `slow` waits likewise where BLOCK is
 * set; otherwise it answers "Here.". Where STALL is set, the process stalls between an effect and its result.
 */
export const tools = `
import { appendFileSync } from "node:fs";
import { defineAgent, defineConfig, definePlugin, defineTool, fs, type Model } from "perdure";

const line = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdin.once("data", () => resolve());
    signal.addEventListener("abort", () => reject(signal.reason));
  });

const tool = (name: string, effect: "read" | "write") =>
  defineTool({
    name,
    description: name,
    effect,
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    async execute({ text }, { signal }) {
      appendFileSync("effects.txt", name + " " + text + "\\n");
      process.stderr.write("dispatched " + name + "\\n");
      if (text === "block") await line(signal);
      if (text === "fail") throw new Error("the other side hung up");
      return name + " is through";
    },
  });

const slow: Model = {
  name: "slow",
  contextTokens: null,
  async *stream(_request, { signal }) {
    process.stderr.write("asked\\n");
    if (process.env["BLOCK"] !== undefined) await line(signal);
    yield {
      type: "reply",
      reply: { message: { parts: [{ type: "text", text: "Here." }] }, stopReason: "end_turn", tokens: "unknown" },
    };
  },
};

const stall = definePlugin({
  name: "stall",
  version: "1",
  hooks: {
    async afterTool() {
      if (process.env["STALL"] === undefined) return;
      process.stderr.write("stalled\\n");
      await line(new AbortController().signal);
    },
  },
});

export default defineConfig({
  agents: [defineAgent({ name: "sender", tools: [tool("Send", "write"), tool("Look", "read")], plugins: [fs(), stall] })],
  models: { slow },
});
`;

/** A place with that configuration and a script. */
export const createToolPlace = (...replies: readonly unknown[]): Place => {
  const place = createPlace();
  place.write("perdure.config.ts", tools);
  place.write("script.jsonl", lines(...replies));
  return place;
};

/** A reply that calls one tool of that configuration. */
export const calls = (name: string, text: string): object => ({ calls: [{ name, input: { text } }] });

const repository = fileURLToPath(new URL("../../", import.meta.url));

/** What a build has in place of what is built here: by file below `dist`, a text that must be there, and the new one. */
export type Changes = Readonly<Record<string, readonly [string, string]>>;

/** Installs a copy of this build beside the database, changed. Returns its folder; its program is `bin/perdure.js` there. */
export const install = (place: Place, name: string, changes: Changes = {}): string => {
  const target = join(place.folder, name);
  for (const part of ["dist", "bin", "package.json"]) {
    cpSync(join(repository, part), join(target, part), { recursive: true });
  }
  symlinkSync(join(repository, "node_modules"), join(target, "node_modules"));
  for (const [file, [before, after]] of Object.entries(changes)) {
    const path = join(target, "dist", file);
    const text = readFileSync(path, "utf8");
    if (text.split(before).length !== 2) throw new Error(`${file} does not have once: ${before}`);
    writeFileSync(path, text.replace(before, after));
  }
  return target;
};
