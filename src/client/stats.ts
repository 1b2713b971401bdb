// What a store holds: bytes per event type, model usage, tasks by status. Counts only; no content.
import type { Row } from "../core/project.ts";
import type { Store, StoreStats, TaskRow } from "../store/store.ts";
import { everyTask } from "./every-task.ts";
import { totalUsage, type UsageTotals } from "./usage.ts";

export interface UsageOf {
  readonly purpose: string;
  readonly model: string;
  readonly usage: UsageTotals;
}

export interface Stats extends StoreStats {
  readonly statuses: Readonly<Record<TaskRow["status"], number>>;
  readonly usage: readonly UsageOf[];
}

const byPurposeAndModel = (rows: readonly Row[]): UsageOf[] => {
  const groups = Map.groupBy(rows, ({ set }) => JSON.stringify([set?.["purpose"], set?.["model"]]));
  return [...groups].map(([name, group]) => {
    const [purpose = "", model = ""] = JSON.parse(name) as string[];
    return { purpose, model, usage: totalUsage(group) };
  });
};

export const loadStats = async (store: Store): Promise<Stats> => {
  const statuses = { ready: 0, running: 0, waiting: 0, ended: 0 };
  const rows: Row[] = [];
  for await (const { taskId, status } of everyTask(store)) {
    statuses[status] += 1;
    rows.push(...(await store.readRows({ taskId, table: "usage" })));
  }
  return { ...(await store.stats()), statuses, usage: byPurposeAndModel(rows) };
};
