// absurd: one task of many steps, and small tasks of two steps.
// ABSURD_SCHEMA=<its sql/absurd.sql> node loop.mjs <url> <steps> <samples> <tasks> <in flight>
// Prints {"stepsPerSecond", "times": ms of one small task at a time, "perSecond": small ones a second, so many at once}.
import { readFileSync } from "node:fs";
import { Absurd } from "absurd-sdk";
import pg from "pg";
import { output, perSecondOf, timed, timesOf } from "./measure.mjs";

const [url, ...numbers] = process.argv.slice(2);
const [steps, samples, tasks, inFlight] = numbers.map(Number);
const WARM_UP = 20;
/** Its default is 250 ms. A worker that is busy asks again as soon as a task ends; this is for the others. */
const POLL_SECONDS = 0.005;

const pool = new pg.Pool({ connectionString: url, max: 20 });
await pool.query(readFileSync(process.env.ABSURD_SCHEMA, "utf8"));

/** Ends by task id, whichever comes first: that somebody waits, or that it ended. */
const ends = new Map();
const endOf = (taskID) => {
  if (!ends.has(taskID)) ends.set(taskID, Promise.withResolvers());
  return ends.get(taskID);
};
const absurd = new Absurd({
  db: pool,
  hooks: {
    wrapTaskExecution: async ({ taskID }, execute) => {
      await execute();
      endOf(taskID).resolve();
    },
  },
});
await absurd.createQueue("default");
absurd.registerTask({ name: "task" }, async ({ count }, ctx) => {
  let sum = 0;
  for (let n = 0; n < count; n += 1) sum += (await ctx.step("step", async () => ({ n, output }))).n;
  return sum;
});
const spawn = async (count) => (await absurd.spawn("task", { count })).taskID;
/** Claimed here at once: the time of the poll is not in it. */
const run = async (count) => {
  const taskID = await spawn(count);
  await absurd.workBatch("bench", 120, 1);
  await endOf(taskID).promise;
  ends.delete(taskID);
};

for (let n = 0; n < WARM_UP; n += 1) await run(2);
await run(steps / 4);
const stepsPerSecond = (steps * 1_000) / (await timed(() => run(steps)));
const times = await timesOf(() => run(2), samples);
const worker = await absurd.startWorker({ concurrency: inFlight, pollInterval: POLL_SECONDS });
const one = async () => {
  const taskID = await spawn(2);
  await endOf(taskID).promise;
  ends.delete(taskID);
};
const perSecond = await perSecondOf(one, tasks, inFlight);
console.log(JSON.stringify({ stepsPerSecond, times, perSecond }));
await worker.close();
await pool.end();
