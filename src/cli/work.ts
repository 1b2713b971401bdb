// Works one task to its next wait, or follows whoever holds it until then.
import { hostname } from "node:os";
import { rests } from "../client/until-rest.ts";
import type { Store, TaskRow } from "../store/store.ts";
import { defaultWorkerOptions, startWorker } from "../worker/worker.ts";
import { CommandError } from "./failure.ts";
import { watchProgress } from "./progress.ts";
import type { Program } from "./program.ts";
import type { Session } from "./session.ts";
import { exitCodeOf, listenForStop, type StopSignals } from "./stop-signals.ts";
import type { Workshop } from "./workshop.ts";

/** How long nothing may come of a task before the command gives up on it. */
const PATIENCE_MS = 10_000;

const rowOf = async (store: Store, taskId: string): Promise<TaskRow> => {
  const row = await store.getTask({ taskId });
  if (row === null) throw new CommandError(`task ${taskId} is gone`);
  return row;
};

/** What another build set aside, this one may take up; what this one did, only a person lets go. */
const requireNotHeld = ({ taskId, held }: TaskRow, build: string): void => {
  if (held?.build !== build) return;
  throw new CommandError(`task ${taskId} is held: ${held.reason}. Once that is mended, release it`);
};

/** Gives up on a task that nobody gets anywhere with: neither this process nor another. */
class Patience {
  #lastSeq = 0;
  #since = performance.now();
  #why = "no worker could claim it";

  because(why: string): void {
    this.#why = why;
  }

  /** `busy`: somebody is at work on it now. */
  check({ taskId, lastSeq }: TaskRow, busy: boolean): void {
    if (busy || lastSeq > this.#lastSeq) this.#since = performance.now();
    this.#lastSeq = lastSeq;
    if (performance.now() - this.#since < PATIENCE_MS) return;
    throw new CommandError(`task ${taskId} cannot be worked: ${this.#why}`);
  }
}

interface Hints extends Disposable {
  /** Resolves at the next hint, at a stop, or after `pollMs`. */
  next(): Promise<void>;
  give(): void;
}

const createHints = (store: Store, pollMs: number, stop: AbortSignal): Hints => {
  let hint = Promise.withResolvers<void>();
  const give = (): void => {
    hint.resolve();
  };
  const timer = setInterval(give, pollMs);
  const unsubscribe = store.subscribe(give);
  stop.addEventListener("abort", give);
  return {
    give,
    next: async () => {
      await hint.promise;
      hint = Promise.withResolvers();
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      unsubscribe();
      stop.removeEventListener("abort", give);
    },
  };
};

const workUntilRest = async (
  program: Program,
  session: Session,
  workshop: Workshop,
  taskId: string,
  stop: AbortSignal,
): Promise<void> => {
  const { store, settings } = session;
  const pollMs = Math.min(defaultWorkerOptions.pollMs, settings.leaseMs);
  const name = `cli ${String(process.pid)}@${hostname()}`;
  const patience = new Patience();
  using hints = createHints(store, pollMs, stop);
  const ports = workshop.ports(store, {
    note: (_taskId, message) => {
      program.output.progress(`  ${message}`);
      patience.because(message);
    },
  });
  const { host } = workshop;
  const { give: onRunEnd } = hints;
  const worker = startWorker(ports, { ...defaultWorkerOptions, concurrency: 1, name, pollMs, host, taskId, onRunEnd });
  try {
    while (!stop.aborted) {
      const row = await rowOf(store, taskId);
      if (rests(row)) return;
      requireNotHeld(row, workshop.agents.build);
      const elsewhere = row.claimedBy !== null && row.claimedBy !== name;
      patience.check(row, elsewhere || worker.running.has(taskId));
      await hints.next();
    }
  } finally {
    await worker.stop();
  }
};

/** The signal's exit code when one stopped it first; null when the task rests. */
export const workToRest = async (
  program: Program,
  session: Session,
  workshop: Workshop,
  taskId: string,
): Promise<number | null> => {
  const { output } = program;
  const row = await rowOf(session.store, taskId);
  requireNotHeld(row, workshop.agents.build);
  if (row.claimedBy === null) workshop.checkRequires(row);
  else output.tell(`task ${taskId} is being worked by ${row.claimedBy}; following it`);
  using signals: StopSignals = listenForStop(() => {
    output.tell(`stopping after this step; once more leaves at once. Go on: ${session.again(`resume ${taskId}`)}`);
  });
  await using _progress = watchProgress(program, session, { taskId, after: row.lastSeq });
  for (;;) {
    await workUntilRest(program, session, workshop, taskId, signals.asked);
    if (signals.first !== null) return exitCodeOf(signals.first);
    // A plugin's last word at the wait may have started the task again.
    if (rests(await rowOf(session.store, taskId))) return null;
  }
};
