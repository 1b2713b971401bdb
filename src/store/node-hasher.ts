// Hashing with Node's own crypto: the one implementation of what the core wants injected. Each hash is made in one go: the
// streams that Node has for it (createHash, createHmac) cost three times as much, which a loop of small events feels.
import { hash } from "node:crypto";
import { toHex, type Hasher } from "../core/envelope.ts";
import type { Mac } from "../core/request.ts";

const shared = Buffer.allocUnsafeSlow(64 * 1_024);
const MOST_BYTES_PER_CHAR = 3;

/** The parts in order as one run of bytes, strings as UTF-8. Valid until the next call. */
const joined = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  let most = 0;
  for (const part of parts) most += part.length * (typeof part === "string" ? MOST_BYTES_PER_CHAR : 1);
  const room = most <= shared.length ? shared : Buffer.allocUnsafe(most);
  let length = 0;
  for (const part of parts) {
    if (typeof part === "string") length += room.write(part, length, "utf8");
    else {
      room.set(part, length);
      length += part.length;
    }
  }
  return room.subarray(0, length);
};

export const nodeHasher: Hasher = {
  sha256: (...parts) => new Uint8Array(hash("sha256", joined(...parts), "buffer")),
};

/** SHA-256 works in blocks of this many bytes. */
const BLOCK = 64;

/** HMAC-SHA-256 (RFC 2104) under a task's secret, in hex. With the secret gone it says nothing about the text. */
export const macUnder = (secret: Uint8Array): Mac => {
  const key = new Uint8Array(BLOCK);
  key.set(secret.length > BLOCK ? nodeHasher.sha256(secret) : secret);
  const [inner, outer] = [key.map((byte) => byte ^ 0x36), key.map((byte) => byte ^ 0x5c)];
  return (text) => hash("sha256", joined(outer, hash("sha256", joined(inner, text), "buffer")), "hex");
};

/** One text's HMAC; `macUnder` where several texts share a secret. */
export const mac = (secret: Uint8Array, text: string): string => macUnder(secret)(text);

/** What an inbox keeps of an item after its body is blanked: compared when the item's key comes again. */
export const itemHash = (secret: Uint8Array, body: string): string => mac(secret, body);

/** The name of a definition: SHA-256 of its text, in hex. Unkeyed, because tasks share it. */
export const definitionHash = (text: string): string => toHex(nodeHasher.sha256(text));
