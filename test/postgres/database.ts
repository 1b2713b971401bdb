// A database of a test file's own on the shared server, and plain connections to it.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";

/** Connects, runs `work`, and ends the connection. */
export const withClient = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url });
  // A test that ends connections may end this one.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
};

export interface Database extends AsyncDisposable {
  readonly url: string;
  query(sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]>;
}

export const createDatabase = async (serverUrl = inject("postgresUrl")): Promise<Database> => {
  const name = `perdure_test_${randomBytes(6).toString("hex")}`;
  await withClient(serverUrl, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`));
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    query: (sql, ...values) =>
      withClient(url.href, async (client) => (await client.query(sql, values)).rows as Record<string, unknown>[]),
    [Symbol.asyncDispose]: async () => {
      await withClient(serverUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
};
