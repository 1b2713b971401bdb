// The thread of guards.ts: renews the claims it was told of, each a third of its lease apart.
import { parentPort, workerData } from "node:worker_threads";
import { StoreError } from "../store.ts";
import { renew } from "./claims.ts";
import type { Guarded, Order } from "./guards.ts";
import { openConnection } from "./open-connection.ts";

const connection = await openConnection({ path: workerData as string });
const timers = new Map<number, NodeJS.Timeout>();

const letGo = (claim: number): void => {
  clearInterval(timers.get(claim));
  timers.delete(claim);
};

const renewOnce = async (claim: number, guarded: Guarded): Promise<void> => {
  try {
    await connection.write((now) => renew(connection, guarded, now));
  } catch (error) {
    // What is busy now is asked again; anything else means that there is nothing to guard.
    if (!(error instanceof StoreError) || error.code !== "unavailable") letGo(claim);
  }
};

parentPort?.on("message", (order: Order) => {
  const { claim } = order;
  if (claim === null) {
    for (const guarded of timers.keys()) letGo(guarded);
    connection.close();
    parentPort?.close();
  } else if (order.guarded === undefined) {
    letGo(claim);
  } else {
    const { guarded } = order;
    timers.set(
      claim,
      setInterval(() => void renewOnce(claim, guarded), guarded.leaseMs / 3),
    );
  }
});
