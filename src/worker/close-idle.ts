// Closes conversations that nobody has spoken to for long: a policy of whoever runs the workers, off unless set.
import type { RunnerPorts } from "../runner/ports.ts";
import { StoreError, type Store, type TaskRow } from "../store/store.ts";

const PAGE = 200;
/** How often to look (ms), at most. */
const LONGEST_PAUSE_MS = 60_000;

/** A turn came to its end, and nothing is under way, unknown, asked, set for a time, or still to be told. */
const rests = (row: TaskRow): boolean =>
  row.mode === "conversation" &&
  row.waitingOn === "input" &&
  (row.outcome === "completed" || row.outcome === "cancelled") &&
  row.inboxSeq === row.inboxTaken &&
  row.nextTimerAt === null &&
  row.held === null &&
  row.restoredFrom === null;

/** Posts a `Close` to each task at rest whose log has not grown for `idleMs`, once per rest. How many it posted to. The
 * fold passes over a close of a task with a child or a job that lives. */
export const closeIdle = async (store: Store, idleMs: number): Promise<number> => {
  const updatedBefore = (await store.now()) - idleMs;
  let posted = 0;
  let after: string | undefined;
  for (;;) {
    const page = await store.listTasks({
      status: "waiting",
      updatedBefore,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const { taskId, lastSeq } of page.filter(rests)) {
      const key = `core:idle:${String(lastSeq)}`;
      const receipt = await store
        .post({ taskId, by: "core:core", key, item: { type: "Close" } })
        .catch((error: unknown) => {
          // It ended, or went, since it was listed.
          if (error instanceof StoreError && error.code !== "unavailable") return null;
          throw error;
        });
      if (receipt?.duplicate === false) posted += 1;
    }
    after = page.at(-1)?.taskId;
    if (after === undefined || page.length < PAGE) return posted;
  }
};

/** How long to wait before looking again: so that none is closed much later than it is due. */
export const pauseBetween = (idleMs: number): number => Math.max(1_000, Math.min(LONGEST_PAUSE_MS, idleMs / 10));

/** Looks now and then until stopped; what it closes, some worker then claims and ends. */
export const keepClosingIdle = async (
  { store, clock, watcher }: Pick<RunnerPorts, "store" | "clock" | "watcher">,
  idleMs: number,
  stopping: AbortSignal,
): Promise<void> => {
  while (!stopping.aborted) {
    await closeIdle(store, idleMs).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
      watcher.note?.("", `cannot close what is idle: ${error.message}`);
    });
    await clock.sleep(pauseBetween(idleMs), stopping).catch(() => undefined);
  }
};
