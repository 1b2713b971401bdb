// One connection to one database file. Statements are prepared once; every transaction is tried whole, and tried again
// while another process is in its way. Nothing in here awaits while a transaction is open.
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError, type Seal } from "../store.ts";
import type { ErasureJournal } from "../erasures.ts";
import { isBusy, refusalOf } from "./refusal.ts";
import type { StoreClock } from "./store-clock.ts";
import { transact, type Transaction } from "./transaction.ts";

/** What a statement's parameters are bound to: by place, or the first of them an object, by name. */
export type Bound = SQLInputValue | Record<string, SQLInputValue>;

export interface ConnectionOptions {
  /** The path, for messages. */
  readonly name: string;
  readonly database: DatabaseSync;
  readonly seal: Seal;
  readonly clock: StoreClock;
  /** How long a transaction is tried again before it is `unavailable` (ms). */
  readonly busyMs: number;
  /** Refuses when the schema is no longer the one that this code knows. */
  readonly checkSchema: () => void;
  /** Where erasures are noted beside the database; nowhere if absent. */
  readonly erasures?: ErasureJournal;
}

const LONGEST_PAUSE_MS = 20;
const PATIENCE_MS = 1_000;
const CHECKPOINT_TRIES = 50;

/**
 * With jitter, so that two that met do not meet again; growing at first, so that many do not keep each other out; and
 * shrinking with the time waited so far, so that whoever came first tries most often.
 */
const pause = (tries: number, waitedMs: number): Promise<void> => {
  const longest = Math.max(1, LONGEST_PAUSE_MS * (1 - waitedMs / PATIENCE_MS));
  return delay(Math.random() * Math.min(2 ** tries, longest));
};

/** Tries `work` until nobody is in its way. SQLite's own busy handler is not used: it blocks, and starves the loser. */
export const untilFree = async <T>(name: string, busyMs: number, work: () => T): Promise<T> => {
  const start = performance.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw refusalOf(name, error);
      if (performance.now() - start >= busyMs) {
        const told = `${name}: another process has had it locked for ${String(busyMs)} ms`;
        throw new StoreError("unavailable", told, { cause: error });
      }
    }
    await pause(tries, performance.now() - start);
  }
};

export class Connection {
  readonly name: string;
  readonly seal: Seal;
  readonly clock: StoreClock;
  readonly erasures: ErasureJournal | undefined;
  readonly #options: ConnectionOptions;
  readonly #statements = new Map<string, StatementSync>();
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.name = options.name;
    this.seal = options.seal;
    this.clock = options.clock;
    this.erasures = options.erasures;
    this.#options = options;
  }

  #statement(sql: string, arrays = false): StatementSync {
    const name = arrays ? `tuples ${sql}` : sql;
    let statement = this.#statements.get(name);
    if (statement === undefined) {
      statement = this.#options.database.prepare(sql);
      if (arrays) statement.setReturnArrays(true);
      this.#statements.set(name, statement);
    }
    return statement;
  }

  get<R>(sql: string, ...values: Bound[]): R | undefined {
    return this.#statement(sql).get(...(values as SQLInputValue[])) as R | undefined;
  }

  all<R>(sql: string, ...values: Bound[]): R[] {
    return this.#statement(sql).all(...(values as SQLInputValue[])) as R[];
  }

  /** Rows as arrays of their columns, which is faster where there are many. */
  tuples<R extends readonly unknown[]>(sql: string, ...values: Bound[]): R[] {
    return this.#statement(sql, true).all(...(values as SQLInputValue[])) as unknown as R[];
  }

  /** Rows one by one, for a reader that stops early. */
  iterate<R>(sql: string, ...values: Bound[]): IteratorObject<R> {
    return this.#statement(sql).iterate(...(values as SQLInputValue[])) as unknown as IteratorObject<R>;
  }

  /** How many rows were changed. */
  run(sql: string, ...values: Bound[]): number {
    return Number(this.#statement(sql).run(...(values as SQLInputValue[])).changes);
  }

  /** The integer key of the row that was inserted. */
  insert(sql: string, ...values: Bound[]): number {
    return Number(this.#statement(sql).run(...(values as SQLInputValue[])).lastInsertRowid);
  }

  /** Runs statements that see one state of the database. `now` is the store's clock. */
  read<T>(work: (now: number) => T): Promise<T> {
    // Ended by a rollback, which works on a damaged file too.
    return this.#transaction({ begin: "BEGIN", end: "ROLLBACK" }, () => work(this.clock.now(this)));
  }

  /** Runs statements that change the database together, or not at all. */
  write<T>(work: (now: number) => T): Promise<T> {
    return this.#transaction({ begin: "BEGIN IMMEDIATE", end: "COMMIT" }, () => {
      this.#options.checkSchema();
      return work(this.clock.tick(this));
    });
  }

  async #transaction<T>(bounds: Pick<Transaction, "begin" | "end">, work: () => T): Promise<T> {
    const { database, busyMs } = this.#options;
    const run = (sql: string): void => void this.run(sql);
    return untilFree(this.name, busyMs, () => {
      if (this.#closed) throw new StoreError("unavailable", `${this.name}: this store was closed`);
      return transact({ database, run, ...bounds }, work);
    });
  }

  /**
   * Copies the log of changes into the file and cuts it, so that what was overwritten is gone. Tried for a while; a
   * reader that stays longer leaves it to the next one, and to the last close.
   */
  async checkpoint(): Promise<void> {
    for (let tries = 1; tries <= CHECKPOINT_TRIES && !this.#cut(); tries += 1) await pause(tries, 0);
  }

  /** Whether the log was cut. Where another connection or a full disk keeps it, nothing is lost: it is read as before. */
  #cut(): boolean {
    if (this.#closed) return true;
    try {
      return this.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0;
    } catch {
      return false;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#cut();
    this.#closed = true;
    this.#statements.clear();
    this.#options.database.close();
  }
}
