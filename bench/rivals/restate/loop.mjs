// Restate: its server on loopback and a service in this process; one invocation of many steps, and small ones of two steps.
// node loop.mjs <folder> <steps> <samples> <invocations> <in flight>
// Prints {"stepsPerSecond", "times": ms of one small invocation at a time, "perSecond": small ones a second, so many at once}.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as restate from "@restatedev/restate-sdk";
import { output, perSecondOf, timed, timesOf } from "./measure.mjs";

const [folder, ...numbers] = process.argv.slice(2);
const [steps, samples, invocations, inFlight] = numbers.map(Number);
const WARM_UP = 50;
const HOST = "127.0.0.1";
const READY_MS = 30_000;

const listening = async (server) => {
  server.listen(0, HOST);
  await once(server, "listening");
  return server.address().port;
};
const freePort = async () => {
  const probe = createServer();
  const port = await listening(probe);
  probe.close();
  return port;
};

const service = restate.service({
  name: "bench",
  handlers: {
    run: async (ctx, count) => {
      let sum = 0;
      for (let n = 0; n < count; n += 1) sum += (await ctx.run("step", () => ({ n, output }))).n;
      return sum;
    },
  },
});
const endpoint = createHttp2Server(restate.createEndpointHandler({ services: [service], logger: () => undefined }));
const endpointPort = await listening(endpoint);

const [ingressPort, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()];
const binary = createRequire(import.meta.url).resolve(
  `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
);
const log = openSync(join(folder, "server.log"), "a");
const server = spawn(binary, ["--base-dir", join(folder, "data"), "--listen-mode", "tcp", "--no-logo"], {
  cwd: folder,
  stdio: ["ignore", log, log],
  env: {
    ...process.env,
    DO_NOT_TRACK: "1",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "error",
    RESTATE_BIND_IP: HOST,
    RESTATE_BIND_PORT: String(nodePort),
    RESTATE_INGRESS__BIND_PORT: String(ingressPort),
    RESTATE_ADMIN__BIND_PORT: String(adminPort),
  },
});
process.on("exit", () => server.kill("SIGKILL"));
process.on("SIGTERM", () => process.exit(1));

const answers = async (url) => {
  for (const until = performance.now() + READY_MS; performance.now() < until;) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing answers at ${url}; see ${join(folder, "server.log")}`);
};
const post = async (url, body) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${String(response.status)} ${text}`);
  return text;
};

await answers(`http://${HOST}:${String(adminPort)}/health`);
await answers(`http://${HOST}:${String(ingressPort)}/restate/health`);
await post(`http://${HOST}:${String(adminPort)}/deployments`, { uri: `http://${HOST}:${String(endpointPort)}` });
const run = (count) => post(`http://${HOST}:${String(ingressPort)}/bench/run`, count);

for (let n = 0; n < WARM_UP; n += 1) await run(2);
await run(steps / 4);
const stepsPerSecond = (steps * 1_000) / (await timed(() => run(steps)));
const times = await timesOf(() => run(2), samples);
const perSecond = await perSecondOf(() => run(2), invocations, inFlight);
console.log(JSON.stringify({ stepsPerSecond, times, perSecond }));
process.exit(0);
