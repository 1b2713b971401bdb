// The hand-written worker in a process of its own: node hand-written-worker.ts <folder>. Its parent notifies it by message
// after each post, and is told when the append has committed (monotonic ns, as text).
import { openHandWritten } from "../hand-written.ts";

const [folder = ""] = process.argv.slice(2);
const worker = openHandWritten(folder);

process.on("message", () => {
  if (worker.claimAndAppend()) process.send?.({ took: process.hrtime.bigint().toString() });
});
process.on("disconnect", () => {
  worker.close();
  process.exit();
});
process.send?.({ ready: true });
