// What the Postgres store costs beside the same work written by hand, in turns on one server.
// `node bench/spikes/postgres-store.ts [rounds] [appends|loop|log|scale]`
import { startServer } from "../../test/postgres/server.ts";
import { measureAppends, measureSteadyLoop } from "./postgres-store/appends.ts";
import { measureLongLog } from "./postgres-store/long-log.ts";
import { measureScale } from "./postgres-store/scale.ts";

const [count = "6", only] = process.argv.slice(2);
const rounds = Number(count);
const wanted = (name: string): boolean => only === undefined || only === name;

const server = await startServer({ quick: false });
try {
  if (wanted("appends")) for (const connections of [1, 8]) await measureAppends(server.url, connections, rounds);
  if (wanted("loop")) await measureSteadyLoop(server.url, rounds);
  if (wanted("log")) await measureLongLog(server.url, rounds);
  if (wanted("scale")) await measureScale(server.url);
} catch (error) {
  // Told at once: connections that the stopping server ends may be heard of first.
  console.error(error);
  throw error;
} finally {
  await server.stop();
}
