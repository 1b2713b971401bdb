// Projection rows of one task, and its definitions: kept as given, column by column.
import { projections, type Row, type Table, type Value } from "../../core/project.ts";
import { byCodePoint } from "../code-points.ts";
import { findTask, type State, type StoredTask } from "./state.ts";

export const applyRows = (task: StoredTask, rows: readonly Row[]): void => {
  for (const { table, key, set } of rows) {
    const stored = task.rows.get(table) ?? new Map<string, Map<string, Value>>();
    task.rows.set(table, stored);
    if (set === null) {
      stored.delete(key);
      continue;
    }
    const columns = stored.get(key) ?? new Map<string, Value>();
    stored.set(key, columns);
    for (const [column, value] of Object.entries(set)) columns.set(column, value);
  }
};

const rowsOfTable = (task: StoredTask, table: Table): Row[] => {
  const names = Object.keys(projections[table]);
  const stored = [...(task.rows.get(table) ?? [])].sort(([a], [b]) => byCodePoint(a, b));
  return stored.map(([key, columns]) => ({
    table,
    key,
    set: Object.fromEntries(names.map((name) => [name, columns.get(name) ?? null])),
  }));
};

export const readRows = (state: State, taskId: string, table?: Table): Row[] => {
  const task = findTask(state, taskId);
  const tables = table === undefined ? (Object.keys(projections) as Table[]) : [table];
  return tables.flatMap((name) => rowsOfTable(task, name));
};
