// DBOS: one workflow of many steps, and small workflows of two steps, whose steps give 500 characters as our tool does.
// node loop.mjs <url> <steps> <samples> <workflows> <in flight>
// Prints {"stepsPerSecond", "times": ms of one small workflow at a time, "perSecond": small ones a second, so many at once}.
import { DBOS } from "@dbos-inc/dbos-sdk";

const [url, ...numbers] = process.argv.slice(2);
const [steps, samples, workflows, inFlight] = numbers.map(Number);
const WARM_UP = 20;
const output = "some words of a file or a reply ".repeat(16).slice(0, 500);

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
const timed = async (work) => {
  const before = performance.now();
  await work();
  return performance.now() - before;
};

for (let n = 0; n < WARM_UP; n += 1) await run(2);
await run(steps / 4);
const stepsPerSecond = (steps * 1_000) / (await timed(() => run(steps)));
const times = [];
for (let n = 0; n < samples; n += 1) times.push(await timed(() => run(2)));
let begun = 0;
const loop = async () => {
  for (begun += 1; begun <= workflows; begun += 1) await run(2);
};
const took = await timed(() => Promise.all(Array.from({ length: inFlight }, loop)));
console.log(JSON.stringify({ stepsPerSecond, times, perSecond: (workflows * 1_000) / took }));
await DBOS.shutdown();
process.exit(0);
