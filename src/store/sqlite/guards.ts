// Renews claims from a thread with a connection of its own: a tool that blocks this thread does not cost the claim.
import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface Guarded {
  readonly taskId: string;
  readonly fence: number;
  readonly leaseMs: number;
}

/** What the thread is told: to guard a claim, to let go of one, or (without a claim's number) to end. */
export type Order = { readonly claim: number; readonly guarded?: Guarded } | { readonly claim: null };

/** The thread's file stands beside this one, built or not. */
const file = new URL(import.meta.url.endsWith(".ts") ? "./guard-thread.ts" : "./guard-thread.js", import.meta.url);

export class Guards {
  readonly #path: string;
  #thread: Worker | undefined;
  #claims = 0;
  #closed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Renews the claim until it is stopped, or the fence is old. Returns how to stop. */
  guard(guarded: Guarded): () => void {
    if (this.#closed) return () => undefined;
    this.#claims += 1;
    const claim = this.#claims;
    const thread = this.#thread ?? this.#start();
    const tell = (order: Order): void => thread.postMessage(order);
    tell({ claim, guarded });
    return () => tell({ claim });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread === undefined) return;
    // Whoever closes waits for it.
    thread.ref();
    const ended = once(thread, "exit");
    thread.postMessage({ claim: null } satisfies Order);
    await ended;
  }

  /** One thread for all claims, started by the first. It keeps no process alive. */
  #start(): Worker {
    const thread = new Worker(file, { workerData: this.#path });
    thread.unref();
    // Its holder renews too: a thread that fails is missed only while this one is blocked. The next claim starts anew.
    thread.on("error", () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    this.#thread = thread;
    return thread;
  }
}
