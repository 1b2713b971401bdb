// A small deterministic hash for tests of pure code. It is no cryptography: anyone can make two texts collide.
import type { Hasher } from "../core/envelope.ts";
import type { Mac } from "../core/request.ts";

const WORDS = 8;
const FIRST = 0x811c9dc5;
const PRIME = 0x01000193;

/** FNV-1a, once per word of the result, each begun differently. */
const wordsOf = (bytes: Iterable<number>): number[] => {
  const words = Array.from({ length: WORDS }, (_, index) => Math.imul(FIRST + index, PRIME));
  for (const byte of bytes) {
    for (let index = 0; index < WORDS; index += 1) {
      words[index] = Math.imul((words[index] ?? 0) ^ byte ^ (index << 8), PRIME);
    }
  }
  return words;
};

const encoder = new TextEncoder();

/** 32 bytes of the parts in order, like the real one; a test that needs SHA-256 itself takes Node's. */
export const pureHasher: Hasher = {
  sha256(...parts) {
    const bytes = parts.flatMap((part) => [...(typeof part === "string" ? encoder.encode(part) : part)]);
    const view = new DataView(new ArrayBuffer(WORDS * 4));
    for (const [index, word] of wordsOf(bytes).entries()) view.setUint32(index * 4, word >>> 0);
    return new Uint8Array(view.buffer);
  },
};

/** A Mac under one fixed key. */
export const pureMac: Mac = (text) =>
  wordsOf(encoder.encode(text))
    .map((word) => (word >>> 0).toString(16).padStart(8, "0"))
    .join("");
