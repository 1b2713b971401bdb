// DBOS: one workflow of many steps, and small workflows of two steps.
// node loop.mjs <url> <steps> <samples> <workflows> <in flight>
// Prints {"stepsPerSecond", "times": ms of one small workflow at a time, "perSecond": small ones a second, so many at once}.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { output, perSecondOf, timed, timesOf } from "./measure.mjs";

const [url, ...numbers] = process.argv.slice(2);
const [steps, samples, workflows, inFlight] = numbers.map(Number);
const WARM_UP = 20;

const workflow = DBOS.registerWorkflow(
  async (count) => {
    let sum = 0;
    for (let n = 0; n < count; n += 1) sum += (await DBOS.runStep(async () => ({ n, output }), { name: "step" })).n;
    return sum;
  },
  { name: "workflow" },
);
DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, logLevel: "error", systemDatabasePoolSize: 20 });
await DBOS.launch();
const run = async (count) => (await DBOS.startWorkflow(workflow)(count)).getResult();

for (let n = 0; n < WARM_UP; n += 1) await run(2);
await run(steps / 4);
const stepsPerSecond = (steps * 1_000) / (await timed(() => run(steps)));
const times = await timesOf(() => run(2), samples);
const perSecond = await perSecondOf(() => run(2), workflows, inFlight);
console.log(JSON.stringify({ stepsPerSecond, times, perSecond }));
await DBOS.shutdown();
process.exit(0);
