// Hints that something changed: from this process after each commit, from others by NOTIFY, and by a poll in case one was
// lost, or none may be sent. A notification is a statement of its own after the commit (inside of it, it made the commits of
// all clients wait for each other), and one may speak for many commits.
import { randomUUID } from "node:crypto";
import type { Hint } from "../store.ts";
import type { Connection } from "./connection.ts";
import { Listener } from "./listener.ts";
import { encodeText } from "./text.ts";

export interface WakeOptions {
  /** Whether notifications are sent and heard. */
  readonly notify: boolean;
  /** The longest time until a change is noticed that nobody told of (ms). */
  readonly pollMs: number;
}

const SHORTEST_POLL_MS = 50;
/** What only followers wait for is told in bundles, so that a busy log costs no statement per append (ms). */
const LOG_PAUSE_MS = 10;
/** Postgres takes 8,000 bytes. */
const LONGEST_PAYLOAD = 7_500;

/** What one store tells the others: the tasks with something to do, and those whose log alone grew. */
interface Told {
  readonly from: string;
  readonly tasks: readonly string[] | null;
  readonly logs: readonly string[];
}

export class Wake {
  readonly #connection: Connection;
  readonly #options: WakeOptions;
  readonly #self = randomUUID();
  readonly #hints = new Set<Hint>();
  #listener: Listener | undefined;
  #poll: NodeJS.Timeout | undefined;
  #pollMs = SHORTEST_POLL_MS;
  #tasks = new Set<string>();
  #logs = new Set<string>();
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(connection: Connection, options: WakeOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  get #channel(): string {
    return `perdure.${this.#connection.schema}`;
  }

  /** Returns how to stop. */
  subscribe(hint: Hint): () => void {
    const told: Hint = (taskId, only) => hint(taskId, only);
    this.#hints.add(told);
    this.#start();
    return () => {
      this.#hints.delete(told);
      if (this.#hints.size === 0) this.#rest();
    };
  }

  /** Tells whoever listens, once what runs now is done: a listener cannot fail the change that it hears of. */
  tell(taskId: string, only?: "log"): void {
    this.#pass(taskId, only);
    if (!this.#options.notify || this.#closed) return;
    (only === undefined ? this.#tasks : this.#logs).add(taskId);
    this.#sending ??= this.#send();
  }

  #pass(taskId: string | null, only?: "log"): void {
    for (const hint of this.#hints) queueMicrotask(() => hint(taskId, only));
  }

  #start(): void {
    if (this.#closed) return;
    const { url } = this.#connection;
    if (this.#options.notify) {
      this.#listener ??= new Listener({ url, channel: this.#channel, heard: (payload) => this.#heard(payload) });
    }
    if (this.#poll === undefined) this.#pollSoon(SHORTEST_POLL_MS);
  }

  #rest(): void {
    clearTimeout(this.#poll);
    this.#poll = undefined;
  }

  /** Often while something happens, seldom when nothing does, and seldom where notifications arrive. */
  #pollSoon(pollMs: number): void {
    clearTimeout(this.#poll);
    const longest = this.#options.pollMs;
    this.#pollMs = this.#listener?.isOpen === true ? longest : Math.min(pollMs, longest);
    this.#poll = setTimeout(() => {
      this.#pollSoon(this.#pollMs * 2);
      this.#pass(null);
    }, this.#pollMs).unref();
  }

  #heard(payload: string | null): void {
    if (payload === null) return this.#pass(null);
    const told = parse(payload);
    if (told?.from === this.#self) return;
    if (told === undefined || told.tasks === null) return this.#pass(null);
    for (const taskId of told.tasks) this.#pass(taskId);
    for (const taskId of told.logs) this.#pass(taskId, "log");
  }

  /** Sends what has come together, and again what came meanwhile. */
  async #send(): Promise<void> {
    // What one turn of the event loop commits goes together.
    await new Promise(setImmediate);
    while (this.#tasks.size + this.#logs.size > 0) {
      if (this.#tasks.size === 0 && !this.#closed) await new Promise((resolve) => setTimeout(resolve, LOG_PAUSE_MS));
      const [tasks, logs] = [this.#tasks, this.#logs];
      this.#tasks = new Set();
      this.#logs = new Set();
      const payload = this.#payload([...tasks], [...logs]);
      // A lost one costs the others a poll.
      await this.#connection
        .rows("SELECT pg_notify($1, $2)", this.#channel, encodeText(payload))
        .catch(() => undefined);
    }
    this.#sending = undefined;
  }

  #payload(tasks: readonly string[], logs: readonly string[]): string {
    const whole = JSON.stringify({ from: this.#self, tasks, logs } satisfies Told);
    if (Buffer.byteLength(whole) <= LONGEST_PAYLOAD) return whole;
    return JSON.stringify({ from: this.#self, tasks: null, logs: [] } satisfies Told);
  }

  /** What was told is sent before it ends. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#hints.clear();
    this.#rest();
    await this.#sending;
    await this.#listener?.close();
  }
}

const parse = (payload: string): Told | undefined => {
  try {
    return JSON.parse(payload) as Told;
  } catch {
    return undefined;
  }
};
