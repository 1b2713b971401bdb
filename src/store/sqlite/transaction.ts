// One transaction from begin to end, all of it or nothing.
import type { DatabaseSync } from "node:sqlite";

export interface Transaction {
  readonly database: DatabaseSync;
  /** Runs one statement without a result. */
  readonly run: (sql: string) => void;
  readonly begin: "BEGIN" | "BEGIN IMMEDIATE";
  readonly end: "COMMIT" | "ROLLBACK";
}

export const transact = <T>({ database, run, begin, end }: Transaction, work: () => T): T => {
  run(begin);
  try {
    const result = work();
    run(end);
    return result;
  } catch (error) {
    // SQLite itself rolls back after some errors (a full disk); a second rollback would hide the first error.
    if (database.isTransaction) run("ROLLBACK");
    throw error;
  }
};

/** Changes a database that no store is open on yet. */
export const change = <T>(database: DatabaseSync, work: () => T): T =>
  transact({ database, run: (sql) => database.exec(sql), begin: "BEGIN IMMEDIATE", end: "COMMIT" }, work);
