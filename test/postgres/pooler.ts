// A pooler that lends a connection to the server for one transaction at a time, each time the one that rested longest: what
// a session keeps (prepared statements, settings, LISTEN) is not there in the next one.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { Messages } from "./proxy.ts";

const message = (type: string, body: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
};

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const words = (...texts: readonly string[]): Buffer => Buffer.from(texts.map((text) => `${text}\0`).join(""));

/** The pooler's own connection to the server, logged in by password. */
class Lent {
  readonly ready: Promise<void>;
  borrower: Socket | undefined;
  /** Called when the server is through with a transaction. */
  atRest: () => void = () => undefined;
  readonly #socket: Socket;

  constructor({ hostname, port, username, password, pathname }: URL) {
    const socket = connect(Number(port), hostname);
    this.#socket = socket;
    socket.setNoDelay(true).on("error", () => undefined);
    socket.write(
      message("", Buffer.concat([number(196_608), words("user", username, "database", pathname.slice(1), "")])),
    );
    const told = new Messages(true);
    this.ready = new Promise((resolve) => {
      let isReady = false;
      socket.on("data", (bytes) => {
        for (const { type, bytes: said } of told.take(bytes)) {
          if (isReady) this.borrower?.write(said);
          else if (type === "R" && said.readInt32BE(5) === 3) socket.write(message("p", words(password)));
          if (type !== "Z") continue;
          if (isReady && said[5] === "I".charCodeAt(0)) this.atRest();
          isReady = true;
          resolve();
        }
      });
    });
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  end(): void {
    this.#socket.destroy();
  }
}

export interface Pooler extends AsyncDisposable {
  readonly url: string;
  /** Transactions that had another connection than the one before of the same client. */
  readonly changes: () => number;
}

export const startPooler = async (serverUrl: string, connections: number): Promise<Pooler> => {
  const all = new Set<Lent>();
  const resting: Lent[] = [];
  const waiting: ((lent: Lent) => void)[] = [];
  const clients = new Set<Socket>();
  let changes = 0;
  const giveBack = (lent: Lent): void => {
    lent.borrower = undefined;
    const next = waiting.shift();
    if (next === undefined) resting.push(lent);
    else next(lent);
  };
  const add = async (): Promise<void> => {
    const lent = new Lent(new URL(serverUrl));
    all.add(lent);
    await lent.ready;
    giveBack(lent);
  };
  const serve = (client: Socket): void => {
    clients.add(client);
    client.setNoDelay(true).on("error", () => undefined);
    const asked = new Messages(false);
    let lent: Lent | undefined;
    let before: Lent | undefined;
    let isWaiting = false;
    let unsent: Buffer[] = [];
    const borrow = (its: Lent): void => {
      isWaiting = false;
      if (client.destroyed) return giveBack(its);
      if (before !== undefined && before !== its) changes += 1;
      [lent, before] = [its, its];
      its.borrower = client;
      its.atRest = () => {
        lent = undefined;
        giveBack(its);
      };
      its.write(Buffer.concat(unsent));
      unsent = [];
    };
    client.on("data", (bytes) => {
      for (const { type, bytes: said } of asked.take(bytes)) {
        if (type === "X") client.end();
        else if (type === "") client.write(Buffer.concat([message("R", number(0)), message("Z", Buffer.from("I"))]));
        else unsent.push(said);
      }
      if (unsent.length === 0) return;
      if (lent !== undefined) {
        lent.write(Buffer.concat(unsent));
        unsent = [];
      } else if (!isWaiting) {
        isWaiting = true;
        const free = resting.shift();
        if (free === undefined) waiting.push(borrow);
        else borrow(free);
      }
    });
    client.on("close", () => {
      clients.delete(client);
      if (lent === undefined) return;
      // What it had begun is undone with the connection.
      all.delete(lent);
      lent.end();
      void add();
    });
  };
  for (let made = 0; made < connections; made += 1) await add();
  const listener = createServer(serve).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = new URL(serverUrl);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    changes: () => changes,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      for (const client of clients) client.destroy();
      for (const lent of all) lent.end();
      await once(listener, "close");
    },
  };
};
