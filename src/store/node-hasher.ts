// Hashing with Node's own crypto: the one implementation of what the core wants injected.
import { createHash, createHmac, createSecretKey } from "node:crypto";
import { toHex, type Hasher } from "../core/envelope.ts";
import type { Mac } from "../core/request.ts";

export const nodeHasher: Hasher = {
  sha256(...parts) {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    return new Uint8Array(hash.digest());
  },
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
