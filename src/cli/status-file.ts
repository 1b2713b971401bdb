// A file with a worker's status, for whoever supervises it: always whole, and never older than told.
import { rename, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Worker } from "../worker/worker.ts";

/** Writes the status to `path` (from `cwd`) every `everyMs`, and once more when disposed. A file that cannot be written
 * stops nothing: its age says so. */
export const keepStatusFile = (path: string, worker: Worker, everyMs: number, cwd: string): AsyncDisposable => {
  const target = resolve(cwd, path);
  const draft = `${target}.${String(process.pid)}`;
  let writing: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    const status = { at: new Date().toISOString(), pid: process.pid, ...(await worker.status()) };
    await writeFile(draft, `${JSON.stringify(status, null, 2)}\n`);
    await rename(draft, target);
  };
  const begin = (): void => {
    writing ??= write()
      .catch(() => undefined)
      .finally(() => {
        writing = null;
      });
  };
  begin();
  const timer = setInterval(begin, everyMs);
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await writing;
      await write().catch(() => undefined);
    },
  };
};
