// Hashing with Node's own crypto: the one implementation of what the core wants injected.
import { createHash, createHmac } from "node:crypto";
import { toHex, type Hasher } from "../core/envelope.ts";

export const nodeHasher: Hasher = {
  sha256(...parts) {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    return new Uint8Array(hash.digest());
  },
};

/** HMAC-SHA-256 of `text` under a task's secret, in hex. With the secret gone it says nothing about the text. */
export const mac = (secret: Uint8Array, text: string): string =>
  createHmac("sha256", secret).update(text).digest("hex");

/** What an inbox keeps of an item after its body is blanked: compared when the item's key comes again. */
export const itemHash = (secret: Uint8Array, body: string): string => mac(secret, body);

/** The name of a definition: SHA-256 of its text, in hex. Unkeyed, because tasks share it. */
export const definitionHash = (text: string): string => toHex(nodeHasher.sha256(text));
