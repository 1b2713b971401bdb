// One process for one storage root, held by the operating system: it lets go when the process ends, however that ends.
// For deployments that must not run twice (a bot with one connection to its service); claims guard tasks without it.
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { createServer, type ListenOptions, type Server } from "node:net";
import { basename, dirname, join, resolve } from "node:path";

/** Another process holds the root, or (where a port stands for it) something else has the port. */
export class InstanceHeld extends Error {
  override readonly name = "InstanceHeld";
}

export interface InstanceLock extends AsyncDisposable {
  /** The root as this lock knows it, whatever path led there. */
  readonly root: string;
  /** Repeatable. The root is free once every holder of this process has released it. */
  release(): Promise<void>;
}

/** A path that may not be there yet: its folder is, and says where it will be. */
export const canonicalRoot = async (path: string): Promise<string> => {
  const whole = resolve(path);
  try {
    return await realpath(whole);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(whole) === whole) throw error;
    return join(await canonicalRoot(dirname(whole)), basename(whole));
  }
};

/** Below the ports that systems give to outgoing connections, above those of services. */
const FIRST_PORT = 10_240;
const PORTS = 22_528;

/**
 * What stands for a root. Linux: an abstract socket, which no file outlives. Windows: a named pipe. Elsewhere a port of the
 * loopback interface, the same for the same root; two roots that share one exclude each other, and say so.
 */
export const addressOf = (root: string, platform: NodeJS.Platform): ListenOptions => {
  const digest = createHash("sha256").update(root).digest();
  const name = `perdure-${digest.toString("hex").slice(0, 40)}`;
  if (platform === "linux") return { path: `\0${name}` };
  if (platform === "win32") return { path: `\\\\.\\pipe\\${name}` };
  return { host: "127.0.0.1", port: FIRST_PORT + (digest.readUInt32BE(0) % PORTS) };
};

const listen = (address: ListenOptions): Promise<Server> =>
  new Promise((done, fail) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", fail);
    // Not shared with a cluster's other processes; and it keeps no process alive.
    server.listen({ ...address, exclusive: true }, () => {
      server.unref();
      done(server);
    });
  });

const close = (server: Server): Promise<void> =>
  new Promise((done) => {
    server.close(() => done());
  });

interface Held {
  readonly server: Promise<Server>;
  holders: number;
}

/** By root: within one process several may hold it. */
const held = new Map<string, Held>();

const refusalOf = (root: string, address: ListenOptions, error: unknown): unknown => {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const port =
    address.port === undefined ? "" : `, or something else has port ${String(address.port)} of ${String(address.host)}`;
  const message = `another process holds ${root}${port}. One process alone may; stop the other one first`;
  return new InstanceHeld(message, { cause: error });
};

/**
 * Takes the root for this process, at once or not at all. Rejects with InstanceHeld when another has it, and with what the
 * system said when that cannot be known. To be called before the store is opened.
 */
export const lockInstance = async (path: string, platform = process.platform): Promise<InstanceLock> => {
  const root = await canonicalRoot(path);
  const address = addressOf(root, platform);
  const entry = held.get(root) ?? { server: listen(address), holders: 0 };
  held.set(root, entry);
  entry.holders += 1;
  let isHeld = true;
  const release = async (): Promise<void> => {
    if (!isHeld) return;
    isHeld = false;
    entry.holders -= 1;
    if (entry.holders > 0) return;
    held.delete(root);
    await entry.server.then(close, () => undefined);
  };
  try {
    await entry.server;
  } catch (error) {
    await release();
    throw refusalOf(root, address, error);
  }
  return { root, release, [Symbol.asyncDispose]: release };
};
