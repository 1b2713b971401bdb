// Whether a file is what an edit made of another, of which only the digest is known: the edit is undone, wherever it may
// have been made, and the digests are compared.
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";

/** An edit in bytes: `removed` was taken out and `added` put in its place; once, or everywhere. */
export interface Replacement {
  readonly removed: Uint8Array;
  readonly added: Uint8Array;
  readonly everywhere: boolean;
}

const LF = 10;

/** Where `part` begins, at least `step` bytes apart. */
function* placesOf(file: Buffer, part: Uint8Array, step: number): Generator<number> {
  for (let at = file.indexOf(part); at !== -1; at = file.indexOf(part, at + step)) yield at;
}

/** Where text may have been taken out: anywhere. What is taken out is mostly whole lines, so their beginnings come first. */
function* gapsOf(file: Buffer): Generator<number> {
  const beginsLine = (at: number): boolean => at === 0 || file[at - 1] === LF;
  for (let at = 0; at <= file.length; at += 1) if (beginsLine(at)) yield at;
  for (let at = 0; at <= file.length; at += 1) if (!beginsLine(at)) yield at;
}

const undoneEverywhere = (file: Buffer, { removed, added }: Replacement): Uint8Array[] => {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const at of placesOf(file, added, added.length)) {
    pieces.push(file.subarray(from, at), removed);
    from = at + added.length;
  }
  return [...pieces, file.subarray(from)];
};

/** What the file may have been, in pieces. An edit of several places where `added` stood before too is not among them. */
function* originalsOf(file: Buffer, edit: Replacement): Generator<Uint8Array[]> {
  const { removed, added, everywhere } = edit;
  if (everywhere && added.length > 0) yield undoneEverywhere(file, edit);
  for (const at of added.length > 0 ? placesOf(file, added, 1) : gapsOf(file)) {
    yield [file.subarray(0, at), removed, file.subarray(at + added.length)];
  }
}

/** Originals are tried until this many bytes were hashed; some seconds. */
const TRIED_BYTES = 2 ** 31;
/** Hashed at a stretch before anything else gets its turn. */
const STRETCH_BYTES = 2 ** 20;

/**
 * Whether `edit` made `file` of one whose digest (SHA-256, hex) `isOriginal` accepts. False also where it would take too
 * long to say: text without a line break taken out of the later part of a file over some 40 kB.
 */
export const comesFrom = async (
  file: Uint8Array,
  edit: Replacement,
  isOriginal: (digest: string) => boolean,
): Promise<boolean> => {
  let tried = 0;
  let stretch = 0;
  for (const pieces of originalsOf(Buffer.from(file.buffer, file.byteOffset, file.byteLength), edit)) {
    const hash = createHash("sha256");
    for (const piece of pieces) hash.update(piece);
    if (isOriginal(hash.digest("hex"))) return true;
    tried += file.length;
    stretch += file.length;
    if (tried > TRIED_BYTES) return false;
    if (stretch <= STRETCH_BYTES) continue;
    stretch = 0;
    await setImmediate();
  }
  return false;
};
