// pg-boss: jobs of one function call through a queue, with its notifications on.
// node loop.mjs <url> <samples> <jobs> <in flight>
// Prints {"times": ms from sending a job to its function, one at a time, "perSecond": jobs a second, so many at once}.
import { PgBoss } from "pg-boss";
import { output, perSecondOf, timesOf } from "./measure.mjs";

const [url, ...numbers] = process.argv.slice(2);
const [samples, jobs, inFlight] = numbers.map(Number);
const WARM_UP = 20;
/** Of 1 worker with 50, 4 with 10, 10 and 20 with 1: as fast as any, and it never waited for its poll. */
const WORKERS = 4;
const BATCH = 10;

const boss = new PgBoss({ connectionString: url, max: 20, useListenNotify: true });
boss.on("error", (error) => process.stderr.write(`${String(error)}\n`));
await boss.start();
await boss.createQueue("queue", { notify: true });
const waiting = new Map();
const options = { localConcurrency: WORKERS, batchSize: BATCH, burstWhenBatchFull: true };
await boss.work("queue", options, async (batch) => {
  for (const { data } of batch) waiting.get(data.id)();
});
let sent = 0;
const one = async () => {
  const id = (sent += 1);
  const { promise, resolve } = Promise.withResolvers();
  waiting.set(id, resolve);
  await boss.send("queue", { id, output });
  await promise;
  waiting.delete(id);
};

for (let n = 0; n < WARM_UP; n += 1) await one();
const times = await timesOf(one, samples);
const perSecond = await perSecondOf(one, jobs, inFlight);
console.log(JSON.stringify({ times, perSecond }));
await boss.stop({ graceful: false });
process.exit(0);
