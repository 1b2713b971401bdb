// A process of this bench beside this one, and what it tells.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** The messages of all processes of this bench. Each holds some of these. */
export interface Message {
  readonly ready?: boolean;
  /** When an append that took input had committed: monotonic ns. */
  readonly took?: string;
  /** How a run came to its end. */
  readonly end?: string;
  /** CPU time for each second that passed, and how many files of the database are open. */
  readonly idled?: { readonly share: number; readonly files: number };
}

export class BenchProcess {
  readonly #child: ChildProcess;
  readonly #messages: Message[] = [];
  #arrived = Promise.withResolvers<undefined>();
  #exited: Error | undefined;

  /** Starts `processes/<file>`; wait for its `ready`. */
  constructor(file: string, ...args: readonly string[]) {
    this.#child = fork(new URL(`./processes/${file}`, import.meta.url), args);
    this.#child.on("message", (message) => {
      this.#messages.push(message as Message);
      this.#arrived.resolve(undefined);
    });
    this.#child.on("exit", (code) => {
      this.#exited = new Error(`${file} exited with ${String(code)}`);
      this.#arrived.resolve(undefined);
    });
  }

  /** The next message that holds `key`; those before it are passed over. */
  async next<K extends keyof Message>(key: K): Promise<NonNullable<Message[K]>> {
    for (;;) {
      for (let message = this.#messages.shift(); message !== undefined; message = this.#messages.shift()) {
        const value = message[key];
        if (value !== undefined) return value;
      }
      if (this.#exited !== undefined) throw this.#exited;
      await this.#arrived.promise;
      this.#arrived = Promise.withResolvers();
    }
  }

  notify(): void {
    this.#child.send({ notify: true });
  }

  /** Kills it at once, as a crash would. */
  kill(): void {
    this.#child.removeAllListeners("exit");
    this.#child.kill("SIGKILL");
  }

  /** Lets it go: it exits by itself. */
  async close(): Promise<void> {
    this.#child.removeAllListeners("exit");
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}
