// Hashing with Node's own crypto: the one implementation of what the core wants injected.
import { createHash, createHmac, createSecretKey, hash } from "node:crypto";
import { toHex, type Hasher } from "../core/envelope.ts";
import type { Mac } from "../core/request.ts";

type Parts = readonly (string | Uint8Array)[];

/** Where parts are put together. Hashed in one go they leave no object of Node's behind for each event to be collected. */
const together = Buffer.allocUnsafeSlow(64 * 1_024);
const MOST_BYTES_PER_CHAR = 3;

const fits = (parts: Parts): boolean => {
  let most = 0;
  for (const part of parts) most += part.length * (typeof part === "string" ? MOST_BYTES_PER_CHAR : 1);
  return most <= together.length;
};

const hashTogether = (parts: Parts): Buffer => {
  let length = 0;
  for (const part of parts) {
    if (typeof part === "string") length += together.write(part, length, "utf8");
    else {
      together.set(part, length);
      length += part.length;
    }
  }
  return hash("sha256", together.subarray(0, length), "buffer");
};

const hashInTurn = (parts: Parts): Buffer => {
  const stream = createHash("sha256");
  for (const part of parts) stream.update(part);
  return stream.digest();
};

export const nodeHasher: Hasher = {
  sha256: (...parts) => new Uint8Array(fits(parts) ? hashTogether(parts) : hashInTurn(parts)),
};

/** HMAC-SHA-256 under a task's secret, in hex. With the secret gone it says nothing about the text. */
export const macUnder = (secret: Uint8Array): Mac => {
  // The key is made once: made anew for each text it would cost more than the hash.
  const key = createSecretKey(secret);
  return (text) => createHmac("sha256", key).update(text).digest("hex");
};

/** One text's HMAC; `macUnder` where several texts share a secret. */
export const mac = (secret: Uint8Array, text: string): string => macUnder(secret)(text);

/** What an inbox keeps of an item after its body is blanked: compared when the item's key comes again. */
export const itemHash = (secret: Uint8Array, body: string): string => mac(secret, body);

/** The name of a definition: SHA-256 of its text, in hex. Unkeyed, because tasks share it. */
export const definitionHash = (text: string): string => toHex(nodeHasher.sha256(text));
