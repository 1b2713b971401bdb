// One Postgres for all test files of a run. PERDURE_TEST_POSTGRES names another server, whose user may create databases.
import type { TestProject } from "vitest/node";
import { startServer } from "./server.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

const start = async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  const given = process.env["PERDURE_TEST_POSTGRES"];
  if (given !== undefined && given !== "") {
    project.provide("postgresUrl", given);
    return undefined;
  }
  const server = await startServer();
  project.provide("postgresUrl", server.url);
  return () => server.stop();
};

export default start;
