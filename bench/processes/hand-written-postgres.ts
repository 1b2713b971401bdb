// The hand-written worker on Postgres in a process of its own: node hand-written-postgres.ts <url>. It listens on one
// connection and works on another; its parent is told when the append has committed (monotonic ns, as text).
import { CHANNEL, HandWritten } from "../postgres/hand-written.ts";
import { connect } from "../postgres/server.ts";

const [url = ""] = process.argv.slice(2);
const worker = await HandWritten.open(url);
const listener = await connect(url);

let working = Promise.resolve();
const work = async (): Promise<void> => {
  if (await worker.claimAndAppend()) process.send?.({ took: process.hrtime.bigint().toString() });
};
listener.on("notification", () => {
  working = working.then(work);
});
await listener.query(`LISTEN ${CHANNEL}`);
process.on("disconnect", () => {
  process.exit();
});
process.send?.({ ready: true });
