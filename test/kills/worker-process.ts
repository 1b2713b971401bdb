// A worker in a process of its own: node worker-process.ts <folder> <order as JSON>. It works until it is killed, or until
// its parent tells it to stop. It tells its parent what it does line by line, each written before it goes on, so that
// nothing that it told is lost when it dies.
import { writeSync } from "node:fs";
import { join } from "node:path";
import { createRunnerPorts, systemRunnerClock } from "../../src/runtime.ts";
import { StoreError, type Store } from "../../src/store/store.ts";
import { snapshotVersionOf } from "../../src/versions.ts";
import { defaultWorkerOptions, startWorker } from "../../src/worker/worker.ts";
import { AGENT, countingModel, prepareCountingAgent } from "./counting-agent.ts";
import { openStore } from "./open-store.ts";
import { modelPassing, storePassing, toolsPassing, type Pass } from "./points.ts";
import type { Order, Told } from "./worker-handle.ts";

const [folder = "", orderText = "{}"] = process.argv.slice(2);
const order = JSON.parse(orderText) as Order;

const tell = (told: Told): void => {
  writeSync(1, `${JSON.stringify(told)}\n`);
};

// An hour off, also for whatever in here reads the clock by itself.
let clockOffMs = order.clockOffMs ?? 0;
const wall = Date.now.bind(Date);
Date.now = () => wall() + clockOffMs;

let passes = 0;
/** Whoever dies here does so before the next statement: nothing of this process runs after it. */
const pass: Pass = (point) => {
  if (order.at?.point !== point) return;
  passes += 1;
  if (passes !== order.at.n) return;
  tell({ met: point });
  process.kill(process.pid, order.at.signal);
  if (order.at.signal === "SIGSTOP") tell({ continued: point });
};

/** Tells of claims, and of what became of each append. */
const telling = (store: Store): Store => ({
  ...store,
  claim: async (params) => {
    const claim = await store.claim(params);
    if (claim !== null) {
      const { taskId, fence, attempts } = claim;
      tell({ claimed: { taskId, fence, attempts, snapshot: claim.snapshot?.seq ?? null } });
    }
    return claim;
  },
  append: async (params) => {
    try {
      const receipt = await store.append(params);
      tell({ append: "ok" });
      return receipt;
    } catch (error) {
      tell({ append: error instanceof StoreError ? error.code : String(error) });
      throw error;
    }
  },
});

const { url, busyMs } = order;
const opened = await openStore({ folder, url, busyMs }).catch((error: unknown) => {
  tell({ closed: error instanceof StoreError ? error.code : String(error) });
  process.exit(1);
});
const store = storePassing(telling(opened), pass);
const agent = await prepareCountingAgent(join(folder, "effects"), {
  ...toolsPassing(pass),
  begun: (tool) => tell({ dispatched: tool }),
});
const model = modelPassing(countingModel(order.modelMs), pass);
const noWorkspace = (): Promise<never> => Promise.reject(new Error("this agent has no workspace"));
const ports = createRunnerPorts({
  store,
  agents: new Map([[AGENT, agent]]),
  model: () => model,
  exec: () =>
    Promise.resolve({
      ...{ root: "/", resolve: noWorkspace, stat: noWorkspace, readFile: noWorkspace },
      ...{ writeFile: noWorkspace, run: noWorkspace },
    }),
  snapshotVersions: new Map([[AGENT, await snapshotVersionOf(agent)]]),
  build: "kills",
  limits: { leaseMs: order.leaseMs, snapshotEvery: 12, ...(order.limits ?? {}) },
  watcher: { note: (taskId, note) => tell({ note, taskId }) },
});
const worker = startWorker(
  { ...ports, clock: { ...systemRunnerClock, wall: () => Date.now() } },
  {
    ...{ ...defaultWorkerOptions, name: `process ${String(process.pid)}`, host: "here", pollMs: 100 },
    // What kills its workers here is not the task.
    maxAttempts: 1_000,
    onRunEnd: (taskId, end) => tell({ end, taskId }),
  },
);
tell({ ready: true });

process.on("message", (message: { readonly stop?: true; readonly clockOffMs?: number }) => {
  if (message.clockOffMs !== undefined) {
    clockOffMs = message.clockOffMs;
    tell({ clock: clockOffMs });
  }
  if (message.stop !== true) return;
  void worker
    .stop()
    .then(() => opened.close())
    .then(() => process.disconnect());
});
process.on("disconnect", () => process.exit());
