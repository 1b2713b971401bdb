// Hints that something changed: from this process after each commit, from others by looking at the database's own
// counter of changes. The look costs the same whatever the database holds. When to look is told by the file system: who
// commits what another may be waiting for touches the database file, and the log of changes grows before each commit.
import { utimesSync, watch, type FSWatcher } from "node:fs";
import type { Hint } from "../store.ts";
import type { Connection } from "./connection.ts";

/** A commit shows a moment after its bytes reach the log: how often, and how long apart, to look for it then (ms). */
const LOOKS = 10;
const LOOK_EVERY_MS = 2;

export class Wake {
  readonly #connection: Connection;
  readonly #pollMs: number;
  readonly #hints = new Set<Hint>();
  #version: number | undefined;
  #looks = 0;
  #poll: NodeJS.Timeout | undefined;
  #watchers: FSWatcher[] = [];

  constructor(connection: Connection, pollMs: number) {
    this.#connection = connection;
    this.#pollMs = pollMs;
  }

  /** Returns how to stop. */
  subscribe(hint: Hint): () => void {
    const told: Hint = (taskId, only) => hint(taskId, only);
    this.#hints.add(told);
    this.#start();
    return () => {
      this.#hints.delete(told);
      if (this.#hints.size === 0) this.#stop();
    };
  }

  /** Tells whoever listens, once what runs now is done: a listener cannot fail the change that it hears of. */
  tell(taskId: string | null, only?: "log"): void {
    if (only !== "log") this.#touch();
    this.#pass(taskId, only);
  }

  #pass(taskId: string | null, only?: "log"): void {
    for (const hint of this.#hints) queueMicrotask(() => hint(taskId, only));
  }

  close(): void {
    this.#hints.clear();
    this.#stop();
  }

  #start(): void {
    if (this.#poll !== undefined) return;
    this.#version = this.#look();
    this.#poll = setInterval(() => this.#compare(), this.#pollMs).unref();
    this.#watch(this.#connection.name, () => void this.#compare());
    this.#watch(`${this.#connection.name}-wal`, () => this.#hurry());
  }

  #stop(): void {
    clearInterval(this.#poll);
    for (const watcher of this.#watchers) watcher.close();
    this.#poll = undefined;
    this.#watchers = [];
    this.#looks = 0;
  }

  /** A system without such watches, or with none left, has the poll. */
  #watch(path: string, changed: () => void): void {
    try {
      const watcher = watch(path, { persistent: false }, changed);
      watcher.on("error", () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // There is nothing to watch.
    }
  }

  /** Shows watchers in other processes that a commit is there to be seen. */
  #touch(): void {
    try {
      const now = new Date();
      utimesSync(this.#connection.name, now, now);
    } catch {
      // They find it by the log of changes, or by their poll.
    }
  }

  /** Looks at once, and a few times more until the change shows. */
  #hurry(): void {
    const waiting = this.#looks > 0;
    this.#looks = LOOKS;
    if (!waiting) this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#compare() || this.#looks === 0) this.#looks = 0;
    else {
      this.#looks -= 1;
      setTimeout(() => this.#lookSoon(), LOOK_EVERY_MS).unref();
    }
  }

  /** Whether another connection changed the database since the last look. */
  #compare(): boolean {
    const version = this.#look();
    if (version === undefined || version === this.#version) return false;
    this.#version = version;
    this.#pass(null);
    return true;
  }

  /** Grows with each commit of another connection. Undefined while that cannot be told. */
  #look(): number | undefined {
    try {
      return this.#connection.get<{ data_version: number }>("PRAGMA data_version")?.data_version;
    } catch {
      return undefined;
    }
  }
}
