// The seam that every content column passes, and how text goes through it.
import type { Seal } from "./store.ts";

/** Content is stored as it is. */
export const plainSeal: Seal = {
  seal: (bytes) => bytes,
  open: (bytes) => bytes,
};

const encoder = new TextEncoder();
// A byte order mark at the start of a text is part of it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export const sealText = (seal: Seal, taskId: string, text: string): Uint8Array =>
  seal.seal(encoder.encode(text), taskId);

export const openText = (seal: Seal, taskId: string, bytes: Uint8Array): string =>
  decoder.decode(seal.open(bytes, taskId));
