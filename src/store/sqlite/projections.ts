// Projection rows: one table per entry of `projections`, written with the append that changes them.
import { projections, type Row, type Table, type Value } from "../../core/project.ts";
import type { Connection } from "./connection.ts";

const tables = Object.keys(projections) as Table[];
const columnsOf = (table: Table): readonly string[] => Object.keys(projections[table]);

/** Made once for each set of columns. */
const upserts = new Map<string, string>();

/** The statement that sets these columns of a row and leaves the others. A timer that is set may fire again. */
const upsert = (table: Table, columns: readonly string[]): string => {
  const key = `${table} ${columns.join()}`;
  const known = upserts.get(key);
  if (known !== undefined) return known;
  const names = ["task", "key", ...columns].join(", ");
  const places = ["?", "?", ...columns.map(() => "?")].join(", ");
  const changes = columns.map((column) => `${column} = excluded.${column}`);
  if (table === "timers") changes.push("inboxSeq = NULL");
  const action = changes.length === 0 ? "NOTHING" : `UPDATE SET ${changes.join(", ")}`;
  const sql = `INSERT INTO ${table} (${names}) VALUES (${places}) ON CONFLICT (task, key) DO ${action}`;
  upserts.set(key, sql);
  return sql;
};

/** Sets, changes and removes rows of one task. */
export const writeRows = (connection: Connection, task: number, rows: readonly Row[]): void => {
  for (const { table, key, set } of rows) {
    if (set === null) {
      connection.run(`DELETE FROM ${table} WHERE task = ? AND key = ?`, task, key);
      continue;
    }
    const columns = columnsOf(table).filter((column) => Object.hasOwn(set, column));
    connection.run(upsert(table, columns), task, key, ...columns.map((column) => set[column] ?? null));
  }
};

/** The rows of a task in the order of the tables and of the key. */
export const readRows = (connection: Connection, task: number, only: Table | undefined): Row[] =>
  tables
    .filter((table) => only === undefined || table === only)
    .flatMap((table) => {
      const sql = `SELECT key, ${columnsOf(table).join(", ")} FROM ${table} WHERE task = ? ORDER BY key`;
      return connection.all<{ key: string } & Record<string, Value>>(sql, task).map((row) => {
        const { key, ...set } = row;
        return { table, key, set: set as Readonly<Record<string, Value>> };
      });
    });

/** A task that has ended waits for no time. */
export const deleteTimers = (connection: Connection, task: number): void => {
  connection.run("DELETE FROM timers WHERE task = ?", task);
};
