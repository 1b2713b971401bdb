// A proxy between a store and its server. It knows where a statement ends and where its answer ends, and breaks the
// connection, or holds it up in one direction, at a statement that a test names.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/**
 * `unsent`: the server never sees the statement; the connection is reset. `unanswered`: the server has done it and said so,
 * and the answer is lost with the connection. `cut`: reset at once after it was forwarded, whatever becomes of it there.
 * `held`: it, and all after it, waits for `release`. `answer held`: the same for the answer.
 */
export type Fault = "unsent" | "unanswered" | "cut" | "held" | "answer held";

interface Armed {
  readonly at: RegExp;
  readonly fault: Fault;
  /** Statements that match until it is the one. */
  left: number;
  readonly met: () => void;
}

/** Bytes in, whole messages out: a type, a length, and what it tells. The first of a client has no type. */
export class Messages {
  #bytes: Buffer = Buffer.alloc(0);
  #typed: boolean;

  constructor(typed: boolean) {
    this.#typed = typed;
  }

  take(bytes: Buffer): { readonly type: string; readonly bytes: Buffer }[] {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const whole: { type: string; bytes: Buffer }[] = [];
    for (;;) {
      const header = this.#typed ? 1 : 0;
      if (this.#bytes.length < header + 4) return whole;
      const end = header + this.#bytes.readInt32BE(header);
      if (this.#bytes.length < end) return whole;
      const type = this.#typed ? String.fromCharCode(this.#bytes[0] ?? 0) : "";
      whole.push({ type, bytes: this.#bytes.subarray(0, end) });
      this.#bytes = this.#bytes.subarray(end);
      this.#typed = true;
    }
  }
}

const textAt = (bytes: Buffer, from: number): { readonly text: string; readonly next: number } => {
  const end = bytes.indexOf(0, from);
  return { text: bytes.toString("utf8", from, end), next: end + 1 };
};

/** One connection of a client, and the proxy's own to the server. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #meet: (statement: string) => Fault | undefined;
  readonly #texts = new Map<string, string>();
  /** Messages of a statement that is not whole yet. */
  #request: Buffer[] = [];
  #statement = "";
  #fault: Fault | undefined;
  #held: Buffer[] = [];
  #answered: (() => void) | undefined;

  constructor(client: Socket, server: Socket, meet: (statement: string) => Fault | undefined) {
    this.#client = client;
    this.#server = server;
    this.#meet = meet;
    const [asked, told] = [new Messages(false), new Messages(true)];
    client.on("data", (bytes) => {
      for (const message of asked.take(bytes)) this.#ask(message.type, message.bytes);
    });
    server.on("data", (bytes) => {
      for (const message of told.take(bytes)) this.#tell(message.type, message.bytes);
    });
    // What is held for the server is there to arrive after its client is gone.
    client.on("close", () => {
      if (this.#fault !== "held") server.destroy();
    });
    server.on("close", () => client.destroy());
    for (const socket of [client, server]) socket.setNoDelay(true).on("error", () => undefined);
  }

  /** What a client sends: a simple query is whole at once, another one ends in a sync. */
  #ask(type: string, bytes: Buffer): void {
    if (type === "P") {
      const { text: name, next } = textAt(bytes, 5);
      this.#statement = textAt(bytes, next).text;
      this.#texts.set(name, this.#statement);
    } else if (type === "B") {
      this.#statement = this.#texts.get(textAt(bytes, textAt(bytes, 5).next).text) ?? "";
    } else if (type === "Q") this.#statement = textAt(bytes, 5).text;
    this.#request.push(bytes);
    if (["P", "B", "D", "E", "C", "H"].includes(type)) return;
    const request = Buffer.concat(this.#request);
    this.#request = [];
    if (this.#fault === undefined && ["Q", "S"].includes(type)) this.#fault = this.#meet(this.#statement);
    if (this.#fault === "unsent") this.reset();
    else if (this.#fault === "held") this.#held.push(request);
    else if (this.#fault === "cut") this.#server.write(request, () => this.reset());
    else this.#server.write(request);
  }

  /** What the server sends: it is through with a statement when it is ready for the next. */
  #tell(type: string, bytes: Buffer): void {
    if (type === "Z") this.#answered?.();
    if (this.#fault === "answer held") this.#held.push(bytes);
    else if (this.#fault !== "unanswered") this.#client.write(bytes);
    else if (type === "Z") this.reset();
  }

  /** Sends what is held. Resolves once the server has answered it. */
  async release(): Promise<void> {
    const [fault, held] = [this.#fault, Buffer.concat(this.#held)];
    this.#held = [];
    this.#fault = undefined;
    if (fault === "answer held") this.#client.write(held);
    if (fault !== "held" || this.#server.destroyed) return;
    const answered = new Promise<void>((resolve) => (this.#answered = resolve));
    this.#server.write(held);
    await answered;
    if (this.#client.destroyed) this.#server.destroy();
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.destroy();
  }
}

export interface Proxy extends AsyncDisposable {
  /** The server's URL, by way of here. */
  readonly url: string;
  /** Breaks the `nth` statement from now on that matches. Resolves when it has come. */
  fail(at: RegExp, fault: Fault, nth?: number): Promise<void>;
  /** Statements so far that match. */
  count(at: RegExp): number;
  /** Resets every connection. */
  reset(): void;
  release(): Promise<void>;
}

export const startProxy = async (serverUrl: string): Promise<Proxy> => {
  const target = new URL(serverUrl);
  const links = new Set<Link>();
  const armed: Armed[] = [];
  const seen: string[] = [];
  const meet = (statement: string): Fault | undefined => {
    seen.push(statement);
    for (const one of armed) {
      if (!one.at.test(statement)) continue;
      one.left -= 1;
      if (one.left > 0) continue;
      armed.splice(armed.indexOf(one), 1);
      one.met();
      return one.fault;
    }
    return undefined;
  };
  const listener = createServer((client) => {
    links.add(new Link(client, connect(Number(target.port), target.hostname), meet));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = new URL(serverUrl);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    fail: (at, fault, nth = 1) => new Promise((met) => armed.push({ at, fault, left: nth, met })),
    count: (at) => seen.filter((statement) => at.test(statement)).length,
    reset: () => {
      for (const link of links) link.reset();
      links.clear();
    },
    release: async () => {
      await Promise.all([...links].map((link) => link.release()));
    },
    [Symbol.asyncDispose]: async () => {
      listener.close();
      for (const link of links) link.reset();
      await once(listener, "close");
    },
  };
};
