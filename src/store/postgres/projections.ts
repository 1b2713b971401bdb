// Projection rows as they are read back. They are written by the database function write_rows (migration 0002).
import { projections, type Row, type Table, type Value } from "../../core/project.ts";
import type { Connection } from "./connection.ts";
import { findTask } from "./tasks.ts";

const tables = Object.keys(projections) as Table[];
const columnsOf = (table: Table): readonly string[] => Object.keys(projections[table]);

/** The rows of a task in the order of the tables and of the key. */
export const readRows = (connection: Connection, taskId: string, only: Table | undefined): Promise<Row[]> =>
  connection.read(async (session) => {
    const rows: Row[] = [];
    const found = await findTask(session, taskId);
    if (found === undefined) return rows;
    for (const table of tables.filter((name) => only === undefined || name === only)) {
      const columns = columnsOf(table);
      const sql = `SELECT key, ${columns.map((name) => `"${name}"`).join(", ")} FROM perdure.${table}
        WHERE task = $1 ORDER BY key`;
      for (const [key, ...values] of await session.tuples<[string, ...Value[]]>(sql, found.task)) {
        const set = Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
        rows.push({ table, key, set });
      }
    }
    return rows;
  });
