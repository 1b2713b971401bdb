// One connection, lent by the pool: its statements, and rows of whole tables as streams.
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { from, to } from "pg-copy-streams";
import type { Connection, Transaction } from "./connection.ts";
import { isCollision, isSpoilt, refusalOf } from "./refusal.ts";
import { inSchema } from "./schema-names.ts";

/** One connection of the pool, for as long as some work needs it. */
export class Lent implements Transaction {
  /** It is not to be used again. */
  spoilt = false;
  readonly #owner: Connection;
  readonly #client: pg.PoolClient;

  constructor(owner: Connection, client: pg.PoolClient) {
    this.#owner = owner;
    this.#client = client;
  }

  async rows<R>(sql: string, ...values: unknown[]): Promise<R[]> {
    return (await this.#query(this.#owner.statement(sql, values))) as R[];
  }

  async first<R>(sql: string, ...values: unknown[]): Promise<R | undefined> {
    return (await this.rows<R>(sql, ...values))[0];
  }

  async tuples<R extends readonly unknown[]>(sql: string, ...values: unknown[]): Promise<R[]> {
    return (await this.#query({ ...this.#owner.statement(sql, values), rowMode: "array" })) as unknown as R[];
  }

  async *copyOut(sql: string): AsyncGenerator<Buffer> {
    const stream = this.#client.query(to(inSchema(sql, this.#owner.schema)));
    let whole = false;
    try {
      for await (const chunk of stream) yield chunk as Buffer;
      whole = true;
    } catch (error) {
      throw refusalOf(this.#owner.name, error);
    } finally {
      if (!whole) this.#breakOff();
    }
  }

  async copyIn(sql: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const stream = this.#client.query(from(inSchema(sql, this.#owner.schema)));
    try {
      await pipeline(chunks, stream);
    } catch (error) {
      this.#breakOff();
      throw refusalOf(this.#owner.name, error);
    }
  }

  /** The server may be in the middle of sending: it hears of the end by the loss of the connection. */
  #breakOff(): void {
    this.spoilt = true;
    // Declared by the driver, but not in its types.
    (this.#client as unknown as { connection: pg.Connection }).connection.stream.destroy();
  }

  async #query(query: pg.QueryConfig & { rowMode?: "array" }): Promise<unknown[]> {
    try {
      return (await this.#client.query<Record<string, unknown>>(query)).rows;
    } catch (error) {
      if (isSpoilt(error)) this.spoilt = true;
      throw isCollision(error) ? error : refusalOf(this.#owner.name, error);
    }
  }
}
