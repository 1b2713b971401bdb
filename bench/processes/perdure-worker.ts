// A worker in a process of its own: node perdure-worker.ts <folder, or URL of a Postgres> <answers|hangs|idles>.
// Tells its parent when a task's input was taken (monotonic ns, as text) and when a run came to its end.
import { readdirSync, readlinkSync } from "node:fs";
import type { Model } from "../../src/model/model.ts";
import { createLoopingModel, prepareLoopingAgent } from "../looping-agent.ts";
import { createProgram, work } from "../program.ts";
import { storePath } from "../sqlite-files.ts";
import { openStoreAt } from "../stores.ts";
import { tellingInput } from "../telling-input.ts";

const OUTPUT_CHARS = 500;
const IDLE_MS = 10_000;

const [place = "", how = ""] = process.argv.slice(2);

const tell = (message: unknown): void => {
  process.send?.(message);
};

/** How many files of the database this process has open. */
const openFiles = (): number =>
  readdirSync("/proc/self/fd").filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith(storePath(place));
    } catch {
      return false; // The listing's own, closed by now.
    }
  }).length;

const answers = createLoopingModel({ isLast: () => true });
/** Its calls are never answered. */
const hangs: Model = {
  ...answers,
  stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }),
};

const store = tellingInput(await openStoreAt(place), () => tell({ took: process.hrtime.bigint().toString() }));
const program = await createProgram({
  store,
  agent: await prepareLoopingAgent({ outputChars: OUTPUT_CHARS }),
  model: how === "hangs" ? hangs : answers,
});
const worker = work(program, { name: `process ${String(process.pid)}`, onRunEnd: (_, end) => tell({ end }) });
await worker.idle();
tell({ ready: true });

if (how === "idles") {
  const before = process.cpuUsage();
  const from = performance.now();
  await program.ports.clock.sleep(IDLE_MS, new AbortController().signal);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1_000 / (performance.now() - from);
  tell({ idled: { share, files: openFiles() } });
}

process.on("disconnect", () => {
  process.exit();
});
