// Following a log live: pages in one transaction each, hints from this process and from others.
import { followPages } from "../follow.ts";
import type { Envelope } from "../store.ts";
import type { Connection } from "./connection.ts";
import { readEnvelopes } from "./log.ts";
import { requireTask } from "./tasks.ts";
import type { Wake } from "./wake.ts";

const PAGE = 200;

/** Ends after the last entry of an ended task, or when stopped. Codes: `not_found`, `forgotten`. */
export const follow = (
  connection: Connection,
  wake: Wake,
  params: { readonly taskId: string; readonly after?: number },
  stop: AbortSignal,
): AsyncGenerator<Envelope, void, undefined> =>
  followPages(
    {
      page: (after) =>
        connection.read(() => {
          const row = requireTask(connection, params.taskId);
          return { entries: readEnvelopes(connection, row, { after, limit: PAGE }), ended: row.status === "ended" };
        }),
      subscribe: (hint) => wake.subscribe(hint),
    },
    params,
    stop,
  );
