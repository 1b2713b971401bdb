// The one connection that listens for notifications. It comes back by itself when it is lost; what was sent meanwhile is
// gone, so whoever listens is told that anything may have changed.
import pg from "pg";

export interface ListenerOptions {
  readonly url: string;
  readonly channel: string;
  /** What was sent; null after the connection came (back). */
  readonly heard: (payload: string | null) => void;
}

const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const CONNECT_MS = 10_000;

export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | undefined;
  #again: NodeJS.Timeout | undefined;
  #pauseMs = SHORTEST_PAUSE_MS;
  #open = false;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    void this.#connect();
  }

  /** Whether notifications arrive. */
  get isOpen(): boolean {
    return this.#open;
  }

  async #connect(): Promise<void> {
    const { url, channel, heard } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      fallback_application_name: "perdure listener",
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    });
    this.#client = client;
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ payload }) => heard(payload ?? ""));
    try {
      await client.connect();
      await client.query(`LISTEN "${channel}"`);
      if (this.#closed) return;
      // Declared by the driver, but not in its types.
      (client as unknown as { unref(): void }).unref();
      this.#open = true;
      this.#pauseMs = SHORTEST_PAUSE_MS;
      heard(null);
    } catch {
      this.#lost(client);
    }
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#open = false;
    client.end().catch(() => undefined);
    if (this.#closed) return;
    this.#again = setTimeout(() => void this.#connect(), this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#again);
    const client = this.#client;
    this.#client = undefined;
    this.#open = false;
    await client?.end().catch(() => undefined);
  }
}
