// Following a log live, over a server that may be away for a while.
import { followPages, type Page } from "../follow.ts";
import { StoreError, type Envelope } from "../store.ts";
import type { Connection } from "./connection.ts";
import { readLog } from "./log.ts";
import type { Wake } from "./wake.ts";

const PAGE = 200;

/** How long a follow waits for a server that is gone before it says so (ms). */
const PATIENCE_MS = 30_000;

const NOTHING: Page = { entries: [], ended: false };

/** Ends after the last entry of an ended task, or when stopped. Codes: `not_found`, `forgotten`, `unavailable`. */
export const follow = (
  connection: Connection,
  wake: Wake,
  params: { readonly taskId: string; readonly after?: number },
  stop: AbortSignal,
): AsyncGenerator<Envelope, void, undefined> => {
  let goodAt = -Infinity;
  const page = async (after: number): Promise<Page> => {
    try {
      const read = await readLog(connection, connection, { taskId: params.taskId, after, limit: PAGE });
      goodAt = performance.now();
      return read;
    } catch (error) {
      const away = error instanceof StoreError && error.code === "unavailable";
      const waits = away && performance.now() - goodAt <= PATIENCE_MS;
      if (stop.aborted || waits) return NOTHING;
      throw error;
    }
  };
  return followPages({ page, subscribe: (hint) => wake.subscribe(hint) }, params, stop);
};
