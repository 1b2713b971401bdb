// graphile-worker: jobs of one function call through a queue.
// node loop.mjs <url> <samples> <jobs> <in flight>
// Prints {"times": ms from adding a job to its function, one at a time, "perSecond": jobs a second, so many at once}.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { output, perSecondOf, timesOf } from "./measure.mjs";

const [url, ...numbers] = process.argv.slice(2);
const [samples, jobs, inFlight] = numbers.map(Number);
const WARM_UP = 20;
const CONNECTIONS = 20;

const settings = { connectionString: url, logger: new Logger(() => () => undefined), maxPoolSize: CONNECTIONS };
const utils = await makeWorkerUtils(settings);
await utils.migrate();
const waiting = new Map();
const runner = await run({
  ...settings,
  concurrency: CONNECTIONS,
  noHandleSignals: true,
  taskList: { job: ({ id }) => waiting.get(id)() },
});
let added = 0;
const one = async () => {
  const id = (added += 1);
  const { promise, resolve } = Promise.withResolvers();
  waiting.set(id, resolve);
  await utils.addJob("job", { id, output });
  await promise;
  waiting.delete(id);
};

for (let n = 0; n < WARM_UP; n += 1) await one();
const times = await timesOf(one, samples);
const perSecond = await perSecondOf(one, jobs, inFlight);
console.log(JSON.stringify({ times, perSecond }));
await runner.stop();
await utils.release();
process.exit(0);
