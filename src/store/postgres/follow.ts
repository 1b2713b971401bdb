// Following a log live: what is there, then what comes, each entry once and in order.
import { StoreError, type Envelope } from "../store.ts";
import type { Connection } from "./connection.ts";
import { readLog } from "./log.ts";
import type { Wake } from "./wake.ts";

const PAGE = 200;

/** How long a follow waits for a server that is gone before it says so (ms). */
const PATIENCE_MS = 30_000;

/** Reads the next page; undefined while the server is away, null when the follow was stopped meanwhile. */
const nextPage = async (
  connection: Connection,
  params: { readonly taskId: string; readonly after: number },
  { stop, goodAt }: { readonly stop: AbortSignal; readonly goodAt: number },
) => {
  try {
    return await readLog(connection, connection, { ...params, limit: PAGE });
  } catch (error) {
    if (stop.aborted) return null;
    const away = error instanceof StoreError && error.code === "unavailable";
    if (!away || performance.now() - goodAt > PATIENCE_MS) throw error;
    return undefined;
  }
};

/** Ends after the last entry of an ended task, or when stopped. Codes: `not_found`, `forgotten`, `unavailable`. */
export async function* follow(
  connection: Connection,
  wake: Wake,
  params: { readonly taskId: string; readonly after?: number },
  stop: AbortSignal,
): AsyncGenerator<Envelope, void, undefined> {
  const { taskId } = params;
  let after = params.after ?? 0;
  let goodAt = -Infinity;
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
      const page = await nextPage(connection, { taskId, after }, { stop, goodAt });
      if (page === null) return;
      if (page !== undefined) goodAt = performance.now();
      const { entries, ended } = page ?? { entries: [], ended: false };
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
