// Following a log live: what is there, then what comes, each entry once and in order.
import type { Envelope } from "../store.ts";
import type { Connection } from "./connection.ts";
import { readLog } from "./log.ts";
import type { Wake } from "./wake.ts";

const PAGE = 200;

/** Ends after the last entry of an ended task, or when stopped. Codes: `not_found`, `forgotten`. */
export async function* follow(
  connection: Connection,
  wake: Wake,
  params: { readonly taskId: string; readonly after?: number },
  stop: AbortSignal,
): AsyncGenerator<Envelope, void, undefined> {
  const { taskId } = params;
  let after = params.after ?? 0;
  let moved = Promise.withResolvers<undefined>();
  const go = (): void => moved.resolve(undefined);
  const unsubscribe = wake.subscribe((id) => {
    if (id === null || id === taskId) go();
  });
  stop.addEventListener("abort", go);
  try {
    while (!stop.aborted) {
      // Made before the log is read, so that no change falls in between.
      moved = Promise.withResolvers();
      const page = await readLog(connection, connection, { taskId, after, limit: PAGE }).catch((error: unknown) => {
        if (stop.aborted) return null;
        throw error;
      });
      if (page === null) return;
      const { entries, ended } = page;
      for (const entry of entries) {
        if (stop.aborted) return;
        after = entry.seq;
        yield entry;
      }
      if (entries.length > 0) continue;
      if (ended) return;
      if (!stop.aborted) await moved.promise;
    }
  } finally {
    unsubscribe();
    stop.removeEventListener("abort", go);
  }
}
