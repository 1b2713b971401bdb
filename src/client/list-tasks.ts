// The asker's tasks in this place, newest first.
import type { EventOf } from "../core/events.ts";
import type { ListParams, TaskRow } from "../store/store.ts";
import { requireAccess } from "./ask-access.ts";
import type { Client } from "./client.ts";
import { readEvents } from "./read-log.ts";

export const DEFAULT_LIMIT = 10;

export interface ListedTask {
  readonly row: TaskRow;
  readonly objective: string;
}

/** Nobody else's, whoever asks. Codes: `refused` (the place is closed to the asker). */
export const listTasks = async (
  client: Client,
  params: Pick<ListParams, "status" | "after"> & { readonly limit?: number } = {},
): Promise<ListedTask[]> => {
  await requireAccess(client, "see");
  const { principal: owner, place } = client;
  const rows = await client.store.listTasks({ limit: DEFAULT_LIMIT, ...params, owner, place });
  return Promise.all(
    rows.map(async (row) => {
      const [created] = await readEvents(client.store, { taskId: row.taskId, through: 1 });
      return { row, objective: (created?.event as EventOf<"TaskCreated">).objective };
    }),
  );
};
