// Waits until a task rests: its log's last word is a wait or an end, and nobody has posted since.
import type { Store, TaskRow } from "../store/store.ts";
import { ClientError } from "./client.ts";

export const rests = (row: Pick<TaskRow, "status" | "inboxSeq" | "inboxTaken">): boolean =>
  row.status === "ended" || (row.status === "waiting" && row.inboxSeq === row.inboxTaken);

export interface UntilRest {
  readonly taskId: string;
  readonly signal: AbortSignal;
  /** How often to look where no hint comes (ms). */
  readonly pollMs: number;
}

/** The row as the task rests. Rejects with the signal's reason, and with `not_found` once the task is gone. */
export const untilRest = async (
  store: Pick<Store, "getTask" | "subscribe">,
  { taskId, signal, pollMs }: UntilRest,
): Promise<TaskRow> => {
  let look = Promise.withResolvers<void>();
  const hint = (): void => {
    look.resolve();
  };
  const timer = setInterval(hint, pollMs);
  const unsubscribe = store.subscribe((id) => {
    if (id === null || id === taskId) hint();
  });
  signal.addEventListener("abort", hint);
  try {
    for (;;) {
      signal.throwIfAborted();
      const row = await store.getTask({ taskId });
      if (row === null) throw new ClientError("not_found", `task ${taskId} is gone`);
      if (rests(row)) return row;
      await look.promise;
      look = Promise.withResolvers();
    }
  } finally {
    clearInterval(timer);
    unsubscribe();
    signal.removeEventListener("abort", hint);
  }
};
