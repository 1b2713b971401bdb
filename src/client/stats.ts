// What a store holds: bytes per event type, model usage, tasks by status. Counts only; no content.
import type { Row } from "../core/project.ts";
import type { Store, StoreStats, TaskRow } from "../store/store.ts";
import { everyTask } from "./every-task.ts";
import { usageBy, type UsageOf } from "./usage.ts";

export interface Stats extends StoreStats {
  readonly statuses: Readonly<Record<TaskRow["status"], number>>;
  readonly usage: readonly UsageOf[];
}

export const loadStats = async (store: Store): Promise<Stats> => {
  const statuses = { ready: 0, running: 0, waiting: 0, ended: 0 };
  const rows: Row[] = [];
  for await (const { taskId, status } of everyTask(store)) {
    statuses[status] += 1;
    rows.push(...(await store.readRows({ taskId, table: "usage" })));
  }
  return { ...(await store.stats()), statuses, usage: usageBy(rows) };
};
