// The parent's end of a worker process: what it was told, and the ways to kill, stop and continue it.
import { fork, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { RunnerLimits } from "../../src/runner/ports.ts";
import type { ToolName } from "./counting-agent.ts";
import type { PointName } from "./points.ts";

/** What a worker process is to be, and where it is to die or to stand still. */
export interface Order {
  readonly leaseMs: number;
  /** The database of Postgres that it works on; a file in its folder otherwise. */
  readonly url?: string | undefined;
  readonly at?: { readonly point: PointName; readonly n: number; readonly signal: "SIGKILL" | "SIGSTOP" };
  /** How long a reply of its model takes. */
  readonly modelMs?: number;
  /** How far its wall clock is off from the start. */
  readonly clockOffMs?: number;
  readonly busyMs?: number;
  readonly limits?: Partial<RunnerLimits>;
}

export interface Claimed {
  readonly taskId: string;
  readonly fence: number;
  readonly attempts: number;
  readonly snapshot: number | null;
}

/** A line of a worker process. */
export interface Told {
  readonly ready?: true;
  readonly claimed?: Claimed;
  /** `ok`, or the code that the append was refused with. */
  readonly append?: string;
  readonly dispatched?: ToolName;
  readonly note?: string;
  readonly end?: string;
  readonly taskId?: string;
  /** The named point that it was ordered to die or stop at. */
  readonly met?: PointName;
  readonly continued?: PointName;
  readonly clock?: number;
  /** The code that its store was refused with: it exits. */
  readonly closed?: string;
}

const script = fileURLToPath(new URL("./worker-process.ts", import.meta.url));
/** Node keeps compiled modules here, so that a process starts in half the time. */
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/node-compile", import.meta.url));

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class WorkerHandle {
  /** All that it told, in order. */
  readonly told: Told[] = [];
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #listeners = new Set<() => void>();
  #over = false;

  constructor(folder: string, order: Order) {
    this.#child = fork(script, [folder, JSON.stringify(order)], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    });
    // Also one that stands still, and whatever became of the test.
    onTestFinished(() => {
      this.#child.kill("SIGKILL");
    });
    // What is sent to a process that has just died is not an error of the test.
    this.#child.on("error", () => undefined);
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("its stdout is a pipe");
    createInterface({ input: stdout }).on("line", (line) => {
      this.told.push(JSON.parse(line) as Told);
      this.#hear();
    });
    this.exited = new Promise((resolve) => {
      this.#child.on("close", (code, signal) => {
        this.#over = true;
        this.#hear();
        resolve({ code, signal });
      });
    });
  }

  #hear(): void {
    for (const look of this.#listeners) look();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The first line, from the `from`-th on, that `wanted` takes; rejects when the process ends without. */
  until(wanted: (told: Told) => boolean, from = 0): Promise<Told> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.told.slice(from).find(wanted);
        if (found === undefined && !this.#over) return;
        this.#listeners.delete(look);
        if (found !== undefined) resolve(found);
        else reject(new Error(`it ended without saying so: ${JSON.stringify(this.told.slice(-20))}`));
      };
      this.#listeners.add(look);
      look();
    });
  }

  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  setClock(clockOffMs: number): void {
    this.#child.send({ clockOffMs });
  }

  /** Lets it finish its steps, give its claims back and exit. */
  async stop(): Promise<Exit> {
    this.#child.send({ stop: true });
    return this.exited;
  }
}
