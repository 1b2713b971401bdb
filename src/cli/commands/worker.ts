// perdure worker: works every task that this configuration serves, until it is told to stop.
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { defaultWorkerOptions, startWorker, type Worker, type WorkerOptions } from "../../worker/worker.ts";
import { defineCommand, singleOption, type CommonValues } from "../command.ts";
import type { Program } from "../program.ts";
import { createSession, loadSettings, type Session } from "../session.ts";
import { lockWhereAsked } from "../single.ts";
import { listenForStop } from "../stop-signals.ts";
import { keepStatusFile } from "../status-file.ts";
import { createWorkerLog, type WorkerLog } from "../worker-log.ts";
import { openWorkshop, type Workshop } from "../workshop.ts";

/** What of a worker a supervisor may want to read is this old at the most (ms). */
const STATUS_EVERY_MS = 1_000;

const begin = (
  { store, settings }: Session,
  workshop: Workshop,
  log: WorkerLog,
  queues: readonly string[] | undefined,
): Worker => {
  const { leaseMs, concurrency, closeIdleAfter } = settings;
  const { host } = workshop;
  const options: WorkerOptions = {
    ...defaultWorkerOptions,
    name: `worker ${String(process.pid)}@${hostname()}`,
    pollMs: Math.min(defaultWorkerOptions.pollMs, leaseMs),
    onClaim: (claim) => log.claimed(claim),
    onRunEnd: (taskId, end) => log.ended(taskId, end),
    ...{ concurrency, host },
    ...(queues === undefined ? {} : { queues }),
    ...(closeIdleAfter === undefined ? {} : { closeIdleAfterMs: closeIdleAfter }),
  };
  log.began(store.name, options, [...workshop.agents.prepared.keys()]);
  return startWorker(workshop.ports(store, { note: (taskId, message) => log.note(taskId, message) }), options);
};

/** Until the steps under way are done and their tasks given back. False when that takes longer than `ms`. */
const stopWithin = async (worker: Worker, ms: number): Promise<boolean> => {
  const stopped = new AbortController();
  const late = delay(ms, false, { signal: stopped.signal }).catch(() => true);
  try {
    return await Promise.race([worker.stop().then(() => true), late]);
  } finally {
    stopped.abort();
  }
};

const workUntilStopped = async (
  program: Program,
  session: Session,
  options: CommonValues & { readonly queue?: readonly string[]; readonly "status-file"?: string },
): Promise<number> => {
  const { settings } = session;
  const log = createWorkerLog(program.output, options.json === true);
  const workshop = await openWorkshop(program, session);
  using signals = listenForStop((signal) => log.stopping(signal, settings.stopAfter));
  const queues = options.queue ?? (settings.queue === undefined ? undefined : [settings.queue]);
  const worker = begin(session, workshop, log, queues);
  const path = options["status-file"];
  await using _status = path === undefined ? null : keepStatusFile(path, worker, STATUS_EVERY_MS, program.cwd);
  const { asked } = signals;
  const told = new Promise<void>((resolve) => {
    if (asked.aborted) resolve();
    asked.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([told, worker.done]);
  const inTime = await stopWithin(worker, settings.stopAfter);
  log.stopped(await worker.status(), settings.leaseMs);
  return inTime ? 0 : 1;
};

export const worker = defineCommand({
  name: "worker",
  summary: "work all tasks that this configuration serves, until stopped",
  words: {},
  options: {
    concurrency: { type: "string", value: "N", about: "so many tasks at once; default 4" },
    queue: { type: "string", value: "NAME", multiple: true, about: "only tasks of this queue; may be given again" },
    "snapshot-every": { type: "string", value: "N", about: "snapshots at least N events apart; default 100, 0 never" },
    "stop-after": { type: "string", value: "MS", about: "how long a stop waits for steps under way; default 30000" },
    "status-file": { type: "string", value: "FILE", about: "keep the worker's status in FILE, as JSON" },
    single: singleOption,
    "lease-ms": { type: "string", value: "MS", about: "how long a claim holds unrenewed; default 5000" },
  },
  notes: [
    "It claims tasks whose agent and plugins are configured here and whose workspace is on this host; any number of",
    "workers may share a database. SIGTERM or Ctrl-C: it claims no more, ends the steps under way and gives their",
    "tasks back (exit 0); what is not done in time is left to its lease (exit 1); a second signal leaves at once.",
    "With --json each line on stdout is a JSON object; the last one is the status.",
  ].join("\n"),
  perform: async (program, { options }) => {
    const given = await loadSettings(program, options);
    await using _lock = await lockWhereAsked(given, options);
    await using session = await createSession(program, options, given);
    return await workUntilStopped(program, session, options);
  },
});
