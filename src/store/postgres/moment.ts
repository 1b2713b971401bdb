// A connection that reads within a transaction of others: one moment, or what has not committed yet.
import { Connection, type Session, type Transaction } from "./connection.ts";
import { storeOver } from "./postgres-store.ts";
import { Wake } from "./wake.ts";
import type { Store } from "../store.ts";

class Moment extends Connection {
  readonly #session: Transaction;

  constructor(of: Connection, session: Transaction) {
    // A statement that fails would end the transaction: bodies are read as bytes, which are never untranslatable.
    super({ ...of.options, seal: { ...of.seal } });
    this.#session = session;
  }

  override rows<R>(sql: string, ...values: unknown[]): Promise<R[]> {
    return this.#session.rows<R>(sql, ...values);
  }

  override first<R>(sql: string, ...values: unknown[]): Promise<R | undefined> {
    return this.#session.first<R>(sql, ...values);
  }

  override tuples<R extends readonly unknown[]>(sql: string, ...values: unknown[]): Promise<R[]> {
    return this.#session.tuples<R>(sql, ...values);
  }

  override read<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return work(this.#session);
  }

  override write(): Promise<never> {
    return Promise.reject(new Error(`${this.name}: a moment is only read`));
  }
}

/** Gives `work` a store that reads what the transaction sees. */
export const inMoment = async <T>(
  connection: Connection,
  session: Transaction,
  work: (store: Store, session: Session) => Promise<T>,
): Promise<T> => {
  const moment = new Moment(connection, session);
  const store = storeOver(moment, new Wake(moment, { notify: false, pollMs: 1_000 }));
  try {
    return await work(store, moment);
  } finally {
    await store.close();
  }
};
