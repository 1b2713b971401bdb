// What a worker says as it goes: lines for a person on stderr, or JSON objects, one a line, on stdout.
import type { RunEnd } from "../runner/runner.ts";
import type { Claim } from "../store/store.ts";
import type { WorkerStatus } from "../worker/status.ts";
import type { WorkerOptions } from "../worker/worker.ts";
import { counted } from "./database.ts";
import type { Output } from "./program.ts";

export interface WorkerLog {
  began(store: string, options: WorkerOptions, agents: readonly string[]): void;
  claimed(claim: Claim): void;
  /** Something that an operator should know: a task held and why, a lease lost. `taskId` is empty for the worker itself. */
  note(taskId: string, message: string): void;
  ended(taskId: string, end: RunEnd): void;
  stopping(signal: string, withinMs: number): void;
  stopped(status: WorkerStatus, leaseMs: number): void;
}

const endWords: Readonly<Record<RunEnd, string>> = {
  parked: "waits",
  ended: "has ended",
  stopped: "given back",
  held: "set aside",
  damaged: "set aside: its log is damaged",
  newer: "left alone: only a newer version can read it",
  lost: "lost to another worker",
};

export const createWorkerLog = (output: Output, json: boolean): WorkerLog => {
  const say = (text: string, value: object): void => {
    if (json) output.print(JSON.stringify(value));
    else output.tell(text);
  };
  return {
    began: (store, { name, concurrency, queues }, agents) => {
      const of = queues === undefined ? "" : ` of the queues ${queues.join(", ")}`;
      const text = `${name} works tasks of ${agents.join(", ")}${of} in ${store}, ${String(concurrency)} at once`;
      say(text, { event: "began", name, store, agents, queues: queues ?? null, concurrency });
    },
    claimed: ({ taskId, agent, fence, attempts }) => {
      const again = attempts > 1 ? `, attempt ${String(attempts)}` : "";
      say(`task ${taskId}: claimed (fence ${String(fence)}${again})`, {
        event: "claimed",
        ...{ taskId, agent, fence, attempts },
      });
    },
    note: (taskId, message) => {
      say(taskId === "" ? message : `task ${taskId}: ${message}`, { event: "note", taskId, message });
    },
    ended: (taskId, end) => say(`task ${taskId}: ${endWords[end]}`, { event: "run_ended", taskId, end }),
    stopping: (signal, withinMs) => {
      const text = `stopping after the steps under way, at most ${String(withinMs)} ms; once more leaves at once`;
      say(text, { event: "stopping", signal, withinMs });
    },
    stopped: (status, leaseMs) => {
      const left = status.running.length;
      const rest =
        left === 0 ? "all given back" : `${counted(left, "task")} left to the lease of ${String(leaseMs)} ms`;
      say(`stopped after ${counted(status.metrics.claims, "claim")}: ${rest}`, { event: "status", ...status });
    },
  };
};
