// A pool of connections to one database. Every statement names what it needs with its schema and keeps nothing in a
// session, so a pooler that lends connections per transaction serves as well. An error says in one of the store's codes
// whether the same may be tried again; a connection that may be broken is not used again.
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { StoreError, type Seal } from "../store.ts";
import { plainSeal } from "../seal.ts";
import { Lent } from "./lent.ts";
import { isCollision, isOtherSchema, refusalOf } from "./refusal.ts";
import { inSchema } from "./schema-names.ts";
import { decodeText } from "./text.ts";
import { checkPartitions, checkSchema, shownUrl } from "./url.ts";

/** What a test puts in place of the database's clock: its time, and a time for leases (ms). */
export interface DatabaseClock {
  now(): number;
  leaseNow(): number;
}

/** Runs statements: each on its own, or all in one transaction. */
export interface Session {
  rows<R>(sql: string, ...values: unknown[]): Promise<R[]>;
  /** The first row. */
  first<R>(sql: string, ...values: unknown[]): Promise<R | undefined>;
  /** Rows as arrays of their columns, which is faster where there are many. */
  tuples<R extends readonly unknown[]>(sql: string, ...values: unknown[]): Promise<R[]>;
}

/** Statements of one transaction, and rows of whole tables as streams. One that breaks off ends the connection. */
export interface Transaction extends Session {
  /** What COPY … TO STDOUT gives. */
  copyOut(sql: string): AsyncIterable<Buffer>;
  /** Feeds COPY … FROM STDIN. */
  copyIn(sql: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
}

export interface ConnectionOptions {
  readonly url: string;
  readonly schema: string;
  readonly max: number;
  /** Infinity: a statement takes as long as it takes. */
  readonly timeoutMs: number;
  readonly seal: Seal;
  readonly clock: DatabaseClock | undefined;
  /** The newest version of the schema that this code knows. */
  readonly known: number;
  /** Whether statements are kept prepared in their connection. */
  readonly prepared: boolean;
  /** How many partitions the events are in (partitions.ts). Undefined: as it is, and one table where the schema is made. */
  readonly partitions?: number | undefined;
}

const COLLISIONS = 8;
const CONNECT_MS = 10_000;
const IDLE_MS = 10_000;
/** How long a server waits, with locks held, for the next statement of a transaction: less than others wait for a lock. */
const SILENT_MS = 10_000;
/** The same where a statement takes as long as it takes, and what comes between two of them as well. */
const PATIENT_SILENT_MS = 600_000;

/** By the type's number: what the store's statements give, and no more. */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"],
  [17, (text) => new Uint8Array(Buffer.from(text.slice(2), "hex"))],
  ...[20, 21, 23, 700, 701, 1700].map((type): [number, (text: string) => unknown] => [type, Number]),
  ...[114, 3802].map((type): [number, (text: string) => unknown] => [type, (text) => JSON.parse(text) as unknown]),
]);
export const types = { getTypeParser: (type: number) => parsers.get(type) ?? decodeText } as pg.CustomTypesConfig;

export class Connection implements Session {
  readonly name: string;
  readonly options: ConnectionOptions;
  readonly url: string;
  readonly schema: string;
  readonly seal: Seal;
  /** Whether content is stored as it is, and so can be read as text. */
  readonly plain: boolean;
  /** Whether statements are kept prepared in their connection. */
  readonly prepared: boolean;
  /** The names of event types by code, as far as they were needed. */
  readonly typeNames = new Map<number, string>();
  readonly #clock: DatabaseClock | undefined;
  readonly #pool: pg.Pool;
  readonly #known: number;
  readonly #statements = new Map<string, { readonly text: string; readonly name: string }>();
  readonly #running = new Set<Promise<unknown>>();
  /** How each transaction begins. */
  readonly #bounds: string;
  #closed: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    const { url, schema, max, timeoutMs, seal, clock, known, prepared } = options;
    checkSchema(schema);
    checkPartitions(options.partitions);
    this.options = options;
    this.name = shownUrl(url);
    this.url = url;
    this.schema = schema;
    this.seal = seal;
    this.plain = seal === plainSeal;
    this.#clock = clock;
    this.#known = known;
    this.prepared = prepared;
    const patient = timeoutMs === Infinity;
    const silentMs = patient ? PATIENT_SILENT_MS : Math.ceil(Math.min(SILENT_MS, timeoutMs));
    const bound = `SET LOCAL idle_in_transaction_session_timeout = ${String(silentMs)}`;
    this.#bounds = patient ? `${bound}; SET LOCAL statement_timeout = 0` : bound;
    this.#pool = new pg.Pool({
      connectionString: url,
      fallback_application_name: "perdure",
      types,
      min: 0,
      max,
      query_timeout: patient ? 0 : timeoutMs,
      connectionTimeoutMillis: Math.min(CONNECT_MS, timeoutMs),
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      allowExitOnIdle: true,
    });
    // An idle connection that ends (a restart of the server) is no error: the pool has dropped it.
    this.#pool.on("error", () => undefined);
    // Whoever waits for a statement hears of a lost connection by it; without a listener the process would end.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** What functions take as `p_clock`: null for the database's own. */
  get clock(): string | null {
    return this.#clock === undefined ? null : `{${String(this.#clock.now())},${String(this.#clock.leaseNow())}}`;
  }

  /** A statement, which is written with the schema's usual name, for the driver. With a name the server plans it once. */
  statement(sql: string, values: unknown[]): pg.QueryConfig {
    let known = this.#statements.get(sql);
    if (known === undefined) {
      known = { text: inSchema(sql, this.schema), name: `perdure ${String(this.#statements.size)}` };
      this.#statements.set(sql, known);
    }
    return this.prepared && values.length > 0 ? { ...known, values } : { text: known.text, values };
  }

  rows<R>(sql: string, ...values: unknown[]): Promise<R[]> {
    return this.#use((session) => session.rows<R>(sql, ...values));
  }

  first<R>(sql: string, ...values: unknown[]): Promise<R | undefined> {
    return this.#use((session) => session.first<R>(sql, ...values));
  }

  tuples<R extends readonly unknown[]>(sql: string, ...values: unknown[]): Promise<R[]> {
    return this.#use((session) => session.tuples<R>(sql, ...values));
  }

  /** Runs statements that change the database together, or not at all. Tried again whole where others were in the way. */
  write<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return this.#transaction("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", work);
  }

  /** Runs statements that see one state of the database. */
  read<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return this.#transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work);
  }

  #transaction<T>(begin: string, work: (session: Transaction) => Promise<T>): Promise<T> {
    return this.#use(async (session) => {
      // In one round trip. A process that stands still in here, or a network that lost it, gives its locks back by this.
      await session.rows(`${begin}; ${this.#bounds}`);
      try {
        const result = await work(session);
        await session.rows("COMMIT");
        return result;
      } catch (error) {
        if (!session.spoilt) await session.rows("ROLLBACK");
        throw error;
      }
    });
  }

  async #use<T>(work: (session: Lent) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#lend(work);
      } catch (error) {
        if (isOtherSchema(error)) throw await this.#otherSchema(error);
        if (!isCollision(error)) throw error;
        if (tries === COLLISIONS) throw refusalOf(this.name, error);
      }
      await delay(Math.random() * 2 ** tries);
    }
  }

  #lend<T>(work: (session: Lent) => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(this.closedError());
    const running = this.#lent(work).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async #lent<T>(work: (session: Lent) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw refusalOf(this.name, error);
    });
    const lent = new Lent(this, client);
    try {
      return await work(lent);
    } finally {
      client.release(lent.spoilt);
    }
  }

  /** What to say when something that this code calls is not there: a newer perdure changed the schema, or somebody did. */
  async #otherSchema(cause: unknown): Promise<unknown> {
    const { name, schema } = this;
    const place = await this.#lend((session) =>
      session.first<{ version: number }>("SELECT version FROM perdure.place"),
    ).catch((error: unknown) => {
      if (isOtherSchema(error)) return undefined;
      throw error;
    });
    if (place !== undefined) this.requireKnown(place.version);
    return new StoreError("damaged", `${name}: schema ${schema} is not what perdure made of it`, { cause });
  }

  /** Refuses (`newer_version`) a version of the schema beyond what this code knows. */
  requireKnown(version: number, known = this.#known): void {
    if (version <= known) return;
    const told = `${this.name} has version ${String(version)} of schema ${this.schema}, written by a newer perdure`;
    throw new StoreError("newer_version", `${told}; this one knows versions up to ${String(known)}`);
  }

  closedError(): StoreError {
    return new StoreError("unavailable", `${this.name}: this store was closed`);
  }

  /** Repeatable. What is under way is waited for: the pool forgets whoever waits for a connection when it ends. */
  close(): Promise<void> {
    const end = async (): Promise<void> => {
      while (this.#running.size > 0) await Promise.allSettled(this.#running);
      await this.#pool.end();
    };
    this.#closed ??= end();
    return this.#closed;
  }
}
