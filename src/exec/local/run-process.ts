// One program run to its end in a process group of its own, which does not outlive it.
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { ExecError, type Exec, type ProcessResult } from "../exec.ts";

type RunParams = Parameters<Exec["run"]>[0];

/** Between the asking signal and the one that cannot be refused. */
const KILL_AFTER_MS = 2_000;
/** How long output may still come once the program has ended, from a process that left its group. */
const DRAIN_MS = 500;
const DEFAULT_MAX_OUTPUT_BYTES = 10 * 1024 * 1024;

/** What a program may see of the worker's environment: where it is and how it talks, never a secret. */
const INHERITED = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];

const environment = (given: Readonly<Record<string, string>> = {}): Record<string, string> => {
  const inherited = INHERITED.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...given };
};

type Child = ChildProcessWithoutNullStreams;

const start = ({ argv, env }: RunParams, cwd: string): Child => {
  const [program, ...rest] = argv;
  return spawn(program, rest, { cwd, env: environment(env), detached: true });
};

const signalGroup = ({ pid }: Child, signal: "SIGTERM" | "SIGKILL"): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already.
  }
};

/** Once the program has ended, ends what it left in its group, and stops waiting for output of what left the group. */
const endGroup = (child: Child): void => {
  child.once("exit", () => {
    signalGroup(child, "SIGKILL");
    const draining = setTimeout(() => {
      child.stdout.destroy();
      child.stderr.destroy();
    }, DRAIN_MS);
    child.once("close", () => {
      clearTimeout(draining);
    });
  });
};

/** Stops the group when the signal or the time limit says so. `why` is null while nothing has. */
const stopOn = (child: Child, { timeoutMs, signal }: RunParams) => {
  let why: string | null = null;
  let killing: NodeJS.Timeout | undefined;
  const stop = (reason: string): void => {
    if (why !== null || child.exitCode !== null || child.signalCode !== null) return;
    why = reason;
    signalGroup(child, "SIGTERM");
    killing = setTimeout(signalGroup, KILL_AFTER_MS, child, "SIGKILL");
  };
  const onAbort = (): void => {
    stop("it was told to stop");
  };
  signal?.addEventListener("abort", onAbort);
  const limit =
    timeoutMs === undefined ? undefined : setTimeout(stop, timeoutMs, `it ran over ${String(timeoutMs)} ms`);
  return {
    why: () => why,
    release: () => {
      signal?.removeEventListener("abort", onAbort);
      clearTimeout(limit);
      clearTimeout(killing);
    },
  };
};

/** Keeps the first `limit` bytes and reads on, so that the program is not held up. */
const collect = (stream: Readable, limit: number) => {
  const chunks: Buffer[] = [];
  let room = limit;
  let truncated = false;
  stream.on("data", (chunk: Buffer) => {
    truncated ||= chunk.length > room;
    chunks.push(chunk.subarray(0, room));
    room -= Math.min(room, chunk.length);
  });
  return { bytes: () => Buffer.concat(chunks), truncated: () => truncated };
};

/** The exit code, once all output has come; as a shell gives it where a signal ended the program. Rejects if it never ran. */
const ended = (child: Child): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });

/** See Exec.run. `cwd` is resolved. */
export const runProcess = async (params: RunParams, cwd: string): Promise<ProcessResult> => {
  const { argv, stdin, maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES, signal } = params;
  try {
    signal?.throwIfAborted();
    const child = start(params, cwd);
    const stdout = collect(child.stdout, maxOutputBytes);
    const stderr = collect(child.stderr, maxOutputBytes);
    // A program may end without reading its input.
    child.stdin.on("error", () => undefined).end(stdin);
    endGroup(child);
    const stop = stopOn(child, params);
    const exitCode = await ended(child).finally(stop.release);
    const why = stop.why();
    if (why !== null) throw new ExecError("killed", `${argv[0]}: stopped part-way: ${why}`);
    const truncated = stdout.truncated() || stderr.truncated();
    return { exitCode, stdout: stdout.bytes(), stderr: stderr.bytes(), truncated };
  } catch (error) {
    if (error instanceof ExecError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ExecError("not_started", `${argv[0]}: not started: ${why}`, { cause: error });
  }
};
