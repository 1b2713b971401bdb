// Model usage from projection rows: in sum, by purpose and model, and of a task with its child tasks.
import type { Row } from "../core/project.ts";
import type { ListParams, Store, TaskRow } from "../store/store.ts";

/** Tokens are null where no call's were reported: unknown is not zero. */
export interface UsageTotals {
  readonly calls: number;
  readonly failed: number;
  /** Calls whose tokens the provider did not report; they are not in the counts below. */
  readonly unknown: number;
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly reasoning: number | null;
  readonly durationMs: number;
  /** From configured prices, no bill. Null where none is configured. */
  readonly priceEstimate: number | null;
}

export interface UsageOf {
  readonly purpose: string;
  readonly model: string;
  readonly usage: UsageTotals;
}

/** A task's model work, and that of the tasks below it. */
export interface TaskUsage {
  readonly taskId: string;
  /** Its own. */
  readonly usage: UsageTotals;
  readonly by: readonly UsageOf[];
  readonly children: readonly TaskUsage[];
  /** Its own and that of all tasks below it. */
  readonly withChildren: UsageTotals;
}

const counts = ["calls", "failed", "unknown", "durationMs"] as const;
const tokens = ["input", "output", "cacheRead", "cacheWrite", "reasoning"] as const;
type Tokens = Record<(typeof tokens)[number], number | null>;

/** The sum over the rows of `usage` among these. */
export const totalUsage = (rows: readonly Row[]): UsageTotals => {
  const used = rows.flatMap(({ table, set }) => (table === "usage" && set !== null ? [set] : []));
  const sum = (column: string): number => used.reduce((total, set) => total + Number(set[column] ?? 0), 0);
  const priced = used.some((set) => typeof set["priceEstimate"] === "number");
  const counted = Object.fromEntries(counts.map((column) => [column, sum(column)])) as Record<
    (typeof counts)[number],
    number
  >;
  const isUnknown = counted.calls > 0 && counted.unknown === counted.calls;
  const reported = tokens.map((column) => [column, isUnknown ? null : sum(column)]);
  return {
    ...counted,
    ...(Object.fromEntries(reported) as Tokens),
    priceEstimate: priced ? sum("priceEstimate") : null,
  };
};

/** In the order in which they come. */
export const usageBy = (rows: readonly Row[]): UsageOf[] => {
  const used = rows.filter(({ table }) => table === "usage");
  const groups = Map.groupBy(used, ({ set }) => JSON.stringify([set?.["purpose"], set?.["model"]]));
  return [...groups].map(([name, group]) => {
    const [purpose = "", model = ""] = JSON.parse(name) as string[];
    return { purpose, model, usage: totalUsage(group) };
  });
};

const PAGE = 200;

/** The tasks that this one made, oldest first. */
const childrenOf = async (store: Pick<Store, "listTasks">, { taskId, owner }: Named): Promise<TaskRow[]> => {
  const children: TaskRow[] = [];
  for (let page: readonly TaskRow[] | undefined; page === undefined || page.length === PAGE;) {
    const after = children.at(-1)?.taskId;
    const params: ListParams = { parent: taskId, owner, limit: PAGE, ...(after === undefined ? {} : { after }) };
    page = await store.listTasks(params);
    children.push(...page);
  }
  return children.reverse();
};

type Named = Pick<TaskRow, "taskId" | "owner">;

interface Loaded {
  readonly usage: TaskUsage;
  readonly rows: readonly Row[];
}

const load = async (store: Pick<Store, "listTasks" | "readRows">, task: Named): Promise<Loaded> => {
  const { taskId } = task;
  const own = await store.readRows({ taskId, table: "usage" });
  const below = [];
  for (const child of await childrenOf(store, task)) below.push(await load(store, child));
  const rows = [...own, ...below.flatMap((child) => child.rows)];
  const children = below.map((child) => child.usage);
  return {
    rows,
    usage: { taskId, usage: totalUsage(own), by: usageBy(own), children, withChildren: totalUsage(rows) },
  };
};

/** Of a task whose owner asks: nested work stands under the task that caused it. */
export const loadUsage = async (store: Pick<Store, "listTasks" | "readRows">, task: Named): Promise<TaskUsage> =>
  (await load(store, task)).usage;
