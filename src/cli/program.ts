// What a command is given of the process it runs in: where it stands, and where its words go.
import { styleText } from "node:util";

export interface Program {
  /** How this program is called again, for commands that a person is told to try. */
  readonly command: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly output: Output;
}

export interface Output {
  /** The result: lines on stdout. */
  print(text: string): void;
  /** The result as JSON on stdout. */
  json(value: unknown): void;
  /** A word to the person: a line on stderr. */
  tell(text: string): void;
  /** Progress: a dim line on stderr, where that is a terminal. */
  progress(text: string): void;
  /** Aborted once nobody reads stdout any more. */
  readonly unread: AbortSignal;
}

/** Under npm and npx the program stands in no PATH. */
export const commandUnder = (env: NodeJS.ProcessEnv): string =>
  env["npm_execpath"] === undefined ? "perdure" : "npx perdure";

/** Without what a terminal would obey instead of showing it. */
export const safe = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");

/** Whoever read `stream` has left: that ends the writing, and is no error. */
const leavesQuietly = (stream: NodeJS.WriteStream, onLeft: () => void): void => {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_DESTROYED") throw error;
    onLeft();
  });
};

export const createOutput = (stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): Output => {
  const left = new AbortController();
  let told = true;
  leavesQuietly(stdout, () => {
    left.abort(new Error("nobody reads the output"));
  });
  leavesQuietly(stderr, () => {
    told = false;
  });
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    stream.write(`${stream.isTTY ? safe(text) : text}\n`);
  };
  const tell = (text: string): void => {
    if (told) write(stderr, text);
  };
  return {
    print: (text) => {
      if (!left.signal.aborted) write(stdout, text);
    },
    json: (value) => {
      if (!left.signal.aborted) stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    },
    tell,
    progress: (text) => {
      if (told && stderr.isTTY) stderr.write(`${styleText("dim", safe(text), { stream: stderr })}\n`);
    },
    unread: left.signal,
  };
};
